"""Building of maps from keys and values, and lookup of values by keys."""

from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import valid_mask
from sqlfront_values.casts import compile_cast
from sqlfront_values.columns.batches import Integers, Mask, concat_columns, gather, row_indices
from sqlfront_values.columns.encoding import Codes, canonical, combine, encode
from sqlfront_values.columns.grouping import group_codes
from sqlfront_values.columns.lists import entries, outer, put_together, take_apart
from sqlfront_values.errors import DatabaseError, spark_error
from sqlfront_values.settings import Settings
from sqlfront_values.types import STRING

#: Behind the names of functions that make maps: the last of equal keys counts
#: (``spark.sql.mapKeyDedupPolicy`` = LAST_WIN). SQL can't call functions by these names.
KEEPING_LAST: Final = "keeping last"
#: The functions that make maps, which have such relatives.
MAP_MAKERS: Final = frozenset(
    {"map", "map_concat", "map_from_arrays", "map_from_entries", "str_to_map", "transform_keys"}
)


def make_map(
    data_type: pa.MapType,
    keys: pa.Array,
    items: pa.Array,
    lengths: Integers,
    valid: Mask | None = None,
    *,
    as_given: bool = False,
    keeps_last: bool = False,
) -> pa.Array:
    """Build a map column of ``data_type``. Row ``i`` has the next ``lengths[i]`` entries of ``keys`` and
    ``items``; rows where ``valid`` is false are null (None = no nulls). Keys of -0.0 become 0.0, unless
    ``as_given``.

    Raises NULL_MAP_KEY for a null among the keys, DUPLICATED_MAP_KEY if a row has equal keys (NaN equals NaN,
    -0.0 equals 0.0). If ``keeps_last`` (``spark.sql.mapKeyDedupPolicy`` = LAST_WIN), equal keys raise no
    error: the first of them gets the value of the last.
    """
    if keys.null_count:
        raise spark_error("NULL_MAP_KEY", "Cannot use null as map key.")
    if len(keys) > 1 and lengths.max() > 1:
        rows = np.repeat(np.arange(len(lengths)), lengths)
        codes = combine([Codes(rows, len(lengths)), encode(keys)], len(keys))
        groups = group_codes(codes)
        if groups.size < len(keys):
            if not keeps_last:
                raise _duplicated(keys, groups.ids)
            firsts, lasts, as_given = *_ends(groups.ids), False  # Spark builds such a map anew
            keys, items = gather(keys, row_indices(firsts)), gather(items, row_indices(lasts))
            lengths = np.bincount(rows[firsts], minlength=len(lengths)).astype(np.int64)
    if not as_given and pa.types.is_floating(keys.type):  # Spark does not change keys inside of arrays
        keys = canonical(keys)
    return put_together(data_type, entries(data_type, keys, items), lengths, valid)


def _ends(groups: Integers) -> tuple[Integers, Integers]:
    """Return the positions of each group's first and last member, in the order of the first members."""
    _, firsts = np.unique(groups, return_index=True)
    _, from_end = np.unique(groups[::-1], return_index=True)
    order = np.argsort(firsts)
    return firsts[order], (len(groups) - 1 - from_end)[order]


def _duplicated(keys: pa.Array, groups: Integers) -> DatabaseError:
    _, firsts = np.unique(groups, return_index=True)
    again = np.ones(len(keys), np.bool_)
    again[firsts] = False
    key = outer(keys.slice(int(np.flatnonzero(again)[0]), 1))
    text = compile_cast(keys.type, STRING, safe=False, settings=Settings())(key)[0].as_py()
    return spark_error(
        "DUPLICATED_MAP_KEY", f"Duplicate map key {text} was found, please check the input data."
    )


def key_places(maps: pa.Array, keys: pa.Array) -> tuple[Integers, Mask]:
    """Look up one key in the map of each row. ``keys`` has the row's key, in the form that keys have inside
    of ``maps`` (:func:`~sqlfront_values.columns.lists.inner`).

    Returns the position of the found entry among the map column's entries (0 if the map lacks the key), and
    whether the map has the key."""
    parts = take_apart(maps)
    flat, rows = parts.flat().field(0), parts.rows()
    codes = encode(concat_columns([flat, keys])).values
    wanted = codes[len(flat) :]
    matches = np.flatnonzero(codes[: len(flat)] == wanted[rows])
    places, found = np.zeros(len(maps), np.int64), np.zeros(len(maps), np.bool_)
    hit = rows[matches]
    places[hit] = parts.starts[hit] + matches - parts.firsts()[hit]
    found[hit] = True
    known = valid_mask(keys)
    return places, found if known is None else found & known


def map_values(maps: pa.Array, keys: pa.Array) -> pa.Array:
    """Return for each row the value of the row's key in the row's map, null if the map lacks the key.
    ``keys`` and the result have the form that keys and values have inside of ``maps``."""
    places, found = key_places(maps, keys)
    return gather(maps.items, row_indices(places, found))
