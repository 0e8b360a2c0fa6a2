r"""The `.slt` format: SQL behaviour as files, in the spirit of SQLite's sqllogictest.

A file is a sequence of blocks divided by blank lines. `#` begins a comment line, before a block or alone. A
block is a `statement` (it prepares something and must succeed) or a `query`, then its SQL, then, after
`----`, what Spark answered:

    statement
    CREATE TEMPORARY VIEW t AS SELECT * FROM VALUES (1, 'a'), (2, NULL) AS t(a, b)

    query ordered
    SELECT a + 1, b FROM t ORDER BY a DESC
    ----
    `(a + 1)` int, b string
    3 | NULL
    2 | 'a'

    query
    SELECT 1 / 0
    ----
    error DIVIDE_BY_ZERO 22012

The first line after `----` has the columns' names and types as Spark's DDL writes them, the others a row
each, values as `values` writes them. Marks after `query`: `ordered`, the rows' order counts (the query's
ORDER BY leaves no ties, or ties are equal rows); `approximate`, floats agree to 1e-9 relative (for float
aggregates). A statement may expect an error too.

A line `onlyif spark` or `onlyif sqlfront` before a block has the other one leave the block out: sqlfront
merges into a table, where Spark's built-in tables are given the rows of an equivalent SELECT:

    onlyif sqlfront
    statement
    MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE

    onlyif spark
    statement
    INSERT OVERWRITE t SELECT * FROM t_before LEFT ANTI JOIN s USING (id)

Spark answers a file in one session with a database of its own, sqlfront in one new connection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.oracle.answers import Answer, Column, Failure, Outcome
from tests.oracle.values import quoted

SEPARATOR = "----"
MARKS = frozenset({"ordered", "approximate"})
SPARK, SQLFRONT = "spark", "sqlfront"

_ONLY = "onlyif "

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_NAME = re.compile(r"`((?:[^`]|``)*)`|([A-Za-z_][A-Za-z_0-9]*)")
_BETWEEN_VALUES = " | "
_UNESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|U([0-9a-f]{8})|(.))")


class SltError(ValueError):
    """The file doesn't follow the format; the message names file and line."""


@dataclass(frozen=True)
class Record:
    """One block with SQL in it.

    `line` is that of its SQL; `expected` is None for a query that Spark hasn't answered yet and for a
    statement that must succeed; `comment` holds the lines before it, as written; `only` names the one who
    runs it, None = both.
    """

    file: str
    line: int
    is_query: bool
    marks: frozenset[str]
    sql: str
    expected: Outcome | None
    comment: tuple[str, ...] = ()
    only: str | None = None

    @property
    def place(self) -> str:
        """`joins.slt:12`."""
        return f"{self.file}:{self.line}"

    @property
    def ordered(self) -> bool:
        """Does the rows' order count?"""
        return "ordered" in self.marks

    @property
    def approximate(self) -> bool:
        """Do floats need to agree to 1e-9 relative only?"""
        return "approximate" in self.marks

    def answered(self, outcome: Outcome) -> Record:
        """The record with this outcome stored."""
        return replace(self, expected=outcome)


Block = Record | str


def read(path: Path) -> list[Record]:
    """The records of a file.

    Raises SltError.
    """
    return [block for block in blocks(path) if isinstance(block, Record)]


def blocks(path: Path) -> list[Block]:
    """The blocks of a file, in order; one of comments alone is its text.

    Raises SltError.
    """
    return list(_parsed(path.name, path.read_text(encoding="utf-8")))


def write(path: Path, content: list[Block]) -> None:
    """Write blocks as a file; what `blocks` has read is written back as it was."""
    texts = [block if isinstance(block, str) else record_text(block) for block in content]
    path.write_text("\n\n".join(texts) + "\n", encoding="utf-8")


def record_text(record: Record) -> str:
    """A record as it stands in a file."""
    word = "query" if record.is_query else "statement"
    only = [] if record.only is None else [_ONLY + record.only]
    lines = [*record.comment, *only, " ".join([word, *sorted(record.marks, reverse=True)]), record.sql]
    if record.expected is not None:
        lines += [SEPARATOR, outcome_text(record.expected)]
    return "\n".join(lines)


