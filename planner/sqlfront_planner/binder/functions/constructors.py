"""Binding of constructors of structs, arrays and maps."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.expressions.arguments import WHERE_FUNCTIONS_ARE, CallBinders, mixed_types
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder, cast_to
from sqlfront_planner.binder.trees.handlers import failure, field_name, handles, unsupported
from sqlfront_planner.types import is_orderable, names_of
from sqlfront_values import types
from sqlfront_values.expressions import Call, Expr, Literal


def _struct(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind ``struct(a, b + 1, c AS d)``: a field has the name of its column or alias; any other field is
    named by its position, ``col1``, ``col2``, ..."""
    names, values = [], []
    for place, part in enumerate(node.expressions, 1):
        inner = part.this if isinstance(part, exp.Alias) else part
        values.append(binder.bind(inner))
        names.append(field_name(part, place))
    return struct_of(names, values)


def struct_of(names: Sequence[str], values: Sequence[Expr]) -> Expr:
    """Return the call that makes a struct of the bound ``values``; ``names`` are the names of the struct's
    fields."""
    kind = pa.struct([(name, value.type) for name, value in zip(names, values, strict=True)])
    return Call(kind, "struct", tuple(values))


def _named_struct(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    operands = binder.bind_all(node.expressions)
    names = []
    for operand in map(binder.context.known_value, operands[::2]):
        if not isinstance(operand, Literal) or not isinstance(operand.value, str):
            raise failure(
                "DATATYPE_MISMATCH.CREATE_NAMED_STRUCT_WITHOUT_FOLDABLE_STRING",
                "Only foldable `STRING` expressions are allowed to appear at odd position.",
                node,
            )
        names.append(operand.value)
    if len(operands) % 2:
        raise failure(
            "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
            f"The `named_struct` requires 2n (n > 0) parameters but the actual number is {len(operands)}."
            f" {WHERE_FUNCTIONS_ARE}",
            node,
        )
    return struct_of(names, operands[1::2])


def _array(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    items = binder.bind_all(node.expressions)
    kind = binder.context.coercion.common_type(item.type for item in items)
    if kind is None:
        raise mixed_types(binder, "array", items, node)
    return Call(pa.list_(kind), "array", tuple(cast_to(item, kind) for item in items))


def _map(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    operands = binder.bind_all(node.expressions)
    keys, items = operands[::2], operands[1::2]
    common_type = binder.context.coercion.common_type
    key_type, item_type = (common_type(part.type for part in side) for side in (keys, items))
    if len(operands) % 2:
        raise mixed_types(binder, "map", operands, node)
    if key_type is None or item_type is None:
        side, given = ("KEY", keys) if key_type is None else ("VALUE", items)
        raise failure(
            f"DATATYPE_MISMATCH.CREATE_MAP_{side}_DIFF_TYPES",
            f'Cannot resolve "{binder.name(node)}" due to data type mismatch: The given {side.lower()}s of'
            f" function `map` should all be the same type, but they are"
            f" [{names_of([part.type for part in given])}].",
            node,
        )
    if types.holds_variant(key_type):
        raise failure(
            "DATATYPE_MISMATCH.INVALID_MAP_KEY_TYPE",
            f'Cannot resolve "{binder.name(node)}" due to data type mismatch: The key of map cannot be/'
            f'contain "{types.sql_name(key_type)}".',
            node,
        )
    if key_type != types.VOID and not is_orderable(key_type):
        raise unsupported("A map as a key of a map", node)
    pairs = (
        (cast_to(key, key_type), cast_to(item, item_type)) for key, item in zip(keys, items, strict=True)
    )
    return Call(types.map_type(key_type, item_type), "map", tuple(part for pair in pairs for part in pair))


@handles(exp.Tuple, arguments="expressions")
def bind_tuple(binder: ExpressionBinder, node: exp.Tuple) -> Expr:
    """Bind ``(1, 2)`` as a struct of ``col1`` and ``col2``, ``(a, b)`` as a struct of ``a`` and ``b``."""
    names = [field_name(part, place) for place, part in enumerate(node.expressions, 1)]
    return struct_of(names, binder.bind_all(node.expressions))


CONSTRUCTORS: Final[CallBinders] = {
    "struct": (_struct, 0, None),
    "named_struct": (_named_struct, 2, None),
    "array": (_array, 0, None),
    "map": (_map, 0, None),
}
