"""Conversion of a file's nested columns into columns of a table whose nested types differ: each part is
converted by itself."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import numpy_view, scalar, valid_mask
from sqlfront_values.columns.lists import entries, put_together, take_apart
from sqlfront_values.types import physical

#: A function that converts a file's array into the physical form of a wanted type.
Conversion = Callable[[pa.Array], pa.Array]


def converted_struct(
    array: pa.Array, wanted: pa.DataType, parts: Sequence[tuple[int, Conversion] | None]
) -> pa.Array:
    """Convert the struct column ``array`` of a file into the physical form of ``wanted``. ``parts``: for each
    field of ``wanted``, the field's index in ``array`` and its conversion; None = the file lacks the field,
    which becomes null."""
    children, form = array.flatten(), physical(wanted)
    fields = [form.field(index) for index in range(form.num_fields)]
    columns = [
        pa.nulls(len(array), field.type) if part is None else part[1](children[part[0]]).cast(field.type)
        for field, part in zip(fields, parts, strict=True)
    ]
    return pa.StructArray.from_arrays(columns, fields=fields, mask=pc.is_null(array))


def converted_list(array: pa.Array, wanted: pa.DataType, element: Conversion) -> pa.Array:
    """Convert the list column ``array`` of a file, of any of Arrow's list types, into the physical form of
    ``wanted``. ``element`` converts the lists' elements."""
    known = pc.fill_null(pc.list_value_length(array), scalar(0, pa.int32()))
    lengths = numpy_view(known).astype(np.int64, copy=False)
    form = physical(wanted)
    return put_together(form, element(array.flatten()).cast(form.value_type), lengths, valid_mask(array))


def converted_map(array: pa.Array, wanted: pa.DataType, key: Conversion, item: Conversion) -> pa.Array:
    """Convert the map column ``array`` of a file into the physical form of ``wanted``. ``key`` and ``item``
    convert the maps' keys and values."""
    lists, form = take_apart(array), physical(wanted)
    keys, items = lists.flat().flatten()
    both = entries(form, key(keys).cast(form.key_type), item(items).cast(form.item_type))
    return put_together(form, both, lists.lengths, lists.valid)
