"""Completion of the names of tables and columns in a cell with SQL."""

import re
from typing import Final

from sqlfront.session import Session

#: The most names that are offered.
_MOST: Final = 500
_CELL: Final = re.compile(r"\s*%%sql\b")
_LINE: Final = re.compile(r"\s*(?:\w+\s*=\s*)?%sql\b")
_WORD: Final = re.compile(r"\w+")

_TABLES: Final = (
    "SELECT DISTINCT table_name FROM information_schema.tables WHERE startswith(lower(table_name), ?)"
)
_COLUMNS: Final = (
    "SELECT lower(table_name), column_name FROM information_schema.columns "
    "WHERE startswith(lower(column_name), ?)"
)


def is_sql(text: str, line: int) -> bool:
    r"""Return whether the line with the number ``line`` of the cell is SQL.

    >>> is_sql("%%sql\nselect 1", 1), is_sql("%sql select 1", 0), is_sql("x = 1", 0)
    (True, True, False)
    """
    if _CELL.match(text):
        return True
    lines = text.split("\n")
    return line < len(lines) and _LINE.match(lines[line]) is not None


def completions(text: str, token: str, session: Session) -> list[str]:
    """Return the texts that can replace ``token``, the name being typed: names that begin with the last part
    of the token. These are the names of tables, and of columns of the tables that the cell's ``text``
    mentions. A name that is no identifier gets backticks. If ``session`` has a Spark session beside it, only
    the relations of its own catalog are offered, and neither Spark's relations nor columns."""
    head, dot, begun = token.rpartition(".")
    words = {word.lower() for word in _WORD.findall(text)}
    found = set[str]()
    if session.spark is not None:
        entries = session.context.catalog.entries()
        return _written(
            head + dot, {each.name for each in entries if each.name.lower().startswith(begun.lower())}
        )
    if not dot:
        found |= {str(row[0]) for row in session.execute(_TABLES, [begun.lower()]).collect()}
    rows = session.execute(_COLUMNS, [begun.lower()]).collect()
    found |= {str(column) for table, column in rows if table in words}
    return _written(head + dot, found)


def _written(before: str, names: set[str]) -> list[str]:
    """Return ``before`` followed by each of the names, as a statement writes it, in order; only the first
    names if there are many."""
    shown = sorted(names, key=str.lower)[:_MOST]
    return [
        before + (name if name.isidentifier() and name.isascii() else f"`{name.replace('`', '``')}`")
        for name in shown
    ]
