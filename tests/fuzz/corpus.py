"""Texts to begin with: Spark's statements, and the queries of our own tests."""

from functools import cache
from pathlib import Path

from sqlfront_engine.functions import registry
from tests.oracle.slt import read

_HERE = Path(__file__).parent
_TESTS = _HERE.parent


@cache
def spark_statements() -> tuple[str, ...]:
    """The statements of Spark's SQL reference in their variants."""
    lines = (_HERE / "spark_statements.sql").read_text(encoding="utf-8").splitlines()
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
