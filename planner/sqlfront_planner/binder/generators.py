"""Binding of generator functions: their arguments, the columns that they make, and the errors of calls in
places that take none.

A generator may be an item of the select list (:mod:`.selected_generators`), the function of a LATERAL VIEW,
or a table function (:mod:`.relations.laterals`).
"""

from collections.abc import Sequence
from typing import Final

import msgspec
import pyarrow as pa
from sqlglot import exp

from sqlfront_engine.generators import Generator
from sqlfront_planner.binder.expressions.arguments import check_count, function_name
from sqlfront_planner.binder.expressions.expression_binder import Clause, ExpressionBinder, cast_to
from sqlfront_planner.binder.expressions.extraction import entries_of
from sqlfront_planner.binder.generator_calls import GeneratorCall, holds_generator
from sqlfront_planner.binder.routines import calls as routine_calls
from sqlfront_planner.binder.trees.handlers import failure, unsupported
from sqlfront_planner.tokens.marks import FUNCTION_MARK
from sqlfront_values import types
from sqlfront_values.errors import Error
from sqlfront_values.evaluate import evaluate_scalar
from sqlfront_values.expressions import Expr, Literal
from sqlfront_values.types import INT, STRING, VOID

_KINDS: Final = {
    "explode": Generator.EXPLODE,
    "posexplode": Generator.POSEXPLODE,
    "inline": Generator.INLINE,
}
#: Values of one call of stack at most: a batch has at least one row of them.
_MOST_STACKED: Final = 10_000


def bind_generator(binder: ExpressionBinder, call: exp.Anonymous) -> GeneratorCall:
    """Bind a call of a generator over the binder's scope.

    Raises UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS, WRONG_NUM_ARGS, REQUIRED_PARAMETER_NOT_FOUND,
    DATATYPE_MISMATCH; NotSupportedError for named arguments.
    """
    name = function_name(call)
    if call.expressions and isinstance(call.expressions[0], exp.Distinct):
        raise failure(
            "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX",
            f"Invalid SQL syntax: The function `{name}` does not support DISTINCT.",
            call,
        )
    if any(part.is_star for part in call.expressions):
        raise unsupported("A star as a generator's argument", call)
    if any(map(holds_generator, call.expressions)):
        raise nested(binder, call)
    routine_calls.refuse_in(binder, call, "Generate")
    if binder.clause is Clause.SELECT and call.find(exp.Window) is not None:
        raise unsupported("A window function in a generator's argument", call)
    if name == "stack":
        return _stack(binder, call)
    if name == "json_tuple":
        return _json_tuple(binder, call)
    function = name.removesuffix("_outer")
    parameter = "input" if function in ("inline", "variant_explode") else "collection"
    if not call.expressions:
        raise failure(
            "REQUIRED_PARAMETER_NOT_FOUND",
            f"Cannot invoke routine `{name}` because the parameter named `{parameter}` is required, but the "
            "routine call did not supply a value. Please update the routine call to supply an argument value "
            "(either positionally at index 0 or by name) and retry the query again.",
            call,
        )
    check_count(name, len(call.expressions), 1, 1, call)
    node = _positional(call.expressions[0], parameter, call)
    if function == "variant_explode":
        entries = entries_of(binder, node, call)
        fields = list(entries.type.value_type)
        names = tuple(field.name for field in fields)
        kinds = tuple(field.type for field in fields)
        return GeneratorCall(name, Generator.INLINE, (entries,), name != function, names, kinds)
    argument = binder.bind(node)
    names, kinds = _columns(binder, _KINDS[function], argument, call)
    return GeneratorCall(name, _KINDS[function], (argument,), name != function, names, kinds)


def _positional(node: exp.Expr, parameter: str, call: exp.Anonymous) -> exp.Expr:
    """Return the value of an argument that may be named, as ``collection => a``."""
    if not isinstance(node, exp.Kwarg):
        return node
    if node.this.name.lower() != parameter:
        raise unsupported(f"The named argument {node.this.name}", call)
    value: exp.Expr = node.expression
    return value


