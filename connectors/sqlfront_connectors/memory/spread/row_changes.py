"""A change of a few rows of a spread table without a job: the question to the members, and a member's new
share.

Every member is asked, and makes its share of the new version; a member without changed rows uses its old
share again.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, cast

import msgspec

from sqlfront_cluster.codec.rows import encode_rows, rows_decoder
from sqlfront_cluster.codec.values import malformed
from sqlfront_connectors.base import Key, RowValues
from sqlfront_connectors.memory.segments.merging import merged
from sqlfront_connectors.memory.segments.numbering import places
from sqlfront_connectors.memory.segments.row_paths import batch_of
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.spread.share_statistics import encode_report


class RowChange(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """The question that makes a member derive its share of a new version from the previous one, with a few
    rows changed. ``version``: the key of the version to make. ``base``: the key of the previous version.
    ``table``: the table's name, for errors. ``dealt``: the version of the member list that last changed the
    owners of partitions. ``gone``: the numbers of the rows to delete, positions among all rows of the
    member's share. ``added``: the rows to add, encoded by :mod:`sqlfront_cluster.codec.rows`. ``backups``:
    the same change of the backups that the member holds, each as the owner of the share, the rows to delete
    and the rows to add. The answer is the statistics of the new share and the number of rows written, encoded
    by :func:`~sqlfront_connectors.memory.spread.share_statistics.encode_report`."""

    version: str
    base: str
    table: str
    dealt: int
    gone: tuple[int, ...]
    added: msgspec.Raw
    backups: tuple[tuple[str, tuple[int, ...], msgspec.Raw], ...] = ()


#: The rows of one share to change: the numbers of the rows to delete, and the rows to add.
ShareChange: TypeAlias = tuple[Sequence[int], Sequence[RowValues]]
_encode: Final = msgspec.msgpack.Encoder().encode
_NO_ROWS: Final = msgspec.Raw(encode_rows([]))


def encode_change(
    version: str,
    base: str,
    table: str,
    dealt: int,
    change: ShareChange,
    backups: Sequence[tuple[str, ShareChange]] = (),
) -> bytes:
    """Encode a :class:`RowChange` with these fields, as a question that a member's
    :class:`~sqlfront_connectors.memory.spread.store.TableStore` can answer. ``change``: that of the member's
    share. ``backups``: those of the backups that the member holds, with the owner of the share."""
    (gone, added), held = _encoded(change), tuple((owner, *_encoded(other)) for owner, other in backups)
    return _encode(RowChange(version, base, table, dealt, gone, added, held))


def _encoded(change: ShareChange) -> tuple[tuple[int, ...], msgspec.Raw]:
    gone, added = change
    return tuple(gone), msgspec.Raw(encode_rows(added)) if added else _NO_ROWS


def by_owner(
    rows: Sequence[RowValues],
    hash_key: Callable[[Key], int],
    keys: tuple[int, ...],
    owners: Sequence[str],
    *,
    stores: bool,
) -> dict[str, tuple[list[int], list[RowValues]]]:
    """Divide a change of rows among the owners of partitions: return, for each owner, the numbers of the rows
    to delete and the rows to add. ``rows``: each item is values, the last of which is the row's number.
    ``stores``: whether the values before the number are a row to add. ``hash_key``: a function that returns
    the hash of a key. ``keys``: the positions of the key's values in each item. ``owners``: the owner of each
    partition."""
    shares: dict[str, tuple[list[int], list[RowValues]]] = {owner: ([], []) for owner in owners}
    for row in rows:
        gone, added = shares[owners[hash_key(tuple(row[key] for key in keys)) % len(owners)]]
        gone.append(cast("int", row[-1]))
        if stores:
            added.append(row[:-1])
    return shares


def changed_share(
    share: TableShare, deleted: Sequence[int], encoded: msgspec.Raw
) -> tuple[TableShare, bytes]:
    """Return the share after a change, and the encoded report on it (its statistics, and the number of rows
    written). ``deleted``: the numbers of the rows to delete. ``encoded``: the rows to add. A change without
    rows returns ``share`` itself. Raises OperationalError for a change that doesn't fit the share, such as
    one of unknown row numbers."""
    schema = share.schema
    rows = rows_decoder(schema.types)(encoded)
    if not deleted and not rows:
        return share, share.facts.get("report", lambda: encode_report(share, 0))
    present = sum(segment.batch.num_rows for segment in share.segments)
    if deleted and not 0 <= min(deleted) <= max(deleted) < present:
        raise malformed("change", f"its rows aren't among the {present} that there are")
    added = [batch_of(rows, schema)] if rows else []
    gone = places(share.segments, deleted)
    segments = merged(share.segments, schema, share.partitioning, added, share.indexes, gone)
    made = TableShare(schema, share.partitioning, segments, share.indexes, share.partitions)
    return made, encode_report(made, len(rows))
