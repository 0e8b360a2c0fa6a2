"""Binding of calls over arrays and maps whose result depends on whether the argument is an array or a map, or
on column names."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.expressions.arguments import (
    CallBinders,
    call_function,
    coerce,
    function_name,
    no_array_and_element,
    shown_argument,
)
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder, unify
from sqlfront_planner.binder.trees.handlers import failure, unsupported
from sqlfront_planner.expressions.closures import LambdaVariable
from sqlfront_values import types
from sqlfront_values.errors import Error
from sqlfront_values.expressions import Call, Expr, Literal
from sqlfront_values.functions.registry import Kind
from sqlfront_values.types import BIGINT, is_decimal, is_integral

_ORDINALS: Final = {0: "first", 1: "second"}


def subscript(binder: ExpressionBinder, operand: Expr, index: Expr, node: exp.Expr) -> Expr:
    """Bind ``operand[index]``: an array's element, counted from 0, or a map's value, for whose lookup the
    index is cast to the type of the keys. Raises UNEXPECTED_INPUT_TYPE for an array's index that isn't a
    whole number."""
    if pa.types.is_map(operand.type):
        if operand.type.key_type == types.VOID and types.is_string(index.type):
            raise _mismatch(binder, "CAST_WITHOUT_SUGGESTION", 'cannot cast "STRING" to "VOID".', node)
        return _value(binder, (Kind.MAP, operand.type.key_type), operand, index, node)
    if operand.type != types.VOID and not pa.types.is_nested(operand.type):
        raise failure(
            "INVALID_EXTRACT_BASE_FIELD_TYPE",
            f'Can\'t extract a value from "{binder.name(node.this)}". Need a complex type [STRUCT, ARRAY,'
            f' MAP] but got "{types.sql_name(operand.type)}".',
            node,
        )
    if index.type != types.VOID and not is_integral(index.type):
        raise _wrong(binder, 1, '"INTEGRAL"', index, node)
    return call_function(binder, "get_item", [operand, index], node)


def _value(
    binder: ExpressionBinder,
    kinds: tuple[pa.DataType | Kind, pa.DataType | Kind],
    operand: Expr,
    key: Expr,
    node: exp.Expr,
) -> Expr:
    arguments = coerce(binder, "element_at", kinds, (operand, key), node)
    return Call(arguments[0].type.item_type, "get_value", arguments)


def _element_at(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind ``element_at`` or ``try_element_at``: an array's element by its position (of type INT or smaller),
    or a map's value, which is null if the key is missing."""
    operand, key = binder.bind_all(node.expressions)
    if pa.types.is_map(operand.type):
        kinds = (operand.type.key_type, key.type)
        _refuse_rounding("element_at", kinds, node)
        is_mixed = types.VOID not in kinds and len(set(map(types.is_string, kinds))) > 1
        if is_mixed or binder.context.coercion.unpromoted_type(kinds) is None:
            raise _mismatch(
                binder,
                "MAP_FUNCTION_DIFF_TYPES",
                'Input to `element_at` should have been "MAP" followed by a value with same key type, but'
                f' it\'s ["{types.sql_name(operand.type)}", "{types.sql_name(key.type)}"].',
                node,
            )
        return _value(binder, (Kind.COMMON_MAP, Kind.COMMON), operand, key, node)
    if operand.type == types.VOID:
        raise _wrong(binder, 0, '("ARRAY" or "MAP")', operand, node)
    if not is_integral(key.type) or key.type == BIGINT:
        raise _wrong(binder, 1, '"INT"', key, node)
    return call_function(binder, function_name(node), [operand, key], node)


