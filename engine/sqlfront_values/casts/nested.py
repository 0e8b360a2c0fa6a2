"""Casts of arrays, maps and structs: element by element."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow.arrays import bitmap, from_values, valid_mask
from sqlfront_values.casts.numbers import Convert
from sqlfront_values.columns.lists import inner, outer
from sqlfront_values.types import STRING, map_type

#: A function that makes the cast between two logical types.
MakeConvert = Callable[[pa.DataType, pa.DataType], Convert]


def _inside(make: MakeConvert, source: pa.DataType, target: pa.DataType) -> Convert:
    """Make the cast from ``source`` to ``target`` for children of nested arrays, in which decimals have their
    logical form; ``make`` makes the same cast for arrays in physical form."""
    convert = make(source, target)
    return lambda values: inner(convert(outer(values)))


def _validity(values: pa.Array) -> pa.Buffer | None:
    return bitmap(valid_mask(values))


def array_to_array(source: pa.DataType, target: pa.DataType, make: MakeConvert) -> Convert:
    """Make the cast of arrays that casts each element; ``make(source, target)`` makes the cast of
    elements."""
    elements = _inside(make, source.value_type, target.value_type)

    def convert(values: pa.Array) -> pa.Array:
        offsets, child = _offsets(values), values.values
        first, last = int(offsets[0]), int(offsets[-1])
        cast = elements(child.slice(first, last - first))
        result = pa.list_(pa.field(target.value_field.name, cast.type))
        buffers = [_validity(values), pa.py_buffer(offsets - first)]
        return pa.Array.from_buffers(result, len(values), buffers, children=[cast])

    return convert


def map_to_map(source: pa.DataType, target: pa.DataType, make: MakeConvert) -> Convert:
    """Make the cast of maps that casts each key and each value; ``make(source, target)`` makes either
    cast."""
    keys = _inside(make, source.key_type, target.key_type)
    items = _inside(make, source.item_type, target.item_type)

    def convert(values: pa.Array) -> pa.Array:
        offsets = _offsets(values)
        first, last = int(offsets[0]), int(offsets[-1])
        new_keys = keys(values.keys.slice(first, last - first))
        new_items = items(values.items.slice(first, last - first))
        result = map_type(new_keys.type, new_items.type)
        entries = pa.StructArray.from_arrays(
            [new_keys, new_items], fields=[result.key_field, result.item_field]
        )
        buffers = [_validity(values), pa.py_buffer(offsets - first)]
        return pa.Array.from_buffers(result, len(values), buffers, children=[entries])

    return convert


def struct_to_struct(source: pa.DataType, target: pa.DataType, make: MakeConvert) -> Convert:
    """Make the cast of structs that casts each field to the field of ``target`` at the same position; the
    names are the target's. ``make(source, target)`` makes the cast of a field."""
    fields = [
        _inside(make, source.field(index).type, target.field(index).type)
        for index in range(target.num_fields)
    ]

    def convert(values: pa.Array) -> pa.Array:
        # Fields are null where their struct is null, so that a cast refuses no value under a null struct.
        children = [cast(child) for cast, child in zip(fields, values.flatten(), strict=True)]
        names = [pa.field(target.field(index).name, child.type) for index, child in enumerate(children)]
        valid = valid_mask(values)
        mask = None if valid is None else _nulls_of(valid)
        return pa.StructArray.from_arrays(children, fields=names, mask=mask)

    return convert


def _nulls_of(valid: npt.NDArray[np.bool_]) -> pa.Array:
    return pa.Array.from_buffers(
        pa.bool_(), len(valid), [None, pa.py_buffer(np.packbits(~valid, bitorder="little"))]
    )


def _offsets(values: pa.Array) -> npt.NDArray[np.int32]:
    return (
        np.frombuffer(values.buffers()[1], np.int32, len(values) + 1, 4 * values.offset)
        if len(values)
        else np.zeros(1, np.int32)
    )


def nested_to_string(source: pa.DataType, make: MakeConvert) -> Convert:
    """Make the cast of arrays, maps or structs to strings ``[1, null]``, ``{key -> value}``, ``{1, null}``;
    ``make(source, target)`` makes the cast of the elements to strings."""
    if pa.types.is_map(source):
        keys, items = _inside(make, source.key_type, STRING), _inside(make, source.item_type, STRING)

        def convert(values: pa.Array) -> pa.Array:
            offsets = _offsets(values)
            key_texts, item_texts = _texts(keys(values.keys)), _texts(items(values.items))
            pairs = [f"{key} -> {item}" for key, item in zip(key_texts, item_texts, strict=True)]
            return _joined(values, offsets, pairs, "{", "}")

        return convert
    if pa.types.is_struct(source):
        fields = [_inside(make, source.field(index).type, STRING) for index in range(source.num_fields)]

        def convert_struct(values: pa.Array) -> pa.Array:
            columns = [_texts(cast(values.field(index))) for index, cast in enumerate(fields)]
            valid = valid_mask(values)
            rows = zip(*columns, strict=True) if columns else iter([()] * len(values))
            return from_values(
                [
                    "{" + ", ".join(row) + "}" if valid is None or valid[index] else None
                    for index, row in enumerate(rows)
                ],
                STRING,
            )

        return convert_struct
    elements = _inside(make, source.value_type, STRING)
    return lambda values: _joined(values, _offsets(values), _texts(elements(values.values)), "[", "]")


def _texts(strings: pa.Array) -> list[str]:
    return ["null" if text is None else text for text in strings.to_pylist()]


def _joined(
    values: pa.Array, offsets: npt.NDArray[np.int32], texts: list[str], left: str, right: str
) -> pa.Array:
    valid = valid_mask(values)
    bounds = offsets.tolist()
    return from_values(
        [
            left + ", ".join(texts[bounds[row] : bounds[row + 1]]) + right
            if valid is None or valid[row]
            else None
            for row in range(len(values))
        ],
        STRING,
    )
