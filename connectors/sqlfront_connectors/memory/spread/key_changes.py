"""A change of the rows of some keys of a spread table, in one question: the members with these rows find the
rows themselves, and make their shares of the new version.

The rows of a key are deleted, or some of their columns get values that don't depend on the row. A share and
its backups have the same rows under the same numbers, so that each member finds the same ones.
"""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from sqlfront_cluster.codec.rows import encode_rows, rows_decoder
from sqlfront_cluster.codec.values import malformed
from sqlfront_connectors.base import Key, RowValues, TooManyRows
from sqlfront_connectors.memory.keyed_table import NewValues
from sqlfront_connectors.memory.segments.numbering import places
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.spread.key_counts import keys_found
from sqlfront_connectors.memory.spread.lookup import BEYOND, TOO_MANY
from sqlfront_connectors.memory.spread.row_changes import NO_SHARE, remade, rows_elsewhere
from sqlfront_values.decoders import make_decoder


class KeyChange(msgspec.Struct, frozen=True, array_like=True, tag=6):
    """The question that makes a member derive its share of a new version from the previous one, with the rows
    of some keys deleted or changed, and its backups of other members' shares. ``version``: the key of the
    shares to make. ``base``: the key of the previous version. ``table``: the table's name, for errors.
    ``dealt``: the version of the member list that last changed the owners of partitions. ``changes``: for the
    member's own share and for each backup, the member whose share it is, and the keys, encoded by
    :mod:`sqlfront_cluster.codec.rows`. ``places``: the ordinals of the columns that get the ``values``, one
    encoded row; None = the rows are deleted. ``whole``: whether a share without such rows is made, too.

    The answer is a :class:`KeyAnswer`; or :data:`~sqlfront_connectors.memory.spread.lookup.BEYOND` or
    :data:`~sqlfront_connectors.memory.spread.lookup.TOO_MANY` if the rows can't be read as Python values."""

    version: str
    base: str
    table: str
    dealt: int
    changes: tuple[tuple[str, msgspec.Raw], ...]
    places: tuple[int, ...] | None
    values: msgspec.Raw
    whole: bool


class KeyAnswer(msgspec.Struct, frozen=True, array_like=True):
    """The answer to a :class:`KeyChange`. ``counts``: for each of its ``changes`` the number of rows that the
    share or backup had. ``statistics``: what has changed in the member's own share, as in the answer to a
    :class:`~sqlfront_connectors.memory.spread.row_changes.RowChange`;
    :data:`~sqlfront_connectors.memory.spread.row_changes.NO_SHARE` if the share wasn't changed."""

    counts: tuple[int, ...]
    statistics: msgspec.Raw


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = make_decoder(KeyAnswer)


def encode_key_change(
    version: str,
    base: str,
    table: str,
    dealt: int,
    new: NewValues | None,
    whole: bool,
    changes: Iterable[tuple[str, Sequence[Key]]],
) -> bytes:
    """Encode a :class:`KeyChange` with these fields, as a question that a member's
    :class:`~sqlfront_connectors.memory.spread.store.TableStore` can answer. ``new``: the columns' new values,
    None = the rows are deleted. ``changes``: the keys of each share that the member has, as its own or as a
    backup, with the name of the share's member."""
    set_, values = (None, ()) if new is None else (new.places, new.values)
    encoded = tuple((owner, msgspec.Raw(encode_rows(keys))) for owner, keys in changes)
    return _encode(
        KeyChange(version, base, table, dealt, encoded, set_, msgspec.Raw(encode_rows([values])), whole)
    )


def key_change_answered(
    question: KeyChange,
    share_of: Callable[[str], TableShare],
    keep: Callable[[str, TableShare, TableShare, Callable[[], int]], bytes],
) -> bytes:
    """Make the shares and backups that ``question`` asks for, and return the answer. ``share_of``: a function
    that returns the share of a member. ``keep``: a function that stores a member's new share, given the
    member's name, the present share, the new one, and a function that returns the change of the number of
    distinct keys; it returns the encoded statistics, or
    :data:`~sqlfront_connectors.memory.spread.row_changes.NO_SHARE` for a backup. Raises OperationalError for
    a question that doesn't fit the share."""
    counts, statistics = [], NO_SHARE
    for owner, keys in question.changes:
        share = share_of(owner)
        try:
            rows, lost = _found(share, question, keys)
        except (OverflowError, ValueError):
            return BEYOND
        except TooManyRows:
            return TOO_MANY
        counts.append(len(rows))
        if rows or question.whole:
            told = keep(owner, share, _changed(share, question, rows), partial(operator.neg, lost))
            statistics = statistics if told == NO_SHARE else told
    return _encode(KeyAnswer(tuple(counts), msgspec.Raw(statistics)))


