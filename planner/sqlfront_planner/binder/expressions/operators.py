"""Binding of arithmetic, bitwise and logical operators: Spark's grouping, coercions and result types.

:mod:`.time_arithmetic` has the rules for dates, timestamps and intervals, :mod:`.clock_arithmetic` those for
times of day.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.expressions import calendar_intervals, clock_arithmetic, time_arithmetic
from sqlfront_planner.binder.expressions.arguments import argument_error, mixed_types
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder, cast_to
from sqlfront_planner.binder.expressions.literals import lifted
from sqlfront_planner.binder.trees.chains import fold_chain, spine
from sqlfront_planner.binder.trees.constants import negative_literal
from sqlfront_planner.binder.trees.handlers import failure, handles, unparenthesized, unsupported
from sqlfront_planner.binder.trees.precedence import left_of, regrouped, right_of
from sqlfront_planner.coercion import Coercion
from sqlfront_planner.tokens.marks import ShiftRightUnsigned, UnaryPlus
from sqlfront_planner.types import (
    DATETIMES,
    as_decimal,
    decimal_of_value,
)
from sqlfront_values import types
from sqlfront_values.errors import Error
from sqlfront_values.expressions import Call, Cast, Expr, Literal, Parameter, connected
from sqlfront_values.functions.numbers import decimal_rules
from sqlfront_values.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    VOID,
    is_decimal,
    is_fractional,
    is_integral,
    is_interval,
    is_numeric,
    is_string,
    is_time,
)

ARITHMETIC: Final[dict[type[exp.Expr], str]] = {
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.IntDiv: "div",
    exp.Mod: "remainder",
}
BITWISE: Final[dict[type[exp.Expr], str]] = {
    exp.BitwiseAnd: "bit_and_op",
    exp.BitwiseOr: "bit_or_op",
    exp.BitwiseXor: "bit_xor_op",
}
SHIFTS: Final[dict[type[exp.Expr], str]] = {
    exp.BitwiseLeftShift: "shiftleft",
    exp.BitwiseRightShift: "shiftright",
    ShiftRightUnsigned: "shiftrightunsigned",
}
_DECIMAL_RESULT: Final[dict[str, Callable[[pa.DataType, pa.DataType], pa.DataType]]] = {
    "add": decimal_rules.add_type,
    "subtract": decimal_rules.add_type,
    "multiply": decimal_rules.multiply_type,
    "divide": decimal_rules.divide_type,
    "remainder": decimal_rules.remainder_type,
}
_NUMBER_OR_INTERVAL: Final = (
    '("NUMERIC" or "INTERVAL DAY TO SECOND" or "INTERVAL YEAR TO MONTH" or "INTERVAL")'
)


@handles(exp.Paren)
def bind_paren(binder: ExpressionBinder, node: exp.Paren) -> Expr:
    """Bind the expression in parentheses."""
    return binder.bind(node.this)


@handles(*ARITHMETIC, arguments="this expression typed safe")
def bind_arithmetic(binder: ExpressionBinder, node: exp.Binary) -> Expr:
    """Bind ``+ - * / div %`` over numbers, dates, timestamps and intervals."""
    return _chained(binder, node)


def arithmetic(binder: ExpressionBinder, operator: str, left: Expr, right: Expr, node: exp.Expr) -> Expr:
    """Return the typed call of the arithmetic operator with the registry name ``operator``, such as "add",
    over bound operands, with Spark's casts; ``node`` is for messages. Raises
    DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES or .BINARY_OP_WRONG_TYPE if Spark has no such operator."""
    if operator in ("add", "subtract") and (left.type in DATETIMES or right.type in DATETIMES):
        moved = time_arithmetic.time_arithmetic(binder, operator, left, right, node)
        if moved is not None:
            return moved
    if operator in ("add", "subtract") and (is_time(left.type) or is_time(right.type)):
        moved = clock_arithmetic.clock_arithmetic(binder, operator, left, right, node)
        if moved is not None:
            return moved
    elif is_interval(left.type) or is_interval(right.type):
        if operator == "div" and VOID in (left.type, right.type):
            raise unsupported("An interval and NULL divided", node)
        scaled = time_arithmetic.interval_arithmetic(binder, operator, left, right, node)
        if scaled is not None:
            return scaled
    left, right = _numbers(binder, left), _numbers(binder, right)
    kind = _operand_type(binder.context.coercion, operator, left.type, right.type)
    if kind is None:
        raise _mismatch(binder, node, *_beside_string(binder, left.type, right.type), _NUMBER_OR_INTERVAL)
    if is_decimal(kind):
        return _decimal_arithmetic(binder, operator, left, right)
    result = BIGINT if operator == "div" else kind
    return Call(result, operator, (cast_to(left, kind), cast_to(right, kind)))


def _beside_string(
    binder: ExpressionBinder, left: pa.DataType, right: pa.DataType
) -> tuple[pa.DataType, pa.DataType]:
    """Return the operands' types as Spark's error about a mismatch shows them: in ANSI mode, a string operand
    counts as the type of the other operand, NULL beside a string as a string."""
    if not binder.context.coercion.ansi:
        return left, right
    if is_string(left) and not pa.types.is_nested(right):
        return (left, left) if right == VOID else (right, right)
    if is_string(right) and not pa.types.is_nested(left):
        return (right, right) if left == VOID else (left, left)
    return left, right


def _numbers(binder: ExpressionBinder, operand: Expr) -> Expr:
    """Return the operand of an arithmetic operator as a double if ANSI mode is off and it is a string."""
    if binder.context.coercion.ansi or not is_string(operand.type):
        return operand
    return cast_to(operand, DOUBLE)


def _operand_type(
    coercion: Coercion, operator: str, left: pa.DataType, right: pa.DataType
) -> pa.DataType | None:
    """Return the type that both operands of an arithmetic operator are cast to; None if they don't fit. A
    decimal type only means that the rules for decimals apply, which cast each operand to a type of its
    own."""
    if left == VOID and right == VOID:
        return BIGINT if operator == "div" else DOUBLE
    if is_string(left) and is_string(right):
        return None
    kind = coercion.operand_type(left, right)
    if kind is None or not is_numeric(kind):
        return None
    if operator == "divide" and (left == VOID or not is_decimal(kind)):
        return DOUBLE
    if operator == "div" and is_integral(kind):
        return BIGINT
    if operator == "div" and is_fractional(kind):
        return None
    return kind


def _decimal_arithmetic(binder: ExpressionBinder, operator: str, left: Expr, right: Expr) -> Expr:
    left, right = decimal_operands(binder, left, right)
    if operator == "div":
        return Call(BIGINT, operator, (left, right))
    return Call(_DECIMAL_RESULT[operator](left.type, right.type), operator, (left, right))


def decimal_operands(binder: ExpressionBinder, left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Return both operands as decimals. A whole number is cast to the decimal type that holds its type, an
    integer literal other than a TINYINT becomes the narrowest decimal of its value, and NULL gets the other
    operand's type."""

    def convert(operand: Expr, other: Expr) -> Expr:
        if is_decimal(operand.type):
            return operand
        if operand.type == VOID:
            return cast_to(operand, other.type)
        if isinstance(operand, Parameter) and is_integral(operand.type):
            return binder.context.narrowest(operand)
        if isinstance(operand, Literal) and isinstance(operand.value, int) and operand.type != types.TINYINT:
            return Literal(decimal_of_value(operand.value), Decimal(operand.value))
        return Cast(as_decimal(operand.type), operand)

    return convert(left, right), convert(right, left)


