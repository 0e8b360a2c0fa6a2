"""Lookups of rows by key at the members that have the rows, without a job: the questions, and the answers
from a share.

A question names the version and the columns. The types of the values are not sent, because both members know
the table's schema.
"""

from collections.abc import Callable
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront_cluster.codec.rows import encode_rows, groups_decoder, rows_decoder
from sqlfront_cluster.codec.values import malformed
from sqlfront_connectors.base import Key, RowValues, TooManyRows
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_values.types import BIGINT

#: The answer if a date or timestamp is beyond Python's years.
BEYOND: Final = msgspec.msgpack.encode(None)
#: The answer if the keys have more rows than a path may return.
TOO_MANY: Final = msgspec.msgpack.encode(True)


class Lookup(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """The question to a member for the rows of each key. ``version``: the key under which the member has its
    share of the table's version. ``table``: the table's name, for errors. ``by``: the ordinals of the key's
    columns. ``columns``: the ordinals of the wanted columns. ``keys``: the keys, encoded by
    :func:`~sqlfront_cluster.codec.rows.encode_rows`. ``numbered``: whether ``columns`` may have the ordinal
    after the table's last column, which stands for the row's number.

    The answer is the rows of each key; or :data:`BEYOND` if a value is beyond Python's years, or
    :data:`TOO_MANY` if the keys have too many rows."""

    version: str
    table: str
    by: tuple[int, ...]
    columns: tuple[int, ...]
    keys: msgspec.Raw
    numbered: bool = False


#: The keys of a question that has no keys yet.
NO_KEYS: Final = msgspec.Raw(msgspec.msgpack.encode(()))
_encode: Final = msgspec.msgpack.Encoder().encode


def encode_lookup(question: Lookup) -> bytes:
    """Encode a lookup as a question that a member's
    :class:`~sqlfront_connectors.memory.spread.store.TableStore` can answer."""
    return _encode(question)


def answer_decoder(
    schema: pa.Schema, columns: tuple[int, ...]
) -> Callable[[bytes | memoryview, int], list[list[RowValues]]]:
    """Return a function that decodes the answers to a lookup of ``columns``. ``schema``: the table's logical
    schema. The function's arguments are the answer and the number of keys in the question; it returns the
    rows of each key. It raises OverflowError for values beyond Python's years, TooManyRows for too many rows,
    and OperationalError for a malformed answer."""
    types = [*schema.types, BIGINT]  # the last type is that of the row's number
    decode = groups_decoder([types[ordinal] for ordinal in columns])

    def read(answer: bytes | memoryview, keys: int) -> list[list[RowValues]]:
        if answer == BEYOND:
            raise OverflowError("a date or timestamp beyond Python's years")
        if answer == TOO_MANY:
            raise TooManyRows
        groups = decode(answer)
        if len(groups) != keys:
            raise malformed("lookup's answer", f"there are rows for {len(groups)} keys, not for {keys}")
        return groups

    return read


def found(share: TableShare, question: Lookup) -> bytes:
    """Return the encoded answer to the lookup ``question``, from the rows of ``share``. Raises
    OperationalError for a question that doesn't fit the share."""
    by, columns = question.by, question.columns
    path = share.path(by, columns) if question.numbered or len(share.schema) not in columns else None
    if path is None:
        raise malformed("lookup", f"the table has no access path to columns {columns} by {by}")
    keys = share.facts.get(("keys", by), lambda: _keys_decoder(share.schema, by))(question.keys)
    try:
        return encode_rows(path.find(keys))
    except (OverflowError, ValueError):
        return BEYOND
    except TooManyRows:
        return TOO_MANY


def _keys_decoder(schema: pa.Schema, by: tuple[int, ...]) -> Callable[[msgspec.Raw], list[Key]]:
    return rows_decoder([schema.field(ordinal).type for ordinal in by])
