"""Runs examples: each is a line of JSON, a list of statements; what the last one says is printed as such."""

import json
import resource
import sys
import time

import sqlfront
from sqlfront.config import Config
from tests.oracle.answers import Answer, Failure, Outcome
from tests.oracle.subject import answer

ADDRESS_SPACE = 3 * 1024**3
_WIDTH = 70


def main() -> None:
    """Run the examples of standard input, each in a session of its own."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    for line in sys.stdin:
        words, seconds = _run(json.loads(line))
        print(json.dumps({"words": words, "seconds": seconds}), flush=True)


def _run(statements: list[str]) -> tuple[str, float]:
    """What the last statement says, or the first that fails, and the seconds of processor time it takes."""
    words, seconds = "", 0.0
    with sqlfront.connect(config=Config(memory_limit=1024**3)) as connection:
        answer(connection, "SELECT 1")
        for statement in statements:
            began = time.process_time()
            try:
                outcome = answer(connection, statement)
            except Exception as error:  # noqa: BLE001 - which exceptions come out is the question
                return f"RAISES {type(error).__name__}", seconds
            seconds = time.process_time() - began
            words = shortened(_words(outcome))
            if isinstance(outcome, Failure):
                break
    return words, seconds


def _words(outcome: Outcome) -> str:
    """An error's condition, or where it has none its message."""
    if isinstance(outcome, Answer):
        return columns_and_rows(outcome)
    if outcome.condition is not None:
        return f"error {outcome.condition}"
    return outcome.message.splitlines()[0]


def columns_and_rows(answer: Answer) -> str:
    """An answer in one line."""
    rows = "; ".join(", ".join(row) for row in answer.rows[:5]) + ("; ..." if len(answer.rows) > 5 else "")
    kinds = ", ".join(f"{column.name} {column.type}" for column in answer.columns)
    return f"{rows} ({kinds})" if answer.columns else "done"


def shortened(text: str) -> str:
    """At most a line's width of it."""
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."


if __name__ == "__main__":
    main()
