"""A change of a few rows of a spread table without a job: the question to the members, and a member's new
share.

Only the members with changed rows, and those with backups of these rows, are asked; all others keep their
shares, as the new version's key says (:mod:`~sqlfront_connectors.memory.spread.version_keys`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Final, TypeAlias, cast

import msgspec

from sqlfront_cluster.codec.rows import encode_rows, rows_decoder
from sqlfront_connectors.base import Key, RowValues
from sqlfront_connectors.memory.segments.merging import merged
from sqlfront_connectors.memory.segments.numbering import places
from sqlfront_connectors.memory.segments.row_paths import RowReaders, batch_of, segment_of
from sqlfront_connectors.memory.segments.segment import RowNumbers
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.spread.key_counts import keys_changed
from sqlfront_values.errors import OperationalError
from sqlfront_values.partitioning.partitions import key_hasher

#: A row to delete: its number, and the hash of its partition key, by which a member finds out whether it has
#: another row under this number.
GoneRow: TypeAlias = tuple[int, int]


class RowChange(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """The question that makes a member derive its share of a new version from the previous one, with a few
    rows changed, and its backups of other members' shares. ``version``: the key of the shares to make.
    ``base``: the key of the previous version. ``table``: the table's name, for errors. ``dealt``: the version
    of the member list that last changed the owners of partitions. ``changes``: for the member's own share and
    for each backup, the member whose share it is; the rows to delete, each by its number, the position among
    all rows of the share, and by the hash of its partition key; and the rows to add, encoded by
    :mod:`sqlfront_cluster.codec.rows`. ``whole``: whether all shares of the version are made anew.

    The answer tells of the member's own share: what has changed, encoded by
    :func:`~sqlfront_connectors.memory.spread.share_statistics.encode_share_change`, or with ``whole`` all its
    statistics, by :func:`~sqlfront_connectors.memory.spread.share_statistics.encode_share_statistics`;
    :data:`NO_SHARE` if only backups are changed."""

    version: str
    base: str
    table: str
    dealt: int
    changes: tuple[tuple[str, tuple[GoneRow, ...], msgspec.Raw], ...]
    whole: bool


#: The rows of one share to change: the rows to delete, and the rows to add.
ChangedRows: TypeAlias = tuple[Sequence[GoneRow], Sequence[RowValues]]
#: The answer of a member that has changed backups only.
NO_SHARE: Final = msgspec.msgpack.encode(None)
_encode: Final = msgspec.msgpack.Encoder().encode
_NO_ROWS: Final = msgspec.Raw(encode_rows([]))


def encode_change(
    version: str, base: str, table: str, dealt: int, whole: bool, changes: Iterable[tuple[str, ChangedRows]]
) -> bytes:
    """Encode a :class:`RowChange` with these fields, as a question that a member's
    :class:`~sqlfront_connectors.memory.spread.store.TableStore` can answer. ``changes``: those of the shares
    that the member has, as its own or as backups, each with the name of the share's member."""
    encoded = tuple(
        (owner, tuple(gone), msgspec.Raw(encode_rows(added)) if added else _NO_ROWS)
        for owner, (gone, added) in changes
    )
    return _encode(RowChange(version, base, table, dealt, encoded, whole))


def by_owner(
    rows: Sequence[RowValues],
    hash_key: Callable[[Key], int],
    keys: tuple[int, ...],
    owners: Sequence[str],
    *,
    stores: bool,
    numbered: bool = True,
) -> dict[str, tuple[list[GoneRow], list[RowValues]]]:
    """Divide a change of rows among the owners of partitions: return, for each owner, the rows to delete and
    the rows to add; owners without any are left out. ``rows``: each item is values, the last of which is the
    row's number if ``numbered``. ``stores``: whether the values before the number are a row to add.
    ``hash_key``: a function that returns the hash of a key. ``keys``: the positions of the key's values in
    each item. ``owners``: the owner of each partition."""
    shares: dict[str, tuple[list[GoneRow], list[RowValues]]] = {}
    for row in rows:
        hashed = hash_key(tuple(row[key] for key in keys))
        gone, added = shares.setdefault(owners[hashed % len(owners)], ([], []))
        if numbered:
            gone.append((cast("int", row[-1]), hashed))
        if stores:
            added.append(row[:-1] if numbered else row)
    return shares


def changed_share(
    share: TableShare, table: str, deleted: Sequence[GoneRow], encoded: msgspec.Raw
) -> tuple[TableShare, Callable[[], int]]:
    """Return the share after a change, and a function that computes the change of the number of distinct
    keys, the field ``keys`` of
    :class:`~sqlfront_connectors.memory.spread.share_statistics.ShareChange`. ``table``: the table's
    name, for errors. ``deleted``: the rows to delete. ``encoded``: the rows to add. A change without rows
    returns ``share`` itself. Raises OperationalError for a change that doesn't fit the share; with SQLSTATE
    40001 if the share has other rows than those to delete under their numbers."""
    rows = rows_decoder(share.schema.types)(encoded)
    if not deleted and not rows:
        return share, lambda: 0
    gone = _places(share, dict(deleted))
    if gone is None:
        raise rows_elsewhere(table)
    return remade(share, rows, gone), partial(keys_changed, share, gone, rows)


def remade(share: TableShare, added: Sequence[RowValues], gone: Mapping[int, RowNumbers]) -> TableShare:
    """Return the share with the rows ``added``, and without the rows ``gone``: by the index of a segment, the
    positions of rows within the segment."""
    schema, placed, built = share.schema, share.partitioning, None
    if len(added) == 1:
        built = segment_of(added[0], schema, placed)
        batches = [built.batch]
    else:
        batches = [batch_of(added, schema)] if added else []
    segments = merged(share.segments, schema, placed, batches, share.indexes, gone, built)
    return TableShare(schema, placed, segments, share.indexes, share.partitions)


def rows_elsewhere(table: str) -> OperationalError:
    """Return the error (OperationalError, SQLSTATE 40001) for a change of rows that a share of ``table``
    doesn't have under their numbers."""
    return OperationalError(
        f"the rows of `{table}` to change are not where they were found; run the statement again",
        sqlstate="40001",
    )


def _places(share: TableShare, deleted: Mapping[int, int]) -> Mapping[int, RowNumbers] | None:
    """Return, by the index of a segment, the positions within the segment of the rows to delete; None if the
    share doesn't have these rows. ``deleted``: the hash of each row's partition key by the row's number."""
    starts = [*accumulate((segment.batch.num_rows for segment in share.segments), initial=0)]
    if deleted and not 0 <= min(deleted) <= max(deleted) < starts[-1]:
        return None
    gone = places(share.segments, [*deleted])
    for index, positions in gone.items():
        rows = positions.tolist()
        if _hashes(share, index, rows) != [deleted[starts[index] + row] for row in rows]:
            return None
    return gone


def _hashes(share: TableShare, index: int, rows: list[int]) -> list[int] | None:
    """Return the hashes of the partition keys of rows of a segment; None if a row is deleted, or if its key
    has a date or timestamp beyond Python's years, by which no row is found. ``index``: the segment's.
    ``rows``: positions within the segment."""
    segment, columns = share.segments[index], () if share.partitioning is None else share.partitioning.columns
    if len(segment.live(rows)) < len(rows):
        return None
    read = RowReaders([segment], columns, len(share.schema))[0]
    hash_key = key_hasher([share.schema.field(column).type for column in columns])
    try:
        return [hash_key(read(row)) for row in rows]
    except (OverflowError, ValueError):
        return None
