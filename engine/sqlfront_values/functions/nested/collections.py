"""Functions that build arrays, structs and maps, and read their elements."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, valid_mask
from sqlfront_values.arrow.forms import Datum, full_array
from sqlfront_values.columns.batches import Integers, Mask, concat_columns, gather, row_indices
from sqlfront_values.columns.lists import both_valid, inner, outer, put_together, take_apart
from sqlfront_values.errors import DatabaseError, spark_error
from sqlfront_values.functions.nested.array_shapes import integers_of, zero_index
from sqlfront_values.functions.nested.map_building import KEEPING_LAST, make_map, map_values
from sqlfront_values.functions.registry import (
    Invocation,
    Kernel,
    Kind,
    PreparedKernel,
    ScalarFunction,
    Signature,
    register,
)
from sqlfront_values.functions.rowwise import columnar
from sqlfront_values.types import BIGINT, INT, STRING, VOID, map_type, physical

#: A function that makes the error for an index outside an array of that size.
Refuse = Callable[[int, int], DatabaseError]


# ---- building


def interleaved(columns: list[pa.Array], length: int) -> pa.Array:
    """Interleave columns of one type and ``length`` values each: the result has the first values of all
    columns, in the columns' order, then the second values, and so on. ``columns`` has at least one column."""
    if len(columns) == 1:
        return columns[0]
    order = np.arange(len(columns) * length).reshape(len(columns), length).T.ravel()
    return gather(concat_columns(columns), row_indices(order))


def _children(arguments: tuple[Datum, ...], length: int) -> list[pa.Array]:
    return [inner(full_array(argument, length)) for argument in arguments]


