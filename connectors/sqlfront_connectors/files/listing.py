"""Which files a location holds, and what their directories say (``key=value``, Hive style).

As in Spark, names that begin with ``_`` or ``.`` are ignored, at every level, except directories such as
``_part=1``.
"""

import glob
import os
import re
from collections.abc import Iterator
from urllib.parse import unquote

import msgspec

from sqlfront_engine.errors import OperationalError

#: What stands for null in a partition directory's name.
NULL_DIRECTORY = "__HIVE_DEFAULT_PARTITION__"
#: What can't stand in a directory's name for itself.
_SPECIAL = re.compile(r"""[\x01-\x1f"#%'*/:=?\\\x7f{\[\]^]""")


class DataFile(msgspec.Struct, frozen=True, weakref=True):
    """A file, and the raw values of its partition directories by (original) column name; None = null.

    All versions of a table that have a file share its object, so that its end says that nobody reads it.
    """

    path: str
    size: int
    partition: tuple[tuple[str, str | None], ...] = msgspec.field(default=())


def escape(text: str) -> str:
    """A name or value as Spark writes it into a directory's name.

    >>> escape("a/b é")
    'a%2Fb é'
    """
    return _SPECIAL.sub(lambda match: f"%{ord(match[0]):02X}", text)


def list_files(location: str) -> tuple[DataFile, ...]:
    """All data files below a file, directory or glob, sorted by path. A location that doesn't exist is
    Spark's PATH_NOT_FOUND."""
    location = location.removeprefix("file://").removeprefix("file:")
    roots = sorted(glob.glob(location)) if glob.has_magic(location) else [location]
    roots = [root for root in roots if os.path.exists(root)]
    if not roots:
        raise OperationalError(
            f"Path does not exist: {location}.", condition="PATH_NOT_FOUND", sqlstate="42K03"
        )
    return tuple(found for root in roots for found in _walk(root, ()))


def _walk(path: str, partition: tuple[tuple[str, str | None], ...]) -> Iterator[DataFile]:
    if os.path.isfile(path):
        yield DataFile(path, os.path.getsize(path), partition)
        return
    for name in sorted(os.listdir(path)):
        below = os.path.join(path, name)
        key, equals, value = name.partition("=")
        if name.startswith((".", "_")) and not (equals and os.path.isdir(below)):
            continue
        if equals and os.path.isdir(below):
            text = None if value == NULL_DIRECTORY else unquote(value)
            yield from _walk(below, (*partition, (unquote(key), text)))
        else:
            yield from _walk(below, partition)
