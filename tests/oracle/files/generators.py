"""The generators of cases, one per format."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from tests.oracle.files import csv_cases, json_cases, orc_cases, parquet_cases, text_cases
from tests.oracle.files.cases import FileCase

Generator = Callable[[random.Random], Iterator[FileCase]]

#: Endless cases of each format from a source of random numbers.
GENERATORS: Final[tuple[tuple[str, Generator], ...]] = (
    ("csv", csv_cases.cases),
    ("json", json_cases.cases),
    ("parquet", parquet_cases.cases),
    ("orc", orc_cases.cases),
    ("text", text_cases.cases),
)


def numbered_cases(format_name: str, seed: int, count: int) -> Iterator[tuple[int, FileCase]]:
    """The first cases of a format for a seed, each with its number; the same on every machine."""
    make = dict(GENERATORS)[format_name]
    yield from enumerate(islice(make(random.Random(f"{format_name} {seed}")), count))
