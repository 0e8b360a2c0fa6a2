"""The failing records of ``tests/slt``, and the stored messages of their errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tests.oracle import slt
from tests.oracle.answers import Failure
from tests.oracle.complete import SLT_FOLDER, files
from tests.oracle.gaps import Key, key
from tests.oracle.slt import Record

STORED: Final = Path(__file__).parent / "messages.jsonl"
_CONDITION = re.compile(r"^\s*(?:\w+: )?\s*\[[A-Z_0-9.]+\] ")
#: What begins the parts behind an error's words.
_BEHIND = re.compile(r";\s*line \d+ pos \d+|\s*SQLSTATE: |\s*LINE \d+: |\s*== SQL|\s*\(line \d+, pos")


def records() -> Iterator[tuple[str, list[Record]]]:
    """The name of each file that has failing records, with all records of the file."""
    for path in files([SLT_FOLDER]):
        listed = slt.read(path)
        if any(map(fails, listed)):
            yield path.name, listed


def fails(record: Record) -> bool:
    """Whether the record's stored answer is an error with a condition."""
    return isinstance(record.expected, Failure) and record.expected.condition is not None


def words(message: str) -> str:
    """An error's words, without its condition, SQLSTATE, place and plan.

    >>> words("DataError: [DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012")
    'Division by zero.'
    """
    text = _BEHIND.split(_CONDITION.sub("", message), maxsplit=1)[0]
    return " ".join(text.split())


def read() -> dict[Key, str]:
    """Spark's words for each failing record."""
    lines = STORED.read_text(encoding="utf-8").splitlines()
    return {Key(line["file"], line["sql"]): line["words"] for line in map(json.loads, lines)}


def write(found: Iterable[tuple[Record, str]]) -> None:
    """Store the words."""
    named = ((key(record), said) for record, said in found)
    lines = [
        json.dumps({"file": k.file, "sql": k.sql, "words": said}, ensure_ascii=False) for k, said in named
    ]
    STORED.write_text("".join(f"{line}\n" for line in dict.fromkeys(lines)), encoding="utf-8")
