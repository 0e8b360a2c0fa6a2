"""Texts to begin with: Spark's statements, and the queries of our own tests."""

from functools import cache
from pathlib import Path

from sqlfront_values.functions import registry
from tests.oracle.slt import read

_HERE = Path(__file__).parent
_TESTS = _HERE.parent


@cache
def spark_statements() -> tuple[str, ...]:
    """The statements of Spark's SQL reference in their variants."""
    return _lines("spark_statements.sql")


@cache
def fixed_statements() -> tuple[str, ...]:
    """The same and some of our own, fixed: a sample of these fails for its own reasons alone."""
    return (*spark_statements(), *_lines("own_statements.sql"))


@cache
def all_statements() -> tuple[str, ...]:
    """Everything, Spark's statements three times as often."""
    return (*spark_statements() * 3, *our_statements())


def _lines(name: str) -> tuple[str, ...]:
    lines = (_HERE / name).read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("--"))


@cache
def our_statements() -> tuple[str, ...]:
    """The statements of the `.slt` files, TPC-H, and the examples of our functions."""
    recorded = [record.sql for path in sorted((_TESTS / "slt").glob("*.slt")) for record in read(path)]
    tpch = [path.read_text(encoding="utf-8") for path in sorted((_TESTS / "tpch" / "queries").glob("*.sql"))]
    entries = [registry.lookup(name) for name in sorted(registry.names())]
    examples = [
        f"SELECT {entry.example[0]}" for entry in entries if entry is not None and entry.example is not None
    ]
    return (*recorded, *tpch, *examples)