def _found(share: TableShare, question: KeyChange, keys: msgspec.Raw) -> tuple[dict[int, RowValues], int]:
    """Return the rows with the ``keys`` by their numbers, in the order of the numbers: a share and its
    backups add the changed rows alike, by whatever index each found them. Keys that count as one, such as two
    of NaN, have the same rows. Also return the number of distinct keys that the share loses. Raises
    OverflowError, ValueError or TooManyRows if the rows can't be read as Python values."""
    by, width = () if share.partitioning is None else share.partitioning.columns, len(share.schema)
    changed = () if question.places is None else question.places
    if not {*changed} <= {*range(width)} - {*by} or len({*changed}) < len(changed):
        raise malformed("change", f"no row stays on its member with other values of the columns {changed}")
    path = share.path(by, (width,) if question.places is None else tuple(range(width + 1)))
    if path is None:
        raise malformed("change", "the table has no partition key")
    found: dict[int, RowValues] = {}
    wanted = _decoded(share.schema.types, by, keys)
    rows_of_keys = path.find(wanted)
    for rows in rows_of_keys:
        found.update((row[-1], row) for row in rows)  # type: ignore[misc]
    lost = keys_found(wanted, rows_of_keys) if question.places is None and len(by) == 1 else 0
    return {number: found[number] for number in sorted(found)}, lost


def _changed(share: TableShare, question: KeyChange, rows: Mapping[int, RowValues]) -> TableShare:
    """Return the share after the change of the ``rows``, given by their numbers; the share itself if there
    are none."""
    if not rows:
        return share
    added: list[RowValues] = []
    if question.places is not None:
        values, *more = _decoded(share.schema.types, question.places, question.values) or [()]
        if more or len(values) != len(question.places):
            raise malformed("change", "it has not one row of new values")
        added = [_replaced(row, question.places, values) for row in rows.values()]
    return remade(share, added, places(share.segments, [*rows]))


def _decoded(types: Sequence[object], columns: Sequence[int], encoded: msgspec.Raw) -> list[RowValues]:
    return rows_decoder([types[column] for column in columns])(encoded)


def _replaced(row: RowValues, columns: Sequence[int], values: RowValues) -> RowValues:
    """Return the row with other values in ``columns``."""
    made = list(row)
    for column, value in zip(columns, values, strict=True):
        made[column] = value
    return tuple(made)


def read_answers(
    table: str, shares: Mapping[str, Sequence[str]], answers: Mapping[str, bytes | memoryview]
) -> dict[str, tuple[int, msgspec.Raw]]:
    """Read the members' answers to a change: return for each owner of a share the number of its changed rows
    and its encoded statistics. ``table``: the table's name, for errors. ``shares``: by the member's name, the
    owners of the shares that the member was asked to change, in the question's order. Raises OverflowError or
    TooManyRows if the rows can't be read as Python values, OperationalError for malformed answers, with
    SQLSTATE 40001 if a backup has another number of rows than its share."""
    counts: dict[str, set[int]] = {}
    statistics: dict[str, msgspec.Raw] = {}
    for member, owners in shares.items():
        answer = _read(answers[member])
        if len(answer.counts) != len(owners):
            raise malformed("answer", f"it counts the rows of {len(answer.counts)} of {len(owners)} shares")
        for owner, count in zip(owners, answer.counts, strict=True):
            counts.setdefault(owner, set()).add(count)
        statistics[member] = answer.statistics
    if any(len(each) > 1 for each in counts.values()):
        raise rows_elsewhere(table)
    return {owner: (each.pop(), statistics[owner]) for owner, each in counts.items()}


def _read(answer: bytes | memoryview) -> KeyAnswer:
    if answer == BEYOND:
        raise OverflowError("a date or timestamp beyond Python's years")
    if answer == TOO_MANY:
        raise TooManyRows
    try:
        read: KeyAnswer = _decode(answer)  # type: ignore[assignment]
    except (msgspec.MsgspecError, ValueError) as error:
        raise malformed("answer", error) from error
    return read
