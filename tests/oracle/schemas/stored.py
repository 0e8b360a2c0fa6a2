"""The stored queries and trees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

QUERIES: Final = Path(__file__).parent / "queries.sql"
STORED: Final = Path(__file__).parent / "schemas.txt"


def read() -> Iterator[tuple[str, str]]:
    """The queries with their trees."""
    for block in STORED.read_text().split("\n\n"):
        sql, _, tree = block.strip("\n").partition("\nroot")
        yield sql, f"root{tree}\n"


def write(pairs: Iterable[tuple[str, str]]) -> None:
    """Store the queries, which have no empty lines, with their trees."""
    STORED.write_text("\n".join(f"{sql}\n{tree}" for sql, tree in pairs))


def queries() -> list[str]:
    """The queries of the file, each on a line of its own."""
    lines = QUERIES.read_text().splitlines()
    return [line for line in lines if line and not line.startswith("--")]