# ---- signs


@handles(exp.Neg)
def bind_negative(binder: ExpressionBinder, node: exp.Neg) -> Expr:
    """Bind ``-x``; if ``x`` is a number in the text, the sign is part of the literal."""
    literal = negative_literal(node)
    if literal is not None:
        return lifted(binder, node, literal)
    operand = binder.bind(node.this)
    return _signed(binder, "negative", operand, node)


def _signed(binder: ExpressionBinder, function: str, operand: Expr, node: exp.Expr) -> Expr:
    if is_string(operand.type) or operand.type == VOID:
        operand = cast_to(operand, DOUBLE)
    if not is_numeric(operand.type) and not is_interval(operand.type):
        raise wrong_operand(binder, node, operand.type, _NUMBER_OR_INTERVAL)
    return Call(operand.type, function, (operand,))


@handles(UnaryPlus)
def bind_positive(binder: ExpressionBinder, node: UnaryPlus) -> Expr:
    """Bind ``+x``, an expression with a plus sign."""
    return _signed(binder, "positive", binder.bind(node.this), node)


@handles(exp.BitwiseNot)
def bind_bitwise_not(binder: ExpressionBinder, node: exp.BitwiseNot) -> Expr:
    """Bind ``~x``, an integer with all bits inverted."""
    operand = binder.bind(node.this)
    if operand.type == VOID:
        operand = cast_to(operand, INT)
    if not is_integral(operand.type):
        raise wrong_operand(binder, node, operand.type, '"INTEGRAL"')
    return Call(operand.type, "bit_not", (operand,))


