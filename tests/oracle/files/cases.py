"""A case of the file oracle: some files, and how they are read."""

from __future__ import annotations

import io
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from pyarrow import parquet as pq

from tests.oracle.files import arrow_values

_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


class Way(Enum):
    """How SQL names the files."""

    #: ``SELECT * FROM csv.`path` ``: neither options nor a schema.
    PATH = "path"
    #: ``CREATE TABLE ... USING ... OPTIONS (...) LOCATION '...'``.
    TABLE = "table"
    #: ``CREATE TEMPORARY VIEW ... USING ... OPTIONS (path '...', ...)``.
    VIEW = "view"


@dataclass(frozen=True)
class FileCase:
    """Files to be read by one query.

    ``files``: paths relative to the case's folder, with their bytes; a path that ends in ``/`` is an empty
    folder. ``place``: what is read below the folder (a file, folder or glob; empty = the whole folder).
    ``query`` has ``{source}`` for the relation. ``oddity``: the class of oddity that the case shows.
    ``preparation``: a statement that Spark runs before both read, with ``{folder}`` for the case's folder.
    """

    format: str
    files: tuple[tuple[str, bytes], ...]
    oddity: str
    options: Mapping[str, str] = field(default_factory=dict)
    ddl: str | None = None
    way: Way = Way.PATH
    place: str = ""
    query: str = "SELECT * FROM {source}"
    preparation: str = ""

    def __post_init__(self) -> None:
        assert self.way is not Way.PATH or not (self.options or self.ddl), "a plain path takes no options"

    def write(self, folder: Path) -> None:
        """Put the files below the folder."""
        for name, content in self.files:
            path = folder / name
            if name.endswith("/"):
                path.mkdir(parents=True, exist_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def statements(self, folder: Path, name: str) -> tuple[str, ...]:
        """The statements whose last one is the query; ``name`` is that of the table or view."""
        location = str(folder / self.place) if self.place else str(folder)
        if self.way is Way.PATH:
            return (self.query.format(source=f"{self.format}.`{location}`"),)
        query = self.query.format(source=name)
        columns = f" ({self.ddl})" if self.ddl else ""
        if self.way is Way.TABLE:
            given = ", ".join(f"{literal(key)} {literal(value)}" for key, value in self.options.items())
            options = f" OPTIONS ({given})" if given else ""
            place = f" LOCATION {literal(location)}"
            return f"CREATE TABLE {name}{columns} USING {self.format}{options}{place}", query
        pairs = {"path": location, **self.options}
        given = ", ".join(f"{literal(key)} {literal(value)}" for key, value in pairs.items())
        return f"CREATE TEMPORARY VIEW {name}{columns} USING {self.format} OPTIONS ({given})", query

    def farewell(self, name: str) -> tuple[str, ...]:
        """The statement that removes what :meth:`statements` made."""
        if self.way is Way.PATH:
            return ()
        return (f"DROP {'TABLE' if self.way is Way.TABLE else 'VIEW'} IF EXISTS {name}",)

    def described(self) -> str:
        """The case on a few lines, for people."""
        lines = [f"{self.format} ({self.oddity}) by {self.way.value}, {self.query}"]
        if self.preparation:
            lines.append(f"  preparation: {self.preparation}")
        if self.place:
            lines.append(f"  place: {self.place}")
        if self.options:
            lines.append(f"  options: {dict(self.options)}")
        if self.ddl:
            lines.append(f"  schema: {self.ddl}")
        lines.extend(f"  {name}: {_shown(content)}" for name, content in self.files)
        return "\n".join(lines)


def written_by_spark(
    random: random.Random, format_name: str, options: Mapping[str, Sequence[str]]
) -> FileCase:
    """Return the case of a file that Spark writes from random rows, with a random value of each option."""
    out = io.BytesIO()
    pq.write_table(arrow_values.table_of_runs(random), out)
    given = ", ".join(f"{literal(key)} {literal(random.choice(values))}" for key, values in options.items())
    return FileCase(
        format_name,
        (("rows/0.parquet", out.getvalue()),),
        "written by Spark",
        place="written",
        preparation=f"INSERT OVERWRITE DIRECTORY '{{folder}}/written' USING {format_name} OPTIONS ({given}) "
        "SELECT * FROM parquet.`{folder}/rows`",
    )


def literal(text: str) -> str:
    r"""A text as an SQL literal.

    >>> print(literal("it's\n"))
    'it\'s\n'
    """
    escaped = "".join(_ESCAPES.get(c, c) for c in text)
    return "'" + re.sub(r"[\x01-\x08\x0b\x0c\x0e-\x1f]", lambda m: f"\\u{ord(m[0]):04x}", escaped) + "'"


def _shown(content: bytes, limit: int = 2000) -> str:
    return repr(content) if len(content) <= limit else f"{content[:limit]!r}... ({len(content)} bytes)"