def _array_repeat(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    value, count = binder.bind_all(node.expressions)
    if count.type not in (types.VOID, types.INT):
        raise _wrong(binder, 1, '"INT"', count, node)
    return call_function(binder, "array_repeat", [value, count], node)


def _sequence(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind ``sequence``, whose start and stop have one type, integral, date or timestamp; the step is an
    integer or an interval. Raises SEQUENCE_WRONG_INPUT_TYPES for other types."""
    operands = binder.bind_all(node.expressions)
    if all(is_integral(operand.type) for operand in operands):
        operands = unify(binder, operands) or operands
    if len(operands) > 2 and types.is_string(operands[2].type):
        raise unsupported("sequence with a string as step", node)
    typed = call_function(binder, "sequence", operands, node)
    assert isinstance(typed, Call)
    kind = typed.arguments[0].type
    fits = is_integral(kind) or kind in (types.DATE, types.TIMESTAMP, types.TIMESTAMP_NTZ)
    if len(operands) > 2:
        step = operands[2].type
        allowed = is_integral(step) if is_integral(kind) else types.is_interval(step)
        fits = fits and (allowed or step == types.VOID)
    if not fits:
        raise _mismatch(
            binder,
            "SEQUENCE_WRONG_INPUT_TYPES",
            "`sequence` takes a start and a stop of one type, integers, dates or timestamps, and as step an"
            " integer or an interval.",
            node,
        )
    return typed


def _size(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind ``size`` or ``cardinality``. With ANSI mode off, the size of null is -1, unless
    ``spark.sql.legacy.sizeOfNull`` is false."""
    size = call_function(binder, function_name(node), binder.bind_all(node.expressions), node)
    if binder.context.coercion.ansi or not binder.context.settings.sizes_null:
        return size
    return Call(types.INT, "coalesce", (size, Literal(types.INT, -1)))


def _flatten(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    (operand,) = binder.bind_all(node.expressions)
    if not (pa.types.is_list(operand.type) and pa.types.is_list(operand.type.value_type)):
        raise _wrong(binder, 0, '"ARRAY" of "ARRAY"', operand, node)
    return call_function(binder, "flatten", [operand], node)


def _map_from_entries(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    (operand,) = binder.bind_all(node.expressions)
    kind = operand.type
    pairs = pa.types.is_list(kind) and pa.types.is_struct(kind.value_type) and kind.value_type.num_fields == 2
    if not pairs:
        raise _wrong(binder, 0, '"ARRAY" of pair "STRUCT"', operand, node)
    if kind.value_type.field(0).type == types.VOID:
        raise unsupported("A map whose keys are all NULL", node)
    return call_function(binder, "map_from_entries", [operand], node)


def _map_from_arrays(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    keys, items = binder.bind_all(node.expressions)
    return call_function(binder, "map_from_arrays", [keys, items], node)


def _map_concat(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    operands = binder.bind_all(node.expressions)
    if not all(pa.types.is_map(operand.type) for operand in operands):
        shown = ", ".join(f'"{types.sql_name(operand.type)}"' for operand in operands)
        raise _mismatch(
            binder,
            "MAP_CONCAT_DIFF_TYPES",
            f"The `map_concat` should all be of type map, but it's [{shown}].",
            node,
        )
    return call_function(binder, "map_concat", operands, node)


def _arrays_zip(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind ``arrays_zip`` to an array of structs. A field has the column's name if the argument is a column,
    else the argument's position, counted from 0; a lambda's parameter has the name of its declaration."""
    operands = binder.bind_all(node.expressions)
    typed = call_function(binder, "arrays_zip", operands, node)
    assert isinstance(typed, Call)
    names = [
        _zipped_name(part, operand, place)
        for place, (part, operand) in enumerate(zip(node.expressions, operands, strict=True))
    ]
    fields = [(name, operand.type.value_type) for name, operand in zip(names, typed.arguments, strict=True)]
    return Call(pa.list_(pa.struct(fields)), typed.function, typed.arguments)


def _zipped_name(part: exp.Expr, operand: Expr, place: int) -> str:
    if isinstance(operand, LambdaVariable):
        return operand.name
    return str(part.output_name) if isinstance(part, exp.Column | exp.Dot) else str(place)


def _with_value(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind a function of an array or map and a value, such as ``array_contains``.

    Raises NULL_TYPE for an untyped NULL, UNEXPECTED_INPUT_TYPE for an operand that is no array or map, and
    ARRAY_FUNCTION_DIFF_TYPES or MAP_FUNCTION_DIFF_TYPES if the value's type doesn't fit the elements, such as
    a string for an array of numbers."""
    name = function_name(node)
    operand, value = binder.bind_all(node.expressions)
    whole, part = ("MAP", "key") if name == "map_contains_key" else ("ARRAY", "element")
    is_whole = (pa.types.is_map if whole == "MAP" else pa.types.is_list)(operand.type)
    inside = _inner_type(operand.type) if is_whole else None
    if _is_untyped(name, operand, value, inside):
        raise _mismatch(
            binder, "NULL_TYPE", f"Null typed values cannot be used as arguments of `{name}`.", node
        )
    if not is_whole and name not in _CHECKED_TOGETHER:
        raise _wrong(binder, 0, f'"{whole}"', operand, node)
    if name not in _ROUNDING:
        _refuse_rounding(name, (inside, value.type), node)
    known = inside is not None and types.VOID not in (inside, value.type)
    if not is_whole or (
        known
        and (
            types.is_string(inside) != types.is_string(value.type)
            or binder.context.coercion.operand_type(inside, value.type) is None
        )
    ):
        raise _mismatch(
            binder,
            f"{whole}_FUNCTION_DIFF_TYPES",
            f'Input to `{name}` should have been "{whole}" followed by a value with same {part} type, but'
            f' it\'s ["{types.sql_name(operand.type)}", "{types.sql_name(value.type)}"].',
            node,
        )
    return call_function(binder, name, [operand, value], node)


def _is_untyped(name: str, operand: Expr, value: Expr, inside: pa.DataType | None) -> bool:
    """Return whether the function refuses an operand or a value because it is an untyped NULL. ``inside``:
    the type of the operand's elements or keys, None for an operand of another type."""
    if name == "array_position":
        return operand.type == types.VOID or (value.type == types.VOID and inside in (None, types.VOID))
    refused = (value.type,) if name == "map_contains_key" else (operand.type, value.type)
    return name in _NO_NULL_TYPE and types.VOID in refused


def _two_arrays(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind a function of two arrays, such as ``array_union``. Raises BINARY_ARRAY_DIFF_TYPES if exactly one
    of the arrays has strings."""
    name = function_name(node)
    operands = binder.bind_all(node.expressions)
    inside = [_inner_type(operand.type) for operand in operands]
    strings = {types.is_string(kind) for kind in inside if kind is not None and kind != types.VOID}
    if all(operand.type == types.VOID for operand in operands):
        raise unsupported(f"{name} of NULLs", node)
    _refuse_rounding(name, inside, node)
    if len(strings) > 1 or (types.VOID in [operand.type for operand in operands] and len(strings) > 0):
        shown = ", ".join(f'"{types.sql_name(operand.type)}"' for operand in operands)
        raise _mismatch(
            binder,
            "BINARY_ARRAY_DIFF_TYPES",
            f'Input to function `{name}` should have been two "ARRAY" with same element type, but it\'s'
            f" [{shown}].",
            node,
        )
    return call_function(binder, name, operands, node)


def _array_insert(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    operands = binder.bind_all(node.expressions)
    if not pa.types.is_list(operands[0].type):
        raise no_array_and_element(binder, operands, node)
    if operands[1].type == types.VOID:
        raise unsupported("array_insert at NULL", node)
    _refuse_rounding("array_insert", (_inner_type(operands[0].type), operands[2].type), node)
    return call_function(binder, "array_insert", operands, node)


def _refuse_rounding(name: str, kinds: Sequence[pa.DataType | None], node: exp.Expr) -> None:
    """Raise NotSupportedError if ``kinds`` has different types of which one is a decimal or FLOAT: Spark
    refuses a decimal here, and uses FLOAT as the common type. None among ``kinds`` is ignored."""
    known = {kind for kind in kinds if kind is not None and kind != types.VOID}
    if len(known) > 1 and any(is_decimal(leaf) or leaf == types.FLOAT for leaf in map(_leaf, known)):
        raise unsupported(f"{name} of {' and '.join(sorted(map(types.sql_name, known)))}", node)


def _leaf(kind: pa.DataType) -> pa.DataType:
    while pa.types.is_list(kind):
        kind = kind.value_type
    return kind


def _inner_type(kind: pa.DataType) -> pa.DataType | None:
    if pa.types.is_map(kind):
        return kind.key_type
    return kind.value_type if pa.types.is_list(kind) else None


def _wrong(binder: ExpressionBinder, place: int, wanted: str, operand: Expr, node: exp.Expr) -> Error:
    return _mismatch(
        binder,
        "UNEXPECTED_INPUT_TYPE",
        f"The {_ORDINALS[place]} parameter requires the {wanted} type, however"
        f' {shown_argument(binder, place, node)} has the type "{types.sql_name(operand.type)}".',
        node,
    )


def _mismatch(binder: ExpressionBinder, kind: str, message: str, node: exp.Expr) -> Error:
    return failure(
        f"DATATYPE_MISMATCH.{kind}",
        f'Cannot resolve "{binder.name(node)}" due to data type mismatch: {message}',
        node,
    )


_NO_NULL_TYPE: Final = frozenset({"array_contains", "map_contains_key"})
#: Functions whose check of the value's type comes first, and fails for an operand of any other type.
_CHECKED_TOGETHER: Final = frozenset({"array_remove", "map_contains_key"})
#: Functions that accept decimals and floats beside other numbers, and compare them.
_ROUNDING: Final = frozenset({"array_contains", "map_contains_key"})

COLLECTION_FUNCTIONS: Final[CallBinders] = {
    "element_at": (_element_at, 2, 2),
    "try_element_at": (_element_at, 2, 2),
    "array_insert": (_array_insert, 3, 3),
    "array_repeat": (_array_repeat, 2, 2),
    "arrays_zip": (_arrays_zip, 0, None),
    "sequence": (_sequence, 2, 3),
    "flatten": (_flatten, 1, 1),
    **dict.fromkeys(("size", "cardinality"), (_size, 1, 1)),
    "map_from_entries": (_map_from_entries, 1, 1),
    "map_from_arrays": (_map_from_arrays, 2, 2),
    "map_concat": (_map_concat, 0, None),
    **dict.fromkeys(
        ("array_union", "array_intersect", "array_except", "arrays_overlap"), (_two_arrays, 2, 2)
    ),
    **dict.fromkeys(
        (
            "array_contains",
            "array_position",
            "array_remove",
            "array_append",
            "array_prepend",
            "map_contains_key",
        ),
        (_with_value, 2, 2),
    ),
}
