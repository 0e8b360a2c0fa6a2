"""What the tables of doors are made of."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.oracle.postgres import Postgres

_WIDTH = 160
#: A file of the machine that statements try to read, and seconds for which something is waited for.
FOREIGN = "/etc/hostname"
PATIENCE = 30.0
#: A query that takes for ever.
LONG = "SELECT count(*) FROM range(300000) a JOIN range(300000) b ON a.id % 7 = b.id % 11 AND a.id + b.id < 0"


@dataclass(frozen=True)
class Door:
    """Something that can be done to a database, and functions that do it, each with an empty folder; None
    where there is no such thing. What they return, or the error that they raise, is a cell of the table."""

    title: str
    sqlfront: Callable[[Path], object]
    duckdb: Callable[[Path], object] | None = None
    postgres: Callable[[Postgres, Path], object] | None = None

    def cells(self, folder: Path, server: Postgres | None) -> tuple[str, str, str]:
        """What the three say."""
        (folder / "0").mkdir(parents=True)
        (folder / "1").mkdir()
        duckdb, asked = self.duckdb, self.postgres
        return (
            _said(lambda: self.sqlfront(folder / "0")),
            "-" if duckdb is None else _said(lambda: duckdb(folder / "1")),
            "-" if asked is None or server is None else _said(lambda: asked(server, folder)),
        )


def _said(do: Callable[[], object]) -> str:
    try:
        text = str(do())
    except Exception as error:  # noqa: BLE001 - whatever it raises is the answer
        text = f"{type(error).__name__}: {error}"
    line = next((line.strip() for line in text.splitlines() if line.strip()), "nothing")
    line = re.sub(r"/tmp/sqlfront-\w+", "/tmp/sqlfront-...", line.replace(str(Path.home()), "~"))
    return line if len(line) <= _WIDTH else f"{line[:_WIDTH]}..."


def ends(over: Callable[[], bool]) -> str:
    """How long it takes until it is over."""
    began = time.monotonic()
    while not over():
        if time.monotonic() - began > 10:
            return "goes on for more than 10 s"
        time.sleep(0.05)
    return f"ends {within(began)}"


def within(began: float) -> str:
    """A bound of the seconds since then."""
    taken = time.monotonic() - began
    return next(f"within {bound:g} s" for bound in (1, 5, 30, 1e9) if taken <= bound)


def until(fact: Callable[[], bool]) -> None:
    """Wait until it is so."""
    deadline = time.monotonic() + PATIENCE
    while not fact():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)
