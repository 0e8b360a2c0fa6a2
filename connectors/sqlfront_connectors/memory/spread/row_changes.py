"""A change of a few rows of a spread table without a job: the question to the members, and a member's new
share.

Only the members with changed rows, and those with backups of these rows, are asked; all others keep their
shares, as the new version's key says (:mod:`~sqlfront_connectors.memory.spread.version_keys`).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias, cast

import msgspec

from sqlfront_cluster.codec.rows import encode_rows, rows_decoder
from sqlfront_cluster.codec.values import malformed
from sqlfront_connectors.base import Key, RowValues
from sqlfront_connectors.memory.segments.merging import merged
from sqlfront_connectors.memory.segments.numbering import places
from sqlfront_connectors.memory.segments.row_paths import batch_of
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.spread.share_statistics import encode_statistics_change


class RowChange(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """The question that makes a member derive its share of a new version from the previous one, with a few
    rows changed, and its backups of other members' shares. ``version``: the key of the shares to make.
    ``base``: the key of the previous version. ``table``: the table's name, for errors. ``dealt``: the version
    of the member list that last changed the owners of partitions. ``changes``: for the member's own share and
    for each backup, the member whose share it is; the numbers of the rows to delete, positions among all rows
    of the share; and the rows to add, encoded by :mod:`sqlfront_cluster.codec.rows`. The answer is the
    statistics of the member's own share before and after the change, encoded by
    :func:`~sqlfront_connectors.memory.spread.share_statistics.encode_statistics_change`; :data:`NO_SHARE` if
    only backups are changed."""

    version: str
    base: str
    table: str
    dealt: int
    changes: tuple[tuple[str, tuple[int, ...], msgspec.Raw], ...]


#: The rows of one share to change: the numbers of the rows to delete, and the rows to add.
ShareChange: TypeAlias = tuple[Sequence[int], Sequence[RowValues]]
#: The answer of a member that has changed backups only.
NO_SHARE: Final = msgspec.msgpack.encode(None)
_encode: Final = msgspec.msgpack.Encoder().encode
_NO_ROWS: Final = msgspec.Raw(encode_rows([]))


def encode_change(
    version: str, base: str, table: str, dealt: int, changes: Iterable[tuple[str, ShareChange]]
) -> bytes:
    """Encode a :class:`RowChange` with these fields, as a question that a member's
    :class:`~sqlfront_connectors.memory.spread.store.TableStore` can answer. ``changes``: those of the shares
    that the member has, as its own or as backups, each with the name of the share's member."""
    encoded = tuple(
        (owner, tuple(gone), msgspec.Raw(encode_rows(added)) if added else _NO_ROWS)
        for owner, (gone, added) in changes
    )
    return _encode(RowChange(version, base, table, dealt, encoded))


def by_owner(
    rows: Sequence[RowValues],
    hash_key: Callable[[Key], int],
    keys: tuple[int, ...],
    owners: Sequence[str],
    *,
    stores: bool,
    numbered: bool = True,
) -> dict[str, tuple[list[int], list[RowValues]]]:
    """Divide a change of rows among the owners of partitions: return, for each owner, the numbers of the rows
    to delete and the rows to add; owners without any are left out. ``rows``: each item is values, the last of
    which is the row's number if ``numbered``. ``stores``: whether the values before the number are a row to
    add.
    ``hash_key``: a function that returns the hash of a key. ``keys``: the positions of the key's values in
    each item. ``owners``: the owner of each partition."""
    shares: dict[str, tuple[list[int], list[RowValues]]] = {}
    for row in rows:
        owner = owners[hash_key(tuple(row[key] for key in keys)) % len(owners)]
        gone, added = shares.setdefault(owner, ([], []))
        if numbered:
            gone.append(cast("int", row[-1]))
        if stores:
            added.append(row[:-1] if numbered else row)
    return shares


def changed_share(
    share: TableShare, deleted: Sequence[int], encoded: msgspec.Raw
) -> tuple[TableShare, bytes]:
    """Return the share after a change, and the encoded statistics of ``share`` and of the new share.
    ``deleted``: the numbers of the rows to delete. ``encoded``: the rows to add. A change without rows
    returns ``share`` itself. Raises OperationalError for a change that doesn't fit the share, such as one of
    unknown row numbers."""
    schema = share.schema
    rows = rows_decoder(schema.types)(encoded)
    if not deleted and not rows:
        return share, encode_statistics_change(share, share)
    present = sum(segment.batch.num_rows for segment in share.segments)
    if deleted and not 0 <= min(deleted) <= max(deleted) < present:
        raise malformed("change", f"its rows aren't among the {present} that there are")
    added = [batch_of(rows, schema)] if rows else []
    gone = places(share.segments, deleted)
    segments = merged(share.segments, schema, share.partitioning, added, share.indexes, gone)
    made = TableShare(schema, share.partitioning, segments, share.indexes, share.partitions)
    return made, encode_statistics_change(share, made)