@columnar
def _array(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    length, kind = invocation.length, invocation.type
    if not arguments:
        return put_together(kind, pa.nulls(0, kind.value_type), np.zeros(length, np.int64))
    elements = interleaved(_children(arguments, length), length)
    return put_together(kind, elements, np.full(length, len(arguments), np.int64))


@columnar
def _struct(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    children = _children(arguments, invocation.length)
    return pa.Array.from_buffers(invocation.type, invocation.length, [None], children=children)


def _map(*, keeps_last: bool) -> Kernel:
    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        length, kind = invocation.length, invocation.type
        if not arguments:
            keys, items = pa.nulls(0, kind.key_type), pa.nulls(0, kind.item_type)
        else:
            children = _children(arguments, length)
            keys, items = interleaved(children[::2], length), interleaved(children[1::2], length)
        lengths = np.full(length, len(arguments) // 2, np.int64)
        return make_map(kind, keys, items, lengths, keeps_last=keeps_last)

    return kernel


# ---- reaching in


def _get_field(signature: Signature) -> PreparedKernel:
    name = signature.constants[1]
    assert name is not None
    place = signature.argument_types[0].get_field_index(name.as_py())

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        structs = arguments[0]
        if isinstance(structs, pa.Scalar):
            return _field(pa.repeat(structs, 1), place)[0]
        return _field(structs, place)

    return run


def _field(structs: pa.Array, place: int) -> pa.Array:
    return outer(_inner_field(structs, place))


def _inner_field(structs: pa.Array, place: int) -> pa.Array:
    """Return the values of a field, null where the struct is null, in the form that values have inside of a
    nested column."""
    child = structs.field(place)
    valid = valid_mask(structs)
    return child if valid is None else gather(child, row_indices(np.arange(len(child)), valid))


def _get_fields(signature: Signature) -> PreparedKernel:
    """Prepare the reading of a field of each element of an array of structs."""
    name = signature.constants[1]
    assert name is not None
    element = signature.argument_types[0].value_type
    place = element.get_field_index(name.as_py())
    kind = pa.list_(element.field(place).type)

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        structs = arguments[0]
        column = pa.repeat(structs, 1) if isinstance(structs, pa.Scalar) else structs
        lists = take_apart(column)
        made = put_together(physical(kind), _inner_field(lists.flat(), place), lists.lengths, lists.valid)
        return made[0] if isinstance(structs, pa.Scalar) else made

    return run


def _pick(elements: pa.Array, places: Integers, valid: Mask | None) -> pa.Array:
    if valid is not None:
        places = np.where(valid, places, 0)
    return outer(gather(elements, row_indices(places, valid)))


@columnar
def _get_item(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    return _element(arguments, invocation, _refuse_index)


@columnar
def _get(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    return _element(arguments, invocation, None)


def _element(arguments: tuple[Datum, ...], invocation: Invocation, refuse: Refuse | None) -> pa.Array:
    """Return the element of each array at an index from 0; null if the array or the index is null. For an
    index outside of the array, raise ``refuse(index, array's length)``; if ``refuse`` is None, the element is
    null."""
    lists = take_apart(full_array(arguments[0], invocation.length))
    index, known = integers_of(arguments[1], invocation.length)
    valid = both_valid(lists.valid, known)
    inside = (index >= 0) & (index < lists.lengths)
    if not inside.all():
        if refuse is not None:
            outside = np.flatnonzero(~inside if valid is None else ~inside & valid)
            if len(outside):
                row = outside[0]
                raise refuse(int(index[row]), int(lists.lengths[row]))
        valid = both_valid(valid, inside)
    return _pick(lists.elements, lists.starts + index, valid)


def _refuse_index(index: int, size: int) -> DatabaseError:
    return spark_error(
        "INVALID_ARRAY_INDEX",
        f"The index {index} is out of bounds. The array has {size} elements. Use the SQL function `get()` to"
        " tolerate accessing element at invalid index and return NULL instead.",
    )


@columnar
def _element_at(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    return _element(_from_zero(arguments, invocation), invocation, _refuse_position)


@columnar
def _try_element_at(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    return _element(_from_zero(arguments, invocation), invocation, None)


def _from_zero(arguments: tuple[Datum, ...], invocation: Invocation) -> tuple[Datum, ...]:
    """Return the arguments of :func:`_element` for a position from 1 or, counted from the end, from -1: the
    array, and the index from 0. A position before the first element becomes a negative index. Raises
    INVALID_INDEX_OF_ZERO."""
    column = full_array(arguments[0], invocation.length)
    position, known = integers_of(arguments[1], invocation.length)
    lists = take_apart(column)
    valid = both_valid(lists.valid, known)
    if ((position == 0) if valid is None else (position == 0) & valid).any():
        raise zero_index()
    # A negative position before the front stays unchanged, so that the error can name it.
    behind = position + lists.lengths
    index = np.where(position > 0, position - 1, np.where(behind >= 0, behind, position))
    return column, from_numpy(index, BIGINT, known)


def _refuse_position(index: int, size: int) -> DatabaseError:
    return spark_error(
        "INVALID_ARRAY_INDEX_IN_ELEMENT_AT",
        f"The index {index + 1 if index >= 0 else index} is out of bounds. The array has {size} elements. Use"
        " `try_element_at` to tolerate accessing element at invalid index and return NULL instead.",
    )


@columnar
def _get_value(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    maps, keys = (full_array(argument, invocation.length) for argument in arguments)
    return outer(map_values(maps, inner(keys)))


@columnar
def _size(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    column = arguments[0]
    if column.type == VOID:
        return pa.nulls(invocation.length, INT)
    lists = take_apart(column)
    return from_numpy(lists.lengths.astype(np.int32), INT, lists.valid)


def _struct_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return pa.struct([(f"col{place}", kind) for place, kind in enumerate(types, 1)])


def _array_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return pa.list_(types[0] if types else VOID)


def _map_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return map_type(*(types[:2] or (VOID, VOID)))


def _field_type(types: tuple[pa.DataType, ...], constants: tuple[object, ...]) -> pa.DataType:
    return types[0].field(str(constants[0])).type


def _fields_type(types: tuple[pa.DataType, ...], constants: tuple[object, ...]) -> pa.DataType:
    return pa.list_(types[0].value_type.field(str(constants[0])).type)


register(
    ScalarFunction(
        "array",
        (Kind.COMMON,),
        _array_type,
        _array,
        optional=1,
        variadic=True,
        null_propagating=False,
        elementwise_values=False,
        example=("array(1, NULL, 3)", "[1, None, 3]"),
    ),
    ScalarFunction(
        "struct",
        (Kind.ANY,),
        _struct_type,
        _struct,
        optional=1,
        variadic=True,
        null_propagating=False,
        elementwise_values=False,
        example=("struct(1, 'a')", "{'col1': 1, 'col2': 'a'}"),
    ),
    *(
        ScalarFunction(
            f"map {KEEPING_LAST}" if keeps_last else "map",
            (Kind.ANY,),
            _map_type,
            _map(keeps_last=keeps_last),
            optional=1,
            variadic=True,
            null_propagating=False,
            elementwise_values=False,
            can_fail=True,
            example=None if keeps_last else ("map('a', 1)", "[('a', 1)]"),
        )
        for keeps_last in (False, True)
    ),
    ScalarFunction(
        "get_field",
        (Kind.STRUCT, STRING),
        VOID,
        prepare=_get_field,
        elementwise_values=False,
        constants=(1,),
        constant_result=_field_type,
        example=("named_struct('a', 1).a", "1"),
    ),
    ScalarFunction(
        "get_fields",
        (Kind.ARRAY, STRING),
        VOID,
        prepare=_get_fields,
        elementwise_values=False,
        constants=(1,),
        constant_result=_fields_type,
        example=("array(named_struct('a', 1)).a", "[1]"),
    ),
    ScalarFunction(
        "get_item",
        (Kind.ARRAY, Kind.INTEGRAL),
        lambda types: types[0].value_type,
        _get_item,
        null_propagating=False,
        can_fail=True,
        example=("array(1, 2)[1]", "2"),
    ),
    ScalarFunction(
        "get_value",
        (Kind.MAP, Kind.ANY),
        lambda types: types[0].item_type,
        _get_value,
        null_propagating=False,
        elementwise_values=False,
        example=("map('a', 1)['a']", "1"),
    ),
    ScalarFunction(
        "get",
        (Kind.ARRAY, INT),
        lambda types: types[0].value_type,
        _get,
        null_propagating=False,
        example=("get(array(1, 2), 2)", "None"),
    ),
    ScalarFunction(
        "element_at",
        (Kind.ARRAY, INT),
        lambda types: types[0].value_type,
        _element_at,
        null_propagating=False,
        can_fail=True,
        example=("element_at(array(1, 2), -1)", "2"),
    ),
    ScalarFunction(
        "try_element_at",
        (Kind.ARRAY, INT),
        lambda types: types[0].value_type,
        _try_element_at,
        null_propagating=False,
        can_fail=True,
        example=("try_element_at(array(1, 2), 3)", "None"),
    ),
    *(
        ScalarFunction(name, (kind,), INT, _size, example=(f"{name}(array(1, NULL))", "2"))
        for name, kind in (
            ("size", Kind.COLLECTION),
            ("cardinality", Kind.COLLECTION),
            ("array_size", Kind.ARRAY),
        )
    ),
)
