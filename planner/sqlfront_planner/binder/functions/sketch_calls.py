"""Arguments of approx_top_k and its relatives, which Spark checks otherwise than by types."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.expressions import arguments as call_arguments
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder, cast_to
from sqlfront_planner.binder.trees.handlers import failure
from sqlfront_planner.logical import OuterColumn
from sqlfront_values.errors import Error
from sqlfront_values.expressions import Column, Expr, walk
from sqlfront_values.functions.registry import ArgumentType, Kind
from sqlfront_values.functions.sketches import item_kinds
from sqlfront_values.types import BINARY, INT, VOID, ddl, is_string

_K: Final = "K"
_TRACKED: Final = "Number of items tracked"
#: The constant arguments behind the first one, as messages name them.
_CONSTANTS: Final = {
    "approx_top_k": (_K, _TRACKED),
    "approx_top_k_accumulate": (_TRACKED,),
    "approx_top_k_combine": (_TRACKED,),
    "approx_top_k_estimate": (_K,),
}
#: The functions whose first argument is a state.
_OF_STATES: Final = frozenset({"approx_top_k_combine", "approx_top_k_estimate"})
_STATE: Final = "struct<sketch:binary,maxItemsTracked:int,itemDataType:any,itemDataTypeDDL:string>"


def coerce(
    binder: ExpressionBinder,
    name: str,
    kinds: Sequence[ArgumentType],
    operands: Sequence[Expr],
    node: exp.Expr,
) -> tuple[Expr, ...]:
    """Return the operands of approx_top_k or a relative, cast to the types ``kinds``.

    Raises DATATYPE_MISMATCH.TYPE_CHECK_FAILURE_WITH_HINT for items or a state of a wrong type, and for
    numbers that aren't constant."""
    first, *others = operands
    if name in _OF_STATES and first.type == VOID:
        first = cast_to(first, pa.struct([]))
    first, *numbers = arguments = call_arguments.coerce(binder, name, kinds, [first, *others], node)
    if name in _OF_STATES:
        _check_state(binder, first.type, node)
    elif item_kinds.item_kind(first.type) is None:
        raise _mismatch(binder, f"{_type_name(first.type)} columns are not supported.", node)
    for number, shown in zip(numbers, _CONSTANTS[name], strict=False):
        known = binder.context.known_value(number)
        if any(isinstance(part, Column | OuterColumn) for part in walk(known)):
            raise _mismatch(binder, f"{shown} must be a constant literal.", node)
    return arguments


def _check_state(binder: ExpressionBinder, state: pa.DataType, node: exp.Expr) -> None:
    kinds = [field.type for field in state]
    if len(kinds) != 4:
        hint = f"State must be a struct with 4 fields. Expected struct: {_STATE}. Got: {ddl(state)}."
        raise _mismatch(binder, hint, node)
    places = (
        ("first", "binary", kinds[0] == BINARY),
        ("second", "int", kinds[1] == INT),
        ("third", "a supported data type", item_kinds.item_kind(kinds[2]) is not None),
        ("fourth", "string", is_string(kinds[3])),
    )
    for kind, (place, wanted, holds) in zip(kinds, places, strict=True):
        if not holds:
            hint = f"State struct must have the {place} field to be {wanted}. Got: {ddl(kind)}."
            raise _mismatch(binder, hint, node)


def _type_name(data_type: pa.DataType) -> str:
    """Return the name of a type without the types inside of it."""
    return ddl(data_type).partition("<")[0]


def _mismatch(binder: ExpressionBinder, hint: str, node: exp.Expr) -> Error:
    return failure(
        "DATATYPE_MISMATCH.TYPE_CHECK_FAILURE_WITH_HINT",
        f'Cannot resolve "{binder.name(node)}" due to data type mismatch: {hint}',
        node,
    )


def bind_estimate(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind approx_top_k_estimate. Raises the errors of :func:`coerce`."""
    name = call_arguments.function_name(node)
    operands = binder.bind_all(node.expressions)
    arguments = coerce(binder, name, (Kind.STRUCT, INT)[: len(operands)], operands, node)
    return call_arguments.call_function(binder, name, arguments, node)
