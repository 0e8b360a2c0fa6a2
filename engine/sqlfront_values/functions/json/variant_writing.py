"""Columns of variants as JSON texts, as :mod:`sqlfront_values.variants.texts` writes single variants.

Objects with the same fields are written together, each field as a column of texts; so are the elements of all
arrays. Values of types that JSON doesn't have are left to the rows."""

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, scalar
from sqlfront_values.casts.formatting import decimal_to_string, float_to_string, integral_to_string
from sqlfront_values.columns.json_escapes import escaped
from sqlfront_values.columns.lists import put_together
from sqlfront_values.types import BIGINT, BOOLEAN, DOUBLE, STRING, decimal, physical
from sqlfront_values.variants import layout
from sqlfront_values.variants.columns import (
    Integers,
    OddVariantsError,
    VariantParts,
    heads_of,
    type_of,
)
from sqlfront_values.variants.reading import Type
from sqlfront_values.variants.texts import quoted

_JOIN: Final = pc.function("binary_join_element_wise", "JoinOptions", null_handling="emit_null")
_JOIN_LISTS: Final = pc.function("binary_join")
_TEXTS: Final = pa.list_(STRING)
_EMPTY: Final = scalar("", STRING)
_COMMA: Final = scalar(",", STRING)
#: Objects on average that have the same fields, below which rows are written one by one.
_FEW_ALIKE: Final = 16


def column_texts(parts: VariantParts) -> pa.Array:
    """Return the JSON texts of values in variants, in their order. Raises OddVariantsError, also for values
    that JSON doesn't have, such as dates."""
    pieces: list[tuple[Integers, pa.Array]] = []
    for kind in {type_of(head) for head in np.unique(parts.heads).tolist()}:
        chosen = np.flatnonzero(np.isin(parts.heads, heads_of(kind)))
        pieces += _of_one_type(parts if len(chosen) == len(parts.rows) else parts.only(chosen), kind, chosen)
    return _in_order(pieces, len(parts.rows))


def _in_order(pieces: list[tuple[Integers, pa.Array]], length: int) -> pa.Array:
    """Return a column of ``length`` texts, which has those of each piece at the piece's places."""
    if not pieces:
        return pa.nulls(length, STRING)
    if len(pieces) == 1:
        return pieces[0][1]
    order = np.empty(length, np.int64)
    order[np.concatenate([places for places, _ in pieces])] = np.arange(length)
    return pa.concat_arrays([texts for _, texts in pieces]).take(from_numpy(order, BIGINT))


def _of_one_type(parts: VariantParts, kind: Type, places: Integers) -> list[tuple[Integers, pa.Array]]:
    """Return the texts of values of one type, which have the ``places`` among others, as pieces of these."""
    match kind:
        case Type.OBJECT:
            return [(places[rows], texts) for rows, texts in _objects(parts)]
        case Type.ARRAY:
            entries = parts.entries()
            items = column_texts(entries.flat())
            lists = put_together(_TEXTS, items, entries.counts)
            return [(places, _joined(["[", _JOIN_LISTS.call([lists, _COMMA]), "]"]))]
        case Type.DECIMAL:
            numbers, scales = parts.decimals()
            return [
                (places[scales == scale], _decimals(numbers[scales == scale], scale))
                for scale in np.unique(scales).tolist()
            ]
        case _:
            return [(places, _atoms(parts, kind))]


def _decimals(numbers: Integers, scale: int) -> pa.Array:
    kind = decimal(18, scale)
    return decimal_to_string(kind)(from_numpy(numbers, physical(kind)))


def _atoms(parts: VariantParts, kind: Type) -> pa.Array:
    match kind:
        case Type.NULL:
            return pa.repeat(scalar("null", STRING), len(parts.rows))
        case Type.BOOLEAN:
            return integral_to_string(from_numpy(parts.heads >> 2 == layout.TRUE, BOOLEAN))
        case Type.LONG:
            return integral_to_string(from_numpy(parts.integers(), BIGINT))
        case Type.STRING:
            return _joined(['"', escaped(parts.texts(), quoted), '"'])
        case Type.DOUBLE if np.isfinite(numbers := parts.numbers("<f8")).all():
            return float_to_string(DOUBLE)(from_numpy(numbers, DOUBLE))
        case _:
            raise OddVariantsError


def _objects(parts: VariantParts) -> list[tuple[Integers, pa.Array]]:
    """Return the texts of objects, by the groups of objects with the same fields."""
    entries = parts.entries()
    most = int(entries.counts.max())
    keys = [parts.names, entries.counts]
    keys += [np.where(place < entries.counts, entries.ids(place), -1) for place in range(most)]
    groups = _groups(np.stack(keys, axis=1))
    if len(groups) > max(1, len(parts.rows) // _FEW_ALIKE):
        raise OddVariantsError
    pieces = []
    for rows in groups:
        alike = parts if len(groups) == 1 else parts.only(rows)
        fields = alike.entries()
        names = parts.dictionaries[int(alike.names[0])]
        members: list[pa.Array | str] = []
        for place in range(int(fields.counts[0])):
            number = int(fields.ids(place)[0])
            if number >= len(names):
                raise OddVariantsError
            values = column_texts(fields.children(np.full(len(rows), place)))
            members += [f"{',' if place else ''}{quoted(names[number])}:", values]
        texts = _joined(["{", *members, "}"]) if members else pa.repeat(scalar("{}", STRING), len(rows))
        pieces.append((rows, texts))
    return pieces


def _groups(keys: npt.NDArray[np.int64]) -> list[Integers]:
    """Return the numbers of the lines with equal keys, for each key."""
    if np.all(keys == keys[0]):
        return [np.arange(len(keys))]
    _, numbers = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.cumsum(np.bincount(numbers))[:-1])


def _joined(parts: list[pa.Array | str]) -> pa.Array:
    return _JOIN.call([*(scalar(part, STRING) if isinstance(part, str) else part for part in parts), _EMPTY])