# ---- bits and strings


@handles(*BITWISE, *SHIFTS, exp.DPipe, arguments="this expression expressions safe")
def bind_bitwise(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Bind ``& ^ | << >> >>> ||``; sqlglot parses all of these with one precedence, so they are regrouped by
    Spark's."""
    return _chained(binder, regrouped(node))


def _chained(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Bind an operator whose left operand is a chain of operators, such as ``a + b + c``, in a loop over the
    chain instead of by recursion."""
    chain = spine(node, _CHAINED)
    maker = calendar_intervals.maker_of(left_of(chain[0])) if type(chain[0]) is exp.Add else None
    if maker is None:
        first = binder.bind(left_of(chain[0]))
    else:
        moment = binder.bind(right_of(chain[0]))
        first = calendar_intervals.moved(binder, "add", moment, maker, chain[0], swapped=True)
        chain = chain[1:]
    return fold_chain(chain, first, lambda left, link: _operator(binder, left, link))


#: Operators that group to the left, whose chains are bound in a loop.
_CHAINED: Final = frozenset({*ARITHMETIC, *BITWISE, *SHIFTS, exp.DPipe})


def _operator(binder: ExpressionBinder, left: Expr, node: exp.Expr) -> Expr:
    kind = type(node)
    maker = calendar_intervals.maker_of(right_of(node)) if kind in (exp.Add, exp.Sub) else None
    if maker is not None:
        return calendar_intervals.moved(binder, ARITHMETIC[kind], left, maker, node)
    right = binder.bind(right_of(node))
    if kind in ARITHMETIC:
        return arithmetic(binder, ARITHMETIC[kind], left, right, node)
    if kind is exp.DPipe:
        return concatenation(binder, [left, right], node, "concat_op")
    if kind in SHIFTS:
        return _shift(binder, SHIFTS[kind], left, right, node)
    left, right = _numbers(binder, left), _numbers(binder, right)
    result = binder.context.coercion.operand_type(left.type, right.type)
    if is_string(left.type) and is_string(right.type):
        result = STRING
    if result == VOID:
        result = INT
    if result is None or not is_integral(result):
        raise _mismatch(binder, node, *_beside_string(binder, left.type, right.type), '"INTEGRAL"')
    return Call(result, BITWISE[kind], (cast_to(left, result), cast_to(right, result)))


def _shift(binder: ExpressionBinder, function: str, left: Expr, right: Expr, node: exp.Expr) -> Expr:
    kind = left.type if left.type in (INT, BIGINT) else INT
    implicit_cast = binder.context.coercion.implicit_cast
    if implicit_cast(left.type, INT) is None:
        raise wrong_operand(binder, node, left.type, '("INT" or "BIGINT")')
    if implicit_cast(right.type, INT) is None:
        raise argument_error(binder, 1, '"INT"', right, node)
    return Call(kind, function, (cast_to(left, kind), cast_to(right, INT)))


def concatenation(binder: ExpressionBinder, operands: list[Expr], node: exp.Expr, function: str) -> Expr:
    """Bind ``||`` or ``concat`` (``function``, for messages) to a call over arrays of one type, over
    binaries, or over all operands as strings. Raises DATATYPE_MISMATCH.DATA_DIFF_TYPES for arrays without a
    common type, arrays beside other types, maps and structs."""
    kinds = [operand.type for operand in operands]
    wanted: pa.DataType | None = types.BINARY if set(kinds) == {types.BINARY} else STRING
    if any(pa.types.is_nested(kind) for kind in kinds):
        is_lists = all(pa.types.is_list(kind) for kind in kinds)
        wanted = binder.context.coercion.common_type(kinds) if is_lists else None
    if wanted is None:
        raise mixed_types(binder, "concat", operands, node)
    return Call(wanted, function, tuple(cast_to(operand, wanted) for operand in operands))


# ---- logic


@handles(exp.And, exp.Or, arguments="this expression")
def bind_connective(binder: ExpressionBinder, node: exp.And | exp.Or) -> Expr:
    """Bind AND or OR; chains of one operator are bound without recursion."""
    kind = type(node)
    chain = spine(node, {kind})
    operands = [binder.bind(chain[0].this)]
    for link in chain:
        right = binder.bind(link.args["expression"])
        operands[-1], right = _booleans(binder, operands[-1], right, link)
        operands.append(right)
    return connected("and" if kind is exp.And else "or", operands)


def _booleans(binder: ExpressionBinder, left: Expr, right: Expr, node: exp.Expr) -> tuple[Expr, Expr]:
    if left.type == right.type == BOOLEAN:
        return left, right
    kind = binder.context.coercion.operand_type(left.type, right.type)
    if kind not in (BOOLEAN, VOID):
        raise _mismatch(binder, node, *_beside_string(binder, left.type, right.type), '"BOOLEAN"')
    return cast_to(left, BOOLEAN), cast_to(right, BOOLEAN)


@handles(exp.Not)
def bind_not(binder: ExpressionBinder, node: exp.Not) -> Expr:
    """Bind NOT, also where it is part of NOT IN or NOT BETWEEN."""
    operand = binder.bind(node.this)
    if operand.type == VOID or (is_string(operand.type) and binder.context.coercion.ansi):
        operand = cast_to(operand, BOOLEAN)
    if operand.type != BOOLEAN:
        raise wrong_operand(binder, node, operand.type, '"BOOLEAN"')
    return negation(operand)


def negation(operand: Expr) -> Expr:
    """Return the call of NOT over a boolean expression."""
    return Call(BOOLEAN, "not", (operand,))


# ---- errors


def _mismatch(
    binder: ExpressionBinder, node: exp.Expr, left: pa.DataType, right: pa.DataType, wanted: str
) -> Error:
    """Make Spark's error for a binary operator's operands, which have two different types or one type that
    the operator doesn't accept; ``wanted`` is the text of the accepted types."""
    if left == right:
        return _wrong_type(binder, node, left, wanted)
    return failure(
        "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES",
        f'Cannot resolve "{binder.name(node)}" due to data type mismatch: the left and right operands of the '
        "binary operator "
        f'have incompatible types ("{types.sql_name(left)}" and "{types.sql_name(right)}").',
        node,
    )


def _wrong_type(binder: ExpressionBinder, node: exp.Expr, given: pa.DataType, wanted: str) -> Error:
    return failure(
        "DATATYPE_MISMATCH.BINARY_OP_WRONG_TYPE",
        f'Cannot resolve "{binder.name(node)}" due to data type mismatch: the binary operator requires the '
        f"input type {wanted}, "
        f'not "{types.sql_name(given)}".',
        node,
    )


def wrong_operand(binder: ExpressionBinder, node: exp.Expr, given: pa.DataType, wanted: str) -> Error:
    """Make Spark's error for a unary operator whose operand has the type ``given``; ``wanted`` is the text of
    the accepted types."""
    inner = unparenthesized(node.this)
    return failure(
        "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
        f'Cannot resolve "{binder.name(node)}" due to data type mismatch: The first parameter requires the '
        f"{wanted} type, "
        f'however "{binder.name(inner)}" has the type "{types.sql_name(given)}".',
        node,
    )
