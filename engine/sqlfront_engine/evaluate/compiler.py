"""Expressions become closures over rows: dispatch on node, function and types happens once, not per batch."""

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from sqlfront_engine.casts import compile_cast
from sqlfront_engine.dictionaries import over_dictionary
from sqlfront_engine.evaluate.fallible import can_fail, entry_of, unknown
from sqlfront_engine.evaluate.lazy import Evaluator, eager_case, lazy_case, lazy_coalesce, lazy_connective
from sqlfront_engine.evaluate.rows import Rows
from sqlfront_engine.expressions import Call, Case, Cast, Column, Expr, Literal, Parameter, RunValue
from sqlfront_engine.forms import constant, plain
from sqlfront_engine.functions.registry import PreparedKernel, Settings, Signature
from sqlfront_engine.types import BOOLEAN, STRING

_COALESCES: Final = frozenset({"coalesce", "nvl", "ifnull"})


def compile_node(expression: Expr, settings: Settings) -> Evaluator:
    """The closure that gives the expression's values for rows: an array, or a scalar where all rows have
    one value."""
    match expression:
        case Column(ordinal=ordinal):
            return lambda rows: rows.column(ordinal)
        case Literal(value=value, type=data_type):
            scalar = constant(value, data_type)
            return lambda rows: scalar
        case Call():
            return _compile_call(expression, settings)
        case Cast(operand=operand, safe=safe):
            convert = compile_cast(operand.type, expression.type, safe=safe, settings=settings)
            inner = compile_node(operand, settings)
            return lambda rows: convert(inner(rows))
        case Case():
            return _compile_case(expression, settings)
        case Parameter() | RunValue() | _:
            raise unknown(expression)


def _compile_case(case: Case, settings: Settings) -> Evaluator:
    branches = tuple(
        (compile_node(condition, settings), compile_node(value, settings))
        for condition, value in case.branches
    )
    otherwise = compile_node(case.otherwise, settings)
    form = lazy_case if any(map(can_fail, case.children()[1:])) else eager_case
    return form(branches, otherwise, case.type)


def _compile_call(call: Call, settings: Settings) -> Evaluator:
    function, arguments = call.function, call.arguments
    if function == "in" and not all(isinstance(value, Literal) for value in arguments[1:]):
        return compile_node(_as_alternatives(arguments), settings)
    lazy = _lazy_form(call) if len(arguments) > 1 and any(map(can_fail, arguments[1:])) else None
    if lazy is not None:
        return compile_node(lazy, settings) if isinstance(lazy, Expr) else lazy(settings)
    entry = entry_of(call)
    types = tuple(argument.type for argument in arguments)
    operands = tuple(compile_node(argument, settings) for argument in arguments)
    constants = tuple(
        constant(argument.value, argument.type) if isinstance(argument, Literal) else None
        for argument in arguments
    )
    kernel = entry.prepared(Signature(call.type, types, constants, settings))
    if any(data_type.id == STRING.id for data_type in types):
        dictionary = entry.elementwise_values and entry.deterministic and not entry.fails(call)
        return (
            _over_strings(kernel, operands, call.type, entry.null_propagating)
            if dictionary
            else _decoded(kernel, operands)
        )
    return _applied(kernel, operands)


def _applied(kernel: PreparedKernel, operands: tuple[Evaluator, ...]) -> Evaluator:
    """The kernel over its operands, by arity, since small batches feel each Python step."""
    match operands:
        case (only,):
            return lambda rows: kernel((only(rows),), rows.length)
        case (left, right):
            return lambda rows: kernel((left(rows), right(rows)), rows.length)
        case _:
            return lambda rows: kernel(tuple([operand(rows) for operand in operands]), rows.length)


def _decoded(kernel: PreparedKernel, operands: tuple[Evaluator, ...]) -> Evaluator:
    return lambda rows: kernel(tuple([plain(operand(rows)) for operand in operands]), rows.length)


def _over_strings(
    kernel: PreparedKernel, operands: tuple[Evaluator, ...], data_type: pa.DataType, null_propagating: bool
) -> Evaluator:
    def run(rows: Rows) -> pa.Array | pa.Scalar:
        arguments = tuple([operand(rows) for operand in operands])
        for argument in arguments:
            if isinstance(argument, pa.DictionaryArray):
                return over_dictionary(kernel, arguments, rows.length, data_type, null_propagating)
        return kernel(arguments, rows.length)

    return run


def _lazy_form(call: Call) -> "Expr | Callable[[Settings], Evaluator] | None":
    """How a function whose later operands may fail is evaluated: as another expression, or by its own
    closure."""
    function, arguments = call.function, call.arguments
    match function:
        case "and" | "or":
            return lambda settings: lazy_connective(
                compile_node(arguments[0], settings),
                compile_node(arguments[1], settings),
                conjunction=function == "and",
            )
        case "if":
            return Case(call.type, ((arguments[0], arguments[1]),), arguments[2])
        case "nvl2":
            present = Call(BOOLEAN, "is_not_null", (arguments[0],))
            return Case(call.type, ((present, arguments[1]),), arguments[2])
        case _ if function in _COALESCES:
            return lambda settings: lazy_coalesce(
                tuple(compile_node(argument, settings) for argument in arguments), call.type
            )
        case _:
            return None


def _as_alternatives(arguments: tuple[Expr, ...]) -> Expr:
    """``x IN (a, b)`` as ``x = a OR x = b``."""
    tests = [Call(BOOLEAN, "equal", (arguments[0], value)) for value in arguments[1:]]
    result: Expr = tests[0]
    for test in tests[1:]:
        result = Call(BOOLEAN, "or", (result, test))
    return result