def _columns(
    binder: ExpressionBinder, generator: Generator, argument: Expr, call: exp.Anonymous
) -> tuple[tuple[str, ...], tuple[pa.DataType, ...]]:
    """Return the names and types of the columns that explode, posexplode or inline makes of the argument."""
    kind = argument.type
    names: tuple[str, ...]
    kinds: tuple[pa.DataType, ...]
    if generator is Generator.INLINE:
        if not (pa.types.is_list(kind) and pa.types.is_struct(kind.value_type)):
            raise _mismatch(binder, call, argument, '"ARRAY<STRUCT>"')
        fields = list(kind.value_type)
        return tuple(field.name for field in fields), tuple(field.type for field in fields)
    if pa.types.is_map(kind):
        names, kinds = ("key", "value"), (kind.key_type, kind.item_type)
    elif pa.types.is_list(kind):
        names, kinds = ("col",), (kind.value_type,)
    else:
        raise _mismatch(binder, call, argument, '("ARRAY" or "MAP")')
    if generator is Generator.POSEXPLODE:
        return ("pos", *names), (INT, *kinds)
    return names, kinds


def _mismatch(binder: ExpressionBinder, call: exp.Anonymous, argument: Expr, wanted: str) -> Error:
    return failure(
        "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
        f'Cannot resolve "{binder.name(call)}" due to data type mismatch: The first parameter requires the '
        f'{wanted} type, however "{binder.name(call.expressions[0])}" has the type '
        f'"{types.sql_name(argument.type)}".',
        call,
    )


