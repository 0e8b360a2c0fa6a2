"""Names in messages: the quoting of dotted names, suggestions of the known names nearest to a wrong name, and
the messages for unknown relations and columns."""

from collections.abc import Sequence
from typing import Final

from sqlfront_planner.catalog import DEFAULT_CATALOG, is_session_schema

#: Names that a message suggests: as many as Spark's messages name.
_SHOWN: Final = 5
#: Characters up to which names are compared: the time of a comparison grows with the square of the length.
_COMPARED: Final = 64


def quoted(parts: Sequence[str]) -> str:
    """Return a dotted name as messages show it, with each of its parts in backticks.

    >>> quoted(("t", "a`b"))
    '`t`.`a``b`'
    """
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)


def suggestion(wanted: Sequence[str], known: Sequence[Sequence[str]]) -> str:
    """Return the five known names nearest to the wanted name as one text, nearest first; a qualifier shared
    by all names is omitted.

    >>> suggestion(("carier",), [("f", "carrier"), ("f", "tailnum")])
    '`carrier`, `tailnum`'
    """
    qualifiers = {tuple(name[:-1]) for name in known}
    names = [tuple(name[-1:]) for name in known] if len(qualifiers) == 1 else [tuple(name) for name in known]
    text = ".".join(wanted).lower()
    nearest = sorted(names, key=lambda name: distance(".".join(name[-len(wanted) :]).lower(), text))
    return ", ".join(quoted(name) for name in nearest[:_SHOWN])


def unknown_column(parts: Sequence[str], known: Sequence[Sequence[str]]) -> tuple[str, str]:
    """Return Spark's condition and message for a dotted name that no column has; ``known`` are the names of
    the columns in scope, from which the message suggests the nearest."""
    message = f"A column, variable, or function parameter with name {quoted(parts)} cannot be resolved."
    if not known:
        return "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION", message
    nearest = suggestion(parts, known)
    return "UNRESOLVED_COLUMN.WITH_SUGGESTION", f"{message} Did you mean one of the following? [{nearest}]."


def unknown_relation(parts: Sequence[str], known: Sequence[str]) -> tuple[str, str]:
    """Return Spark's condition and message for a dotted name that no relation has; ``known`` are the names of
    relations, from which the message suggests the nearest. A qualifier that can't be a schema, such as an
    unknown catalog, has a condition of its own."""
    if not has_single_schema(parts):
        return "REQUIRES_SINGLE_PART_NAMESPACE", needs_single_schema(parts)
    message = (
        f"The table or view {quoted(parts)} cannot be found. Verify the spelling and "
        "correctness of the schema and catalog."
    )
    if known:
        nearest = ", ".join(quoted((name,)) for name in nearest_words(parts[-1], known))
        message += f" Did you mean one of the following? [{nearest}]."
    return "TABLE_OR_VIEW_NOT_FOUND", message


def has_single_schema(parts: Sequence[str]) -> bool:
    """Return whether the qualifier of a relation's dotted name is empty, a schema, or the catalog and a
    schema.

    >>> has_single_schema(("spark_catalog", "s", "t")), has_single_schema(("spark_catalog", "t"))
    (True, False)
    """
    qualifier = tuple(parts[:-1])
    if not qualifier or is_session_schema(qualifier):
        return True
    return len(qualifier) == (2 if qualifier[0].lower() == DEFAULT_CATALOG else 1)


def needs_single_schema(parts: Sequence[str]) -> str:
    """Return Spark's message for a relation's dotted name whose qualifier isn't one schema."""
    return f"{DEFAULT_CATALOG} requires a single-part namespace, but got identifier {quoted(parts)}."


def nearest_words(wanted: str, known: Sequence[str], count: int = _SHOWN) -> tuple[str, ...]:
    """Return the ``count`` known words nearest to the wanted word by :func:`distance`, nearest first; case is
    ignored."""
    return tuple(sorted(known, key=lambda word: distance(word.lower(), wanted.lower()))[:count])


def distance(left: str, right: str) -> int:
    """Return the number of edits (insert, delete or replace a character) that turn one word into the other;
    only the first 64 characters of each are compared.

    >>> distance("kitten", "sitting")
    3
    """
    left, right = left[:_COMPARED], right[:_COMPARED]
    previous = list(range(len(right) + 1))
    for row, letter in enumerate(left, 1):
        current = [row]
        for column, other in enumerate(right, 1):
            current.append(
                min(previous[column] + 1, current[-1] + 1, previous[column - 1] + (letter != other))
            )
        previous = current
    return previous[-1]
