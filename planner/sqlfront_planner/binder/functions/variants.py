"""Binding of the functions over variants whose calls need more than their entry in the registry."""

from typing import Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.expressions.arguments import (
    CallBinder,
    CallBinders,
    call_function,
    function_name,
    wrong_argument,
)
from sqlfront_planner.binder.expressions.casts import explicit_cast
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder, cast_to
from sqlfront_planner.binder.functions.function_options import schema_of
from sqlfront_planner.binder.trees.handlers import failure
from sqlfront_values import types
from sqlfront_values.casts import variants
from sqlfront_values.expressions import Expr, Literal
from sqlfront_values.types import BOOLEAN, VARIANT, VOID


def _variant_get(*, safe: bool) -> CallBinder:
    """Return the binder of variant_get, or of try_variant_get (``safe``): the part at a path, cast to the
    type that the third argument names."""

    def bind(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
        variant, path, *schema = node.expressions
        kind = schema_of(binder, schema[0], node)[1] if schema else VARIANT
        part = call_function(binder, "variant_get", binder.bind_all([variant, path]), node)
        return explicit_cast(binder, part, kind, node, safe=safe)

    return bind


def _change(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind a function that puts a new value at a path; the value is cast to VARIANT."""
    name = function_name(node)
    variant, path, value, *flags = binder.bind_all(node.expressions)
    if value.type != VARIANT:
        value = explicit_cast(binder, value, VARIANT, node)
    if name.removeprefix("try_") == "variant_set":
        flags = [_flag(binder, flags, 3, "create_if_missing", node)]
    return call_function(binder, name, [variant, path, value, *flags], node)


def _strip_nulls(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    variant, *flags = binder.bind_all(node.expressions)
    flag = _flag(binder, flags, 1, "include_arrays", node)
    return call_function(binder, "variant_strip_nulls", [variant, flag], node)


def _flag(binder: ExpressionBinder, flags: list[Expr], place: int, name: str, node: exp.Anonymous) -> Expr:
    """Return the constant argument at ``place``, which is true if the call omits it."""
    if not flags:
        return Literal(BOOLEAN, True)
    if flags[0].type not in (BOOLEAN, VOID):
        raise wrong_argument(binder, place, BOOLEAN, flags[0], node)
    if binder.context.constant(flags[0], node) is None:
        raise failure(
            "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT",
            f'Cannot resolve "{binder.name(node)}" due to data type mismatch: the input `{name}` should be a'
            f' foldable "BOOLEAN" expression; however, got "{binder.name(node.expressions[place])}".',
            node,
        )
    return cast_to(flags[0], BOOLEAN)


def _to_variant_object(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    operand = binder.bind(node.expressions[0])
    kind = operand.type
    if not pa.types.is_nested(kind) or not variants.can_cast(kind, VARIANT, fields=True):
        raise failure(
            "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION",
            f'Cannot resolve "{binder.name(node)}" due to data type mismatch: cannot cast '
            f'"{types.sql_name(kind)}" to "VARIANT".',
            node,
        )
    return call_function(binder, "to_variant_object", [operand], node)


def _hash(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    operands = binder.bind_all(node.expressions)
    name = function_name(node)
    if any(types.holds_variant(operand.type) for operand in operands):
        raise failure(
            "DATATYPE_MISMATCH.HASH_VARIANT_TYPE",
            f'Cannot resolve "{binder.name(node)}" due to data type mismatch: Input to the function `{name}`'
            ' cannot contain elements of the "VARIANT" type yet.',
            node,
        )
    return call_function(binder, name, operands, node)


#: The functions of this module.
VARIANT_FUNCTIONS: Final[CallBinders] = {
    "variant_get": (_variant_get(safe=False), 2, 3),
    "try_variant_get": (_variant_get(safe=True), 2, 3),
    "to_variant_object": (_to_variant_object, 1, 1),
    **{
        f"{prefix}{name}": (_change, 3, most)
        for prefix in ("", "try_")
        for name, most in (("variant_insert", 3), ("variant_array_append", 3), ("variant_set", 4))
    },
    "variant_strip_nulls": (_strip_nulls, 1, 2),
    "hash": (_hash, 0, None),
    "xxhash64": (_hash, 0, None),
}
