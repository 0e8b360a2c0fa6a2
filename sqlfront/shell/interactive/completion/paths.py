"""Files below the working folder, to complete the path of ``format.`path``` and the file names of
commands."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sqlfront_connectors import registry

#: Entries of a folder that are looked at.
_MOST: Final = 2_000
_PATH: Final = re.compile(r"(?is)\b(\w+)\s*\.\s*`([^`\n]*)$")


def typed_path(before: str) -> tuple[str, str] | None:
    """Return the format and the path that the user types at the end of ``before``, as in ``parquet.`data/``;
    None if the text does not end with the name of a format, a dot and an open backtick.

    >>> typed_path("select * from parquet.`data/a"), typed_path("select a.`b")
    (('parquet', 'data/a'), None)
    """
    found = _PATH.search(before)
    if found is None or found[1].lower() not in registry.formats():
        return None
    return found[1].lower(), found[2]


def paths(format_name: str | None, typed: str) -> Iterator[tuple[str, bool]]:
    """Yield the paths that continue the path ``typed``, each with whether it is a folder. Files of other
    formats than ``format_name`` are left out (None: no file is)."""
    folder, slash, beginning = typed.rpartition("/")
    try:
        with os.scandir(Path(folder + slash or ".").expanduser()) as entries:
            found = sorted(
                (entry.name, entry.is_dir()) for entry, _ in zip(entries, range(_MOST), strict=False)
            )
    except OSError:
        return
    for name, is_folder in found:
        hidden = name.startswith(".") and not beginning.startswith(".")
        wanted = is_folder or format_name is None or _has_format(name, format_name)
        if name.startswith(beginning) and wanted and not hidden:
            yield f"{folder}{slash}{name}", is_folder


def _has_format(name: str, format_name: str) -> bool:
    """Return whether a file with this name may have the format, judged by its endings: ``a.csv.gz`` may be a
    csv file."""
    endings = {
        "text": ("txt", "text", "log", "md"),
        "json": ("json", "jsonl", "ndjson"),
        "csv": ("csv", "tsv", "txt"),
    }
    parts = name.lower().split(".")[1:]
    return any(ending in parts for ending in endings.get(format_name, (format_name,)))
