"""The queries and the stored answers."""

from pathlib import Path

from tests.oracle import slt
from tests.oracle.answers import Answer

#: The 22 queries, and one of them with a limit that scale 0.1 reaches.
NAMES = (*(f"q{number}" for number in range(1, 23)), "q18_low")

_HERE = Path(__file__).parent


def query(name: str) -> str:
    """The SQL of query `name`."""
    return (_HERE / "queries" / f"{name}.sql").read_text(encoding="utf-8")


def is_ordered(name: str) -> bool:
    """Does the query's ORDER BY fix its rows' order? (All but those of one row; no stored answer has a
    tie.)"""
    return "order by" in query(name)


def expected(name: str) -> Answer:
    """Spark's answer to query `name`."""
    answer = slt.parse_outcome(_file(name).read_text(encoding="utf-8").removesuffix("\n"))
    assert isinstance(answer, Answer)
    return answer


def store(name: str, answer: Answer) -> None:
    """Keep Spark's answer to query `name`."""
    _file(name).write_text(slt.outcome_text(answer) + "\n", encoding="utf-8")


def is_stored(name: str) -> bool:
    """Is there an answer to query `name`?"""
    return _file(name).exists()


def _file(name: str) -> Path:
    return _HERE / "expected" / f"{name}.txt"
