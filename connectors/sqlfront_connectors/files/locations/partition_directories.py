"""Partition values in the names of directories, as Spark's ``PartitioningUtils`` reads them."""

import os
import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from sqlfront_values.errors import NotSupportedError, OperationalError

#: Names and texts of the partition directories above a file, outermost first. Names are unescaped, texts are
#: as in the directory's name (escaped); None = null.
RawPartition = tuple[tuple[str, str | None], ...]
#: The text for null in a partition directory's name.
NULL_DIRECTORY: Final = "__HIVE_DEFAULT_PARTITION__"
#: The characters that are escaped in a directory's name.
_SPECIAL: Final = re.compile(r"""[\x01-\x1f"#%'*/:=?\\\x7f{\[\]^]""")
_ESCAPED: Final = re.compile("%([0-9A-Fa-f]{2})")


def escape(text: str) -> str:
    """Escape a name or value as Spark does in a directory's name.

    >>> escape("a/b é")
    'a%2Fb é'
    """
    return _SPECIAL.sub(lambda match: f"%{ord(match[0]):02X}", text)


def unescape(text: str) -> str:
    """Replace the escapes that :func:`escape` makes by their characters; anything else stays.

    >>> unescape("a%2Fb%zz")
    'a/b%zz'
    """
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def partition_below(location: str, path: str) -> RawPartition:
    """Return the partition that the directories between the directory ``location`` and the file at ``path``
    state: those of the form ``name=value``.

    >>> partition_below("/t", "/t/d=2020/e=__HIVE_DEFAULT_PARTITION__/part-0.csv")
    (('d', '2020'), ('e', None))
    """
    below = os.path.dirname(os.path.relpath(path, location))
    found = (_column(name) for name in below.split(os.sep))
    return tuple(column for column in found if column is not None)


class FoundPartition(msgspec.Struct, frozen=True):
    """The partition that the path of a directory states, as ``name=value`` parts. ``base``: the directory
    above the outermost partition directory; the directory itself if its path states no partition."""

    partition: RawPartition
    base: str


def found_partitions(directories: Iterable[str], bases: frozenset[str]) -> Mapping[str, RawPartition]:
    """Return the partition of each directory whose path states a partition; empty if none does.
    ``directories``: the directories that hold data. ``bases``: the directories below which names state
    partitions. Raises OperationalError if partitions begin below different directories or have different
    columns, or if data lie outside of the partitions (except directly in the directory below which the
    partitions begin); NotSupportedError if the columns' names differ in case."""
    found = {directory: _found(directory, bases) for directory in directories}
    partitions = {directory: one.partition for directory, one in found.items() if one.partition}
    if not partitions:
        return {}
    roots = {one.base for one in found.values()}
    if len(roots) > 1:
        raise OperationalError(
            "Conflicting directory structures detected. Suspicious paths: "
            f"{', '.join(sorted(roots)[:5])}. Load them separately, or give the option basePath.",
            condition="CONFLICTING_DIRECTORY_STRUCTURES",
        )
    _check_names(partitions)
    return partitions


def _found(directory: str, bases: frozenset[str]) -> FoundPartition:
    columns: list[tuple[str, str | None]] = []
    place = directory
    while place not in bases:
        name = os.path.basename(place)
        column = _column(name)
        if column is not None:
            columns.append(column)
        above = os.path.dirname(place)
        if (column is None and columns) or above == place:
            break
        place = above
    return FoundPartition(tuple(reversed(columns)), place if columns else directory)


def _column(segment: str) -> tuple[str, str | None] | None:
    """Return the name and the escaped text of the partition column that the directory name ``segment``
    states, with None for the text of null. Return None if the name states no partition. Raises
    OperationalError for an empty name or text."""
    name, equals, text = segment.partition("=")
    if not equals:
        return None
    for what, part in (("NAME", unescape(name)), ("VALUE", text)):
        if not part:
            raise OperationalError(
                f"Found an empty partition column {what.lower()} in the path segment '{segment}'.",
                condition=f"EMPTY_PARTITION_COLUMN_{what}",
            )
    return unescape(name), None if text == NULL_DIRECTORY else text


def _check_names(partitions: Mapping[str, RawPartition]) -> None:
    lists = {tuple(name for name, _ in partition) for partition in partitions.values()}
    if len({tuple(map(str.lower, names)) for names in lists}) > 1:
        known = " and ".join(sorted(", ".join(names) for names in lists)[:5])
        raise OperationalError(
            f"Conflicting partition column names detected: {known}. Files should only live in the innermost "
            "directories, and directories at the same level have the same partition column name.",
            condition="CONFLICTING_PARTITION_COLUMN_NAMES",
        )
    if len(lists) > 1:
        names = " and ".join(sorted(", ".join(names) for names in lists))
        raise NotSupportedError(f"partition directories whose names differ in case: {names}")
