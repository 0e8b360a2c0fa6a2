"""Functions that make, join and split maps: map_from_arrays, map_concat, map_keys, str_to_map and others."""

from typing import Final

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from sqlfront_values.arrow.arrays import from_numpy, from_values, valid_mask
from sqlfront_values.arrow.forms import Datum, full_array
from sqlfront_values.columns.batches import Mask, concat_columns, gather, row_indices
from sqlfront_values.columns.lists import both_valid, inner, put_together, take_apart
from sqlfront_values.errors import DataError
from sqlfront_values.functions.nested.array_shapes import within
from sqlfront_values.functions.nested.map_building import KEEPING_LAST, key_places, make_map
from sqlfront_values.functions.registry import Invocation, Kernel, Kind, ScalarFunction, register
from sqlfront_values.functions.rowwise import columnar
from sqlfront_values.functions.text.patterns.regex_matching import find_all
from sqlfront_values.functions.text.patterns.regular_expressions import pattern_of
from sqlfront_values.types import BOOLEAN, STRING, map_type

_STRING_MAP: Final = pa.map_(STRING, STRING)


# ---- making


def _map_from_arrays(*, keeps_last: bool) -> Kernel:
    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        keys, items = (take_apart(full_array(argument, invocation.length)) for argument in arguments)
        valid = both_valid(keys.valid, items.valid)
        keys, items = within(keys, valid), within(items, valid)
        if not np.array_equal(keys.lengths, items.lengths):
            raise DataError("The key array and value array of MapData must have the same length.")
        return make_map(
            invocation.type,
            keys.flat(),
            items.flat(),
            keys.lengths,
            valid,
            as_given=True,
            keeps_last=keeps_last,
        )

    return kernel


def _map_from_entries(*, keeps_last: bool) -> Kernel:
    """Compute ``map_from_entries``: the map of each array of structs of key and value; null if one of the
    structs is null."""

    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        lists = take_apart(arguments[0])
        pairs = lists.flat()
        valid = lists.valid
        present = valid_mask(pairs)
        if present is not None:
            complete = np.ones(len(lists.lengths), np.bool_)
            complete[lists.rows()[~present]] = False
            valid = both_valid(valid, complete)
            lists = within(lists, valid)
            pairs = lists.flat()
        return make_map(
            invocation.type, pairs.field(0), pairs.field(1), lists.lengths, valid, keeps_last=keeps_last
        )

    return kernel


def _map_concat(*, keeps_last: bool) -> Kernel:
    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        length, kind = invocation.length, invocation.type
        if not arguments:
            nothing = pa.nulls(0, STRING)
            return make_map(kind, nothing, nothing, np.zeros(length, np.int64), keeps_last=keeps_last)
        columns = [take_apart(full_array(argument, length)) for argument in arguments]
        valid: Mask | None = None
        for maps in columns:
            valid = both_valid(valid, maps.valid)
        columns = [within(maps, valid) for maps in columns]
        order = np.argsort(np.concatenate([maps.rows() for maps in columns]), kind="stable")
        pairs = gather(concat_columns([maps.flat() for maps in columns]), row_indices(order))
        lengths = np.sum([maps.lengths for maps in columns], axis=0)
        return make_map(kind, pairs.field(0), pairs.field(1), lengths, valid, keeps_last=keeps_last)

    return kernel


def _str_to_map(*, keeps_last: bool) -> Kernel:
    """Compute ``str_to_map``: split each text into pairs by a regular expression (by default ``,``), and each
    pair into key and value by another (by default ``:``). A pair without a value gets null."""

    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        length = invocation.length
        columns = [full_array(argument, length).to_pylist() for argument in arguments]
        columns += [[default] * length for default in (",", ":")[len(columns) - 1 :]]
        keys: list[object] = []
        items: list[object] = []
        lengths = np.zeros(length, np.int64)
        valid = np.ones(length, np.bool_)
        for row, (text, pair_end, key_end) in enumerate(zip(*columns, strict=True)):
            if text is None or pair_end is None or key_end is None:
                valid[row] = False
                continue
            parts = _split(text, pair_end, -1)
            lengths[row] = len(parts)
            for part in parts:
                key, *item = _split(part, key_end, 2)
                keys.append(key)
                items.append(item[0] if item else None)
        return make_map(
            invocation.type,
            from_values(keys, STRING),
            from_values(items, STRING),
            lengths,
            valid,
            keeps_last=keeps_last,
        )

    return kernel


