"""Binding of the functions over variants whose calls need more than their entry in the registry."""

from typing import Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.expressions.arguments import (
    CallBinder,
    CallBinders,
    call_function,
    function_name,
)
from sqlfront_planner.binder.expressions.casts import explicit_cast
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder
from sqlfront_planner.binder.functions.function_options import schema_of
from sqlfront_planner.binder.trees.handlers import failure
from sqlfront_values import types
from sqlfront_values.casts import variants
from sqlfront_values.expressions import Expr
from sqlfront_values.types import VARIANT


def _variant_get(*, safe: bool) -> CallBinder:
    """Return the binder of variant_get, or of try_variant_get (``safe``): the part at a path, cast to the
    type that the third argument names."""

    def bind(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
        variant, path, *schema = node.expressions
        kind = schema_of(binder, schema[0], node)[1] if schema else VARIANT
        part = call_function(binder, "variant_get", binder.bind_all([variant, path]), node)
        return explicit_cast(binder, part, kind, node, safe=safe)

    return bind


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
    "hash": (_hash, 0, None),
    "xxhash64": (_hash, 0, None),
}
