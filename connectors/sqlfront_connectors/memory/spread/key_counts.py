"""The number of distinct partition keys of a share, as a change of a few rows changes it.

Null is no distinct value. Partition keys of several columns aren't counted: no statistics tell of them.
"""

from collections.abc import Mapping, Sequence

from sqlfront_connectors.base import Key, RowValues, TooManyRows
from sqlfront_connectors.memory.segments.row_paths import RowReaders
from sqlfront_connectors.memory.segments.segment import RowNumbers
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_values.partitioning.partitions import key_hasher


def keys_changed(share: TableShare, gone: Mapping[int, RowNumbers], added: Sequence[RowValues]) -> int:
    """Return the change of the number of keys when the rows ``gone`` of the ``share`` are deleted, or the
    rows ``added`` come; 0 if rows are replaced, since they keep their keys. ``gone``: by the index of a
    segment, the positions of rows within the segment."""
    by = () if share.partitioning is None else share.partitioning.columns
    if len(by) != 1 or (gone and added):
        return 0
    try:
        return _new(share, by, added) if added else -_lost(share, by, gone)
    except (OverflowError, ValueError, TooManyRows):  # rows that can't be read as Python values
        return 0


def keys_found(keys: Sequence[Key], rows: Sequence[Sequence[RowValues]]) -> int:
    """Return the number of keys of a single column that have rows. ``rows``: the rows of each of the
    ``keys``, each row with its number at the end; keys that count as one, such as two of NaN, have the same
    rows."""
    return len({some[0][-1] for key, some in zip(keys, rows, strict=True) if some and key[0] is not None})


def _new(share: TableShare, by: tuple[int, ...], added: Sequence[RowValues]) -> int:
    """Return the number of keys of the rows ``added`` that no row of the share has."""
    path = share.path(by, (len(share.schema),))
    assert path is not None
    hash_key = key_hasher([share.schema.field(column).type for column in by])
    keys = [tuple(row[column] for column in by) for row in added]
    distinct = {hash_key(key): key for key in keys if key[0] is not None}
    return sum(not rows for rows in path.find([*distinct.values()]))


def _lost(share: TableShare, by: tuple[int, ...], gone: Mapping[int, RowNumbers]) -> int:
    """Return the number of keys of which all rows are ``gone``."""
    path, width = share.path(by, (len(share.schema),)), len(share.schema)
    assert path is not None
    readers = RowReaders(share.segments, (*by, width), width)
    rows = [readers[index](row) for index, positions in gone.items() for row in positions.tolist()]
    numbers, keys = {row[-1] for row in rows}, [row[:-1] for row in rows]
    found = [some if numbers.issuperset(row[-1] for row in some) else [] for some in path.find(keys)]
    return keys_found(keys, found)