def _split(text: str, pattern: str, limit: int) -> list[str]:
    """Split a text by a regular expression as Spark's ``UTF8String.split`` does: as Java, except that empty
    parts at the end stay. A positive ``limit`` is the greatest number of parts."""
    if not pattern:
        return list(text) or [""] if limit < 0 else [text[:1], text[1:]] if len(text) > 1 else [text]
    java = pattern_of("str_to_map", pattern)
    parts: list[str] = []
    end = 0
    for found in find_all(java, text):
        if found.end() == 0:
            continue
        if limit > 0 and len(parts) == limit - 1:
            break
        parts.append(text[end : found.start()])
        end = found.end()
    return [*parts, text[end:]]


# ---- taking apart


def _part(place: int) -> Kernel:
    """Make the kernel of map_keys (``place`` 0) or map_values (1), which returns an array per map."""

    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        maps = take_apart(arguments[0])
        return put_together(invocation.type, maps.flat().field(place), maps.lengths, maps.valid)

    return kernel


@columnar
def _map_entries(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    maps = take_apart(arguments[0])
    pairs = maps.flat()
    kind = invocation.type.value_type
    pairs = pa.Array.from_buffers(kind, len(pairs), [None], children=[pairs.field(0), pairs.field(1)])
    return put_together(invocation.type, pairs, maps.lengths, maps.valid)


@columnar
def _map_contains_key(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    maps, keys = (full_array(argument, invocation.length) for argument in arguments)
    _, found = key_places(maps, inner(keys))
    return from_numpy(found, BOOLEAN, both_valid(valid_mask(maps), valid_mask(keys)))


# ---- entries


def _from_arrays_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return map_type(types[0].value_type, types[1].value_type)


def _from_entries_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    pair = types[0].value_type
    return map_type(pair.field(0).type, pair.field(1).type)


def _entries_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return pa.list_(pa.struct([("key", types[0].key_type), ("value", types[0].item_type)]))


#: The functions that make maps.
_MAKERS: Final = (
    ScalarFunction(
        "map_from_arrays",
        (Kind.ARRAY, Kind.ARRAY),
        _from_arrays_type,
        _map_from_arrays(keeps_last=False),
        can_fail=True,
        example=("map_from_arrays(array(1), array('a'))", "[(1, 'a')]"),
    ),
    ScalarFunction(
        "map_from_entries",
        (Kind.ARRAY,),
        _from_entries_type,
        _map_from_entries(keeps_last=False),
        null_propagating=False,
        can_fail=True,
        example=("map_from_entries(array(struct(1, 'a')))", "[(1, 'a')]"),
    ),
    ScalarFunction(
        "map_concat",
        (Kind.COMMON,),
        lambda types: types[0] if types else _STRING_MAP,
        _map_concat(keeps_last=False),
        optional=1,
        variadic=True,
        can_fail=True,
        example=("map_concat(map(1, 'a'), map(2, 'b'))", "[(1, 'a'), (2, 'b')]"),
    ),
    ScalarFunction(
        "str_to_map",
        (STRING, STRING, STRING),
        _STRING_MAP,
        _str_to_map(keeps_last=False),
        optional=2,
        elementwise_values=False,
        can_fail=True,
        exact=(0, 1, 2),
        example=("str_to_map('a:1,b')", "[('a', '1'), ('b', None)]"),
    ),
)
#: The kernels of the same functions that keep the last of equal keys instead of raising an error.
_KEEPING: Final = {
    "map_from_arrays": _map_from_arrays,
    "map_from_entries": _map_from_entries,
    "map_concat": _map_concat,
    "str_to_map": _str_to_map,
}

register(
    *_MAKERS,
    *(
        replace(
            entry,
            name=f"{entry.name} {KEEPING_LAST}",
            kernel=_KEEPING[entry.name](keeps_last=True),
            example=None,
        )
        for entry in _MAKERS
    ),
    ScalarFunction(
        "map_keys",
        (Kind.MAP,),
        lambda types: pa.list_(types[0].key_type),
        _part(0),
        example=("map_keys(map(1, 'a'))", "[1]"),
    ),
    ScalarFunction(
        "map_values",
        (Kind.MAP,),
        lambda types: pa.list_(types[0].item_type),
        _part(1),
        example=("map_values(map(1, 'a'))", "['a']"),
    ),
    ScalarFunction(
        "map_entries",
        (Kind.MAP,),
        _entries_type,
        _map_entries,
        example=("map_entries(map(1, 'a'))", "[{'key': 1, 'value': 'a'}]"),
    ),
    ScalarFunction(
        "map_contains_key",
        (Kind.COMMON_MAP, Kind.COMMON),
        BOOLEAN,
        _map_contains_key,
        elementwise_values=False,
        example=("map_contains_key(map(1, 'a'), 1)", "True"),
    ),
)