def _stack(binder: ExpressionBinder, call: exp.Anonymous) -> GeneratorCall:
    """Bind ``stack(n, values...)``: n rows, filled with the values row after row, then with nulls."""
    check_count("stack", len(call.expressions), 2, None, call)
    first, *values = binder.bind_all(call.expressions)
    rows = _row_count(binder, first, call)
    width = -(-len(values) // rows)
    if rows * width > _MOST_STACKED:
        raise unsupported(f"stack of more than {_MOST_STACKED} values", call)
    kinds = tuple(_stacked_type(binder, values[place::width], place, width, call) for place in range(width))
    padded = [*values, *(Literal(VOID, None) for _ in range(rows * width - len(values)))]
    arguments = tuple(cast_to(value, kinds[place % width]) for place, value in enumerate(padded))
    names = tuple(f"col{place}" for place in range(width))
    return GeneratorCall("stack", Generator.STACK, arguments, False, names, kinds)


def _row_count(binder: ExpressionBinder, count: Expr, call: exp.Anonymous) -> int:
    if count.type != INT:
        raise _mismatch(binder, call, count, '"INT"')
    known = binder.context.constant(count, call.expressions[0])
    head = f'Cannot resolve "{binder.name(call)}" due to data type mismatch: '
    if known is None:
        raise failure(
            "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT",
            f'{head}the input `n` should be a foldable "INT" expression; however, got '
            f'"{binder.name(call.expressions[0])}".',
            call,
        )
    value = evaluate_scalar(known, binder.context.settings.evaluation)
    if value is None:
        raise failure("DATATYPE_MISMATCH.UNEXPECTED_NULL", f"{head}The `n` must not be null.", call)
    if not isinstance(value, int) or value <= 0:
        raise failure(
            "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE",
            f"{head}The `n` must be between (0, 2147483647] (current value = {value}).",
            call,
        )
    return value


def _stacked_type(
    binder: ExpressionBinder, values: Sequence[Expr], column: int, width: int, call: exp.Anonymous
) -> pa.DataType:
    """Return the type of a column of stack: that of its first value that isn't NULL, which all others must
    have."""
    kind, place = VOID, 0
    for row, value in enumerate(values):
        if value.type == VOID or value.type == kind:
            continue
        if kind != VOID:
            raise failure(
                "DATATYPE_MISMATCH.STACK_COLUMN_DIFF_TYPES",
                f'Cannot resolve "{binder.name(call)}" due to data type mismatch: The data type of the '
                f'column ({column}) do not have the same type: "{types.sql_name(kind)}" ({place}) <> '
                f'"{types.sql_name(value.type)}" ({row * width + column + 1}).',
                call,
            )
        kind, place = value.type, row * width + column + 1
    return kind


def _json_tuple(binder: ExpressionBinder, call: exp.Anonymous) -> GeneratorCall:
    """Bind ``json_tuple(text, names...)``, which makes one row of the members with these names."""
    check_count("json_tuple", len(call.expressions), 2, None, call)
    arguments = tuple(binder.bind_all(call.expressions))
    if any(argument.type != STRING for argument in arguments):
        raise failure(
            "DATATYPE_MISMATCH.NON_STRING_TYPE",
            f'Cannot resolve "{binder.name(call)}" due to data type mismatch: all arguments of the function '
            "`json_tuple` must be strings.",
            call,
        )
    width = len(arguments) - 1
    names = tuple(f"c{place}" for place in range(width))
    return GeneratorCall("json_tuple", Generator.JSON_TUPLE, arguments, False, names, (STRING,) * width)


def renamed(call: GeneratorCall, aliases: Sequence[str], node: exp.Expr) -> GeneratorCall:
    """Return the call with its columns called ``aliases``; the call itself if there are none. Raises
    UDTF_ALIAS_NUMBER_MISMATCH for another number of names."""
    if not aliases:
        return call
    if len(aliases) != len(call.names):
        raise failure(
            "UDTF_ALIAS_NUMBER_MISMATCH",
            "The number of aliases supplied in the AS clause does not match the number of columns output by "
            f"the UDTF.\nExpected {len(call.names)} aliases, but got {','.join(aliases)}.\nPlease ensure "
            "that the number of aliases provided matches the number of columns output by the UDTF.",
            node,
        )
    return msgspec.structs.replace(call, names=tuple(aliases))


# ---- calls in other places


def nested(binder: ExpressionBinder, node: exp.Expr) -> Error:
    """Make the error for a generator inside of ``node``, an expression of the select list."""
    return failure(
        "UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS",
        f'The generator is not supported: nested in expressions "{_text(binder, node)}".',
        node,
    )


def _text(binder: ExpressionBinder, node: exp.Expr) -> str:
    """Return the text of an expression around a generator, which can't be bound for its name."""
    try:
        return binder.name(node)
    except Error:
        return node.sql("spark", normalize_functions=False).replace(FUNCTION_MARK, "")


def misplaced(binder: ExpressionBinder, call: exp.Anonymous) -> Error:
    """Make the error for a generator in an expression that takes none."""
    match binder.clause:
        case Clause.SELECT:
            return nested(binder, call)
        case Clause.GROUP_BY:
            return failure(
                "UNSUPPORTED_EXPR_FOR_OPERATOR",
                "The query operator Aggregate contains one or more unsupported expressions.\nConsider to "
                "rewrite it to avoid window functions, aggregate functions, and generator functions in the "
                f'Aggregate operator.\nInvalid expressions: ["{binder.name(call)}"]',
                call,
            )
        case Clause.VALUES:
            return failure(
                "INVALID_INLINE_TABLE.CANNOT_EVALUATE_EXPRESSION_IN_INLINE_TABLE",
                f'Invalid inline table. Cannot evaluate the expression "{binder.name(call)}" in inline table '
                "definition.",
                call,
            )
        case clause:
            return failure(
                "UNSUPPORTED_GENERATOR.OUTSIDE_SELECT",
                f"The generator is not supported: outside the SELECT clause, found: {clause.value}.",
                call,
            )
