"""Statements with tokens left out, doubled, swapped, cut off and put in: whatever a text is, it ends well.

Worker processes run the texts in sessions that may touch no file. A text ends well with an answer, or with an
error of PEP 249's hierarchy other than InternalError, within :data:`MOST_SECONDS`::

    python -m tests.fuzz.statements --count 200000 --seed 1
    python -m tests.fuzz.statements --count 3000 --seed 1 --spark     compares with Spark's parser as well
"""

import argparse
import collections
import json
import random
import selectors
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import IO, Final, NamedTuple

from sqlfront_planner.statement import is_about_jobs
from sqlfront_planner.syntax.check import check_syntax
from sqlfront_planner.syntax.grammar import spark_grammar
from sqlfront_planner.syntax.lexer import tokens_of
from sqlfront_values.errors import Error
from tests.fuzz.corpus import all_statements

#: Seconds that no text may take.
MOST_SECONDS: Final = 5.0
#: Seconds after which a worker is killed; a loaded machine is slow.
_HANGS: Final = 120.0
#: So many texts are run in one session.
_PER_SESSION: Final = 50
TABLES: Final = (
    "CREATE TEMPORARY VIEW t AS SELECT * FROM VALUES (1, 'x', 1.5D), (2, NULL, -0.0D) AS t (a, b, c)",
    "CREATE TABLE u USING memory CLUSTERED BY (a) INTO 3 BUCKETS AS SELECT id AS a, 'x' AS b FROM range(9)",
)
#: What Spark's parser says of a text: a condition, None if it takes the text.
Oracle = Callable[[str], str | None]


class Ending(NamedTuple):
    """How a text ended: ``kind`` is ``answer``, the name of an error's class, or ``RAW``, ``DEATH``,
    ``HANG``."""

    kind: str
    detail: str
    seconds: float

    @property
    def fault(self) -> bool:
        """Whether that must not be."""
        return self.kind in ("RAW", "DEATH", "HANG", "InternalError") or self.seconds > MOST_SECONDS


def texts(count: int, seed: int, corpus: Sequence[str]) -> Iterator[str]:
    """So many statements of the corpus, changed."""
    chance = random.Random(seed)
    statements = [_tokens(text) for text in corpus]
    words = [kind for kind in spark_grammar().kinds if kind.isidentifier()]
    everything = [token for statement in statements for token in statement]
    for _ in range(count):
        statement = list(chance.choice(statements))
        for _ in range(chance.choice((1, 1, 1, 2, 3))):
            if statement:
                _change(statement, chance, words, everything)
        blanks = ("", " ", "/**/", "\n", " -- x\n") if chance.random() < 0.1 else (" ",)
        yield "".join(token + chance.choice(blanks) for token in statement)


def _tokens(text: str) -> list[str]:
    tokens = tokens_of(text)
    return [text[start:end] for start, end in zip(tokens.starts, tokens.ends, strict=True)]


def _change(
    statement: list[str], chance: random.Random, words: Sequence[str], everything: Sequence[str]
) -> None:
    """One change to the tokens."""
    place, other = chance.randrange(len(statement)), chance.randrange(len(statement))
    match chance.randrange(7):
        case 0:
            del statement[place]
        case 1:
            statement.insert(place, statement[place])
        case 2:
            statement[place], statement[other] = statement[other], statement[place]
        case 3:
            del statement[place:]
        case 4:
            statement.insert(place, chance.choice(words))
        case 5:
            statement.insert(place, chance.choice(everything))
        case _:
            statement[place] = chance.choice(everything)


class Worker:
    """A process that runs texts; a new one takes the place of one that died or hung."""

    def __init__(self) -> None:
        self._process = self._started()

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        for pipe in self._pipes():
            pipe.close()

    def run(self, text: str) -> Ending:
        """The ending of a text."""
        stdin, stdout = self._pipes()
        stdin.write(f"{json.dumps(text)}\n")
        stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            line = stdout.readline() if selector.select(_HANGS) else None
        if line:
            return Ending(*json.loads(line))
        self.close()
        code = self._process.returncode
        self._process = self._started()
        return Ending("HANG", "", _HANGS) if line is None else Ending("DEATH", f"code {code}", 0.0)

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout

    def _started(self) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "tests.fuzz.statements", "--work"]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _work() -> None:
    """Answer the requests of :class:`Worker`, one a line."""
    import sqlfront

    connection = None
    warnings.simplefilter("ignore")
    for number, line in enumerate(sys.stdin):
        if connection is None or number % _PER_SESSION == 0:
            limits = sqlfront.Config(file_access="none", memory_limit=512 << 20, timeout=MOST_SECONDS)
            connection = sqlfront.connect(config=limits)
            for table in TABLES:
                connection.execute(table, timeout=60.0)  # which is not what is measured
        began = time.process_time()
        try:
            cursor = connection.execute(json.loads(line))
            if cursor.description:
                cursor.fetchmany(100)
        except sqlfront.Error as error:
            kind, detail = type(error).__name__, str(error)
        except BaseException as error:  # noqa: BLE001 - which is what the run is to find
            kind, detail = "RAW", f"{type(error).__name__}: {error}"
        else:
            kind, detail = "answer", ""
        print(json.dumps([kind, detail[:300], time.process_time() - began]), flush=True)


def disagreement(text: str, ending: Ending, spark: Oracle) -> str:
    """What is wrong with an ending beside Spark's parser, "" for nothing."""
    if _is_own(text):
        return ""
    condition = spark(text)
    ours = _syntax_error(text)
    if condition is None and ours is not None:
        return f"Spark takes it, here it is {ours}"
    if condition is not None and ending.kind == "answer":
        return f"Spark refuses it by {condition}, here it has an answer"
    return ""


def _syntax_error(text: str) -> str | None:
    try:
        check_syntax(text)
    except Error as error:
        return error.condition
    return None


def _is_own(text: str) -> bool:
    """Whether Spark means something else by it, or nothing: our statements, and ``${name}``."""
    words = tokens_of(text).kinds[:2]
    if words[:1] in (["KILL"], ["CACHE"], ["EXPLAIN"]) or words == ["SHOW", "INDEXES"] or "${" in text:
        return True
    return is_about_jobs(text)


def main() -> int:
    """Run as the command line says; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spark", action="store_true", help="compare with Spark's parser (needs Java)")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        _work()
        return 0
    kinds, faults = collections.Counter[str](), 0
    with _spark() if options.spark else nullcontext() as spark:
        for text, ending, wrong in endings(texts(options.count, options.seed, all_statements()), spark):
            kinds[ending.kind] += 1
            if wrong:
                faults += 1
                print(f"{text!r}\n    {wrong}", flush=True)
    print(f"{options.count} texts, {faults} faults: {dict(kinds)}")
    return 1 if faults else 0


def endings(changed: Iterable[str], spark: Oracle | None) -> Iterator[tuple[str, Ending, str]]:
    """How each text ends, and what is wrong with that, "" for nothing."""
    worker = Worker()
    try:
        for text in changed:
            ending = worker.run(text)
            wrong = f"{ending.kind} {ending.seconds:.1f} s: {ending.detail}" if ending.fault else ""
            yield text, ending, wrong or (disagreement(text, ending, spark) if spark is not None else "")
    finally:
        worker.close()


@contextmanager
def _spark() -> Iterator[Oracle]:
    from tests.oracle.spark import SparkOracle, parser_condition

    with SparkOracle() as oracle:
        yield partial(parser_condition, oracle.new_session())


if __name__ == "__main__":
    sys.exit(main())
