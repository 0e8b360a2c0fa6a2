"""Evaluation of functions over dictionary-encoded strings: once per distinct value, then copied to the rows
by their codes."""

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, numpy_view, scalar, valid_mask
from sqlfront_values.arrow.forms import Datum, is_scalar, plain

_ENCODE: Final = pc.get_function("dictionary_encode")
_COALESCE: Final = pc.get_function("coalesce")
_EQUAL: Final = pc.get_function("equal")
_INVERT: Final = pc.get_function("invert")
_TAKE: Final = pc.get_function("array_take")
_INT32: Final = pa.int32()
_BOOL: Final = pa.bool_()


def over_dictionary(
    kernel: Callable[[tuple[Datum, ...], int], Datum],
    arguments: tuple[Datum, ...],
    length: int,
    data_type: pa.DataType,
    null_propagating: bool,
) -> Datum:
    """Call the kernel on the values of a dictionary argument instead of on all rows, and copy the results to
    the rows.

    This is possible if one argument is a dictionary array with fewer values than the ``length`` rows, and all
    others are constants; else the kernel is called on the decoded rows. ``data_type`` is the logical type of
    the result. If the kernel is not ``null_propagating`` (null in, null out), null is passed to it as one
    more value of the dictionary.
    """
    position = _only_array(arguments)
    if position is None:
        return kernel(tuple(map(plain, arguments)), length)
    encoded = arguments[position]
    values, codes = encoded.dictionary, encoded.indices
    if len(values) >= length:
        return kernel(tuple(map(plain, arguments)), length)
    if not null_propagating and codes.null_count:
        # Add null to the values, so that the kernel decides the result of null.
        codes = _COALESCE.call([codes, scalar(len(values), _INT32)])
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
    result = kernel((*arguments[:position], values, *arguments[position + 1 :]), len(values))
    return spread(result, codes, data_type)


def _only_array(arguments: tuple[Datum, ...]) -> int | None:
    """Return the position of the only argument that is not a constant if the argument is a dictionary array;
    else None."""
    position = None
    for index, argument in enumerate(arguments):
        if is_scalar(argument):
            continue
        if position is not None or not isinstance(argument, pa.DictionaryArray):
            return None
        position = index
    return position


def spread(values: Datum, codes: pa.Array, data_type: pa.DataType) -> Datum:
    """Return for each of the ``codes``, which are positions in ``values``, the value at this position, null
    where the code is null. A scalar as ``values`` is returned as it is. ``data_type`` is the logical type of
    the values: strings become a dictionary array. Booleans of many rows are computed by comparing codes where
    that is faster."""
    if is_scalar(values):
        return values
    if values.type.id == _BOOL.id:
        return _spread_booleans(values, codes)
    if pa.types.is_string(data_type):
        encoded = _ENCODE.call([values])
        return pa.DictionaryArray.from_arrays(_TAKE.call([encoded.indices, codes]), encoded.dictionary)
    return _TAKE.call([values, codes])


#: Rows below which one kernel costs less than a look at the table of values.
_FEW_ROWS: Final = 1024


def _spread_booleans(values: pa.Array, codes: pa.Array) -> pa.Array:
    if values.null_count or len(values) == 0 or len(codes) < _FEW_ROWS:
        return _TAKE.call([values, codes])
    table = numpy_view(values).astype(np.bool_, copy=False)
    hits = np.flatnonzero(table)
    if len(hits) == 1:
        return _EQUAL.call([codes, scalar(int(hits[0]), _INT32)])
    if len(hits) == len(table) - 1:
        return _INVERT.call([_EQUAL.call([codes, scalar(int(np.flatnonzero(~table)[0]), _INT32)])])
    # Codes under nulls are undefined, so clip them.
    return from_numpy(
        np.take(table, numpy_view(codes).astype(np.int32, copy=False), mode="clip"), _BOOL, valid_mask(codes)
    )