def outcome_text(outcome: Outcome) -> str:
    """An outcome as it is stored.

    >>> print(outcome_text(Answer((Column("a", "int"), Column("(a + 1)", "int")), (("1", "2"),))))
    a int, `(a + 1)` int
    1 | 2
    """
    match outcome:
        case Failure():
            return f"error {outcome.condition or '-'} {outcome.sqlstate or '-'}"
        case Answer():
            header = ", ".join(f"{_name_text(column.name)} {column.type}" for column in outcome.columns)
            return "\n".join([header, *(_BETWEEN_VALUES.join(row) for row in outcome.rows)])


def parse_outcome(text: str) -> Outcome:
    """The outcome that `outcome_text` has written.

    >>> parse_outcome("error DIVIDE_BY_ZERO 22012")
    Failure(condition='DIVIDE_BY_ZERO', sqlstate='22012', message='')
    """
    header, *rows = text.split("\n")
    if header.startswith("error "):
        condition, sqlstate = (None if word == "-" else word for word in header.split(" ")[1:])
        return Failure(condition, sqlstate)
    return Answer(tuple(_columns(header)), tuple(_row(row) for row in rows))


def _parsed(file: str, text: str) -> Iterator[Block]:
    line = 1
    for chunk in re.split(r"(\n(?:[ \t]*\n)+)", text.rstrip("\n")):
        if chunk.strip():
            yield _block(file, line, chunk)
        line += chunk.count("\n")


def _block(file: str, line: int, chunk: str) -> Block:
    lines = chunk.split("\n")
    start = next((i for i, text in enumerate(lines) if not text.startswith("#")), len(lines))
    if start == len(lines):
        return chunk
    comment = tuple(lines[:start])
    only = lines[start].removeprefix(_ONLY) if lines[start].startswith(_ONLY) else None
    if only is not None:
        start += 1
        if only not in (SPARK, SQLFRONT) or start == len(lines):
            raise SltError(
                f"{file}:{line + start - 1}: expected 'onlyif spark' or 'onlyif sqlfront' and a block"
            )
    word, *marks = lines[start].split()
    if word not in ("statement", "query") or not MARKS.issuperset(marks) or (marks and word == "statement"):
        expected = "'statement' or 'query [ordered] [approximate]'"
        raise SltError(f"{file}:{line + start}: expected {expected}: {lines[start]!r}")
    body = lines[start + 1 :]
    end = body.index(SEPARATOR) if SEPARATOR in body else len(body)
    if end == 0:
        raise SltError(f"{file}:{line + start}: no SQL")
    answer = "\n".join(body[end + 1 :])
    return Record(
        file=file,
        line=line + start + 1,
        is_query=word == "query",
        marks=frozenset(marks),
        sql="\n".join(body[:end]),
        expected=_expected(answer, f"{file}:{line + start + end + 2}") if answer else None,
        comment=comment,
        only=only,
    )


def _expected(answer: str, place: str) -> Outcome:
    try:
        return parse_outcome(answer)
    except ValueError as error:
        raise SltError(f"{place}: {error}") from error


def _name_text(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else quoted(name, "`")


def _columns(header: str) -> Iterator[Column]:
    position = 0
    while position < len(header):
        match = _NAME.match(header, position)
        if match is None or header[match.end() : match.end() + 1] != " ":
            raise ValueError(f"no column name at {header[position:]!r}")
        name = match[2] if match[1] is None else _unescaped(match[1].replace("``", "`"))
        end = _type_end(header, match.end() + 1)
        yield Column(name, header[match.end() + 1 : end])
        position = end + len(", ")


def _type_end(header: str, start: int) -> int:
    """Where the type that begins at `start` ends: at the first comma outside brackets, or at the end."""
    depth = 0
    for position in range(start, len(header)):
        character = header[position]
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            return position
    return len(header)


def _row(line: str) -> tuple[str, ...]:
    """Split at the bars outside quotes."""
    values, start, position, inside = [], 0, 0, False
    while position < len(line):
        if inside and line[position] == "\\":
            position += 1
        elif line[position] == "'":
            inside = not inside
        elif not inside and line.startswith(_BETWEEN_VALUES, position):
            values.append(line[start:position])
            start = position + len(_BETWEEN_VALUES)
            position = start - 1
        position += 1
    return (*values, line[start:])


def _unescaped(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        code = match[1] or match[2]
        return chr(int(code, 16)) if code else _UNESCAPES[match[3]]

    return _ESCAPE.sub(character, text)
