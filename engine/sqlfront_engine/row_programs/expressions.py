"""Expressions over Python tuples: those whose results in Python are Spark's.

They are comparisons, logic, and exact arithmetic. All other expressions, and values for which Spark raises an
error, are left to the kernels (:class:`~sqlfront_engine.row_programs.program.NotByRows`).
"""

import operator
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from typing import Final

import pyarrow as pa

from sqlfront_engine.row_programs.program import Evaluate, NotByRows, Row
from sqlfront_values.expressions import Call, Case, Cast, Chain, Column, Expr, Literal, walk
from sqlfront_values.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VALUE_BITS,
    is_decimal,
    is_integral,
)

#: Exact arithmetic, independent of the thread's own decimal context: twice the 38 digits of the longest
#: decimal, and some more.
EXACT: Final = Context(prec=80)
_COMPARISONS: Final[dict[str, Callable[..., bool]]] = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
_DECIMAL_ARITHMETIC: Final[dict[str, Callable[..., Decimal]]] = {
    "add": EXACT.add,
    "subtract": EXACT.subtract,
    "multiply": EXACT.multiply,
}
_ARITHMETIC: Final[dict[str, Callable[..., object]]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
}
#: Levels of an expression above which the expression is left to the kernels: each level is a Python call, and
#: the stack is limited.
_DEEPEST: Final = 40
#: Types whose values Python compares as Spark does. Not floats: NaN.
_COMPARED: Final = frozenset(
    {BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, STRING, pa.binary(), DATE, TIMESTAMP, TIMESTAMP_NTZ}
)


class Constants:
    """The expressions of a plan that read no column; each is computed once per run."""

    def __init__(self) -> None:
        self.expressions: list[Expr] = []
        self._places: dict[int, int] = {}

    def place(self, expression: Expr) -> int:
        """Return the position of the expression among the constants, at which each run of the plan has the
        expression's value; a new expression is added at the end."""
        place = self._places.setdefault(id(expression), len(self.expressions))
        if place == len(self.expressions):
            self.expressions.append(expression)
        return place


def is_comparable(data_type: pa.DataType) -> bool:
    """Return whether Python compares and hashes values of the type as Spark does."""
    return data_type in _COMPARED or is_decimal(data_type)


def is_row_constant(expression: Expr) -> bool:
    """Return whether the expression has a single value in each run, the same for all rows."""
    return not any(isinstance(item, Column) for item in walk(expression))


def compiled(
    expression: Expr, constants: Constants, deterministic: Callable[[Expr], bool], depth: int = 0
) -> Evaluate | None:
    """Compile the expression to a function of the row and the run's constants; returns None if only the
    kernels compute it.

    An expression without columns is added to ``constants``, which the caller computes once per run, if
    ``deterministic`` returns True for it. ``depth``: the number of expressions that enclose this one.
    """
    if isinstance(expression, Column):
        ordinal = expression.ordinal
        return lambda row, _: row[ordinal]
    if isinstance(expression, Literal):
        value = expression.value
        return lambda row, _: value
    if is_row_constant(expression):
        if not deterministic(expression):
            return None
        place = constants.place(expression)
        return lambda row, values: values[place]
    if isinstance(expression, Chain) or depth == _DEEPEST:
        return None
    operands = [compiled(child, constants, deterministic, depth + 1) for child in expression.children()]
    known = [operand for operand in operands if operand is not None]
    if len(known) < len(operands):
        return None
    match expression:
        case Call():
            return _call(expression, known)
        case Cast():
            return _cast(expression, known[0])
        case Case():
            return _case(known)
        case _:
            return None


def _call(call: Call, operands: Sequence[Evaluate]) -> Evaluate | None:
    function, kinds = call.function, [argument.type for argument in call.arguments]
    if function in _COMPARISONS:
        return _comparison(_COMPARISONS[function], *operands) if _alike(kinds) else None
    match function:
        case "and":
            return _and(operands)
        case "or":
            return _or(operands)
        case "not":
            (operand,) = operands
            return lambda row, values: None if (value := operand(row, values)) is None else not value
        case "is_null":
            (operand,) = operands
            return lambda row, values: operand(row, values) is None
        case "is_not_null":
            (operand,) = operands
            return lambda row, values: operand(row, values) is not None
        case "equal_null_safe":
            return _null_safe(*operands) if _alike(kinds) else None
        case "in":
            if not _alike(kinds):
                return None
            known = [choice.value for choice in call.arguments[1:] if isinstance(choice, Literal)]
            return _among(operands[0], known) if len(known) == len(operands) - 1 else _in(operands)
        case "coalesce":
            return _coalesce(operands)
        case "add" | "subtract" | "multiply":
            return _arithmetic(call, kinds, operands)
        case _:
            return None


def _alike(kinds: Sequence[pa.DataType]) -> bool:
    """Return whether Python compares values of these types with each other as Spark does: all types are
    equal, or all are decimals."""
    return all(map(is_comparable, kinds)) and (len(set(kinds)) == 1 or all(map(is_decimal, kinds)))


def _comparison(compare: Callable[..., bool], left: Evaluate, right: Evaluate) -> Evaluate:
    def value(row: Row, values: Sequence[object]) -> bool | None:
        first = left(row, values)
        second = right(row, values)
        return None if first is None or second is None else compare(first, second)

    return value


def _null_safe(left: Evaluate, right: Evaluate) -> Evaluate:
    return lambda row, values: left(row, values) == right(row, values)


def _and(operands: Sequence[Evaluate]) -> Evaluate:
    def value(row: Row, values: Sequence[object]) -> bool | None:
        unknown = False
        for operand in operands:
            part = operand(row, values)
            if part is None:
                unknown = True
            elif not part:
                return False
        return None if unknown else True

    return value


def _or(operands: Sequence[Evaluate]) -> Evaluate:
    def value(row: Row, values: Sequence[object]) -> bool | None:
        unknown = False
        for operand in operands:
            part = operand(row, values)
            if part is None:
                unknown = True
            elif part:
                return True
        return None if unknown else False

    return value


def _among(tested: Evaluate, choices: Sequence[object]) -> Evaluate:
    """Return a function of the row for ``tested IN choices``, for any number of literal values
    ``choices``."""
    known = frozenset(choices)
    otherwise = None if None in known else False

    def value(row: Row, values: Sequence[object]) -> bool | None:
        wanted = tested(row, values)
        if wanted is None:
            return None
        return True if wanted in known else otherwise

    return value


def _in(operands: Sequence[Evaluate]) -> Evaluate:
    tested, *choices = operands

    def value(row: Row, values: Sequence[object]) -> bool | None:
        wanted = tested(row, values)
        if wanted is None:
            return None
        unknown = False
        for choice in choices:
            given = choice(row, values)
            if given is None:
                unknown = True
            elif given == wanted:
                return True
        return None if unknown else False

    return value


def _coalesce(operands: Sequence[Evaluate]) -> Evaluate:
    def value(row: Row, values: Sequence[object]) -> object:
        for operand in operands:
            part = operand(row, values)
            if part is not None:
                return part
        return None

    return value


def _case(operands: Sequence[Evaluate]) -> Evaluate:
    branches = list(zip(operands[:-1:2], operands[1:-1:2], strict=True))
    otherwise = operands[-1]

    def value(row: Row, values: Sequence[object]) -> object:
        for condition, chosen in branches:
            if condition(row, values):
                return chosen(row, values)
        return otherwise(row, values)

    return value


def _arithmetic(call: Call, kinds: Sequence[pa.DataType], operands: Sequence[Evaluate]) -> Evaluate | None:
    left, right = operands
    if is_integral(call.type) and kinds == [call.type, call.type]:
        return _bounded(_ARITHMETIC[call.function], left, right, 1 << VALUE_BITS[call.type])
    if call.type == DOUBLE and kinds == [DOUBLE, DOUBLE]:
        return _plain(_ARITHMETIC[call.function], left, right)
    if is_decimal(call.type) and all(map(is_decimal, kinds)):
        first, second = kinds
        several = call.function == "multiply"
        scale = first.scale + second.scale if several else max(first.scale, second.scale)
        if scale == call.type.scale:  # else digits would be rounded away
            bound = 10 ** (call.type.precision - scale)
            return _bounded(_DECIMAL_ARITHMETIC[call.function], left, right, bound)
    return None


def _plain(compute: Callable[..., object], left: Evaluate, right: Evaluate) -> Evaluate:
    def value(row: Row, values: Sequence[object]) -> object:
        first = left(row, values)
        second = right(row, values)
        return None if first is None or second is None else compute(first, second)

    return value


def _bounded(compute: Callable[..., object], left: Evaluate, right: Evaluate, bound: int) -> Evaluate:
    """Return a function of the row that computes ``compute(left, right)``, or null if an operand is null. It
    raises NotByRows for a result of ``bound`` or more, or -``bound`` or less, which is an error in Spark."""

    def value(row: Row, values: Sequence[object]) -> object:
        first = left(row, values)
        second = right(row, values)
        if first is None or second is None:
            return None
        result = compute(first, second)
        if not -bound < result < bound:  # type: ignore[operator]
            raise NotByRows
        return result

    return value


def _cast(cast: Cast, operand: Evaluate) -> Evaluate | None:
    """Return the function of the row that casts the value of ``operand``, if the cast loses nothing; None for
    other casts, which are left to the kernels."""
    source, wanted = cast.operand.type, cast.type
    if source == wanted:
        return operand
    if is_integral(source) and is_integral(wanted) and VALUE_BITS[source] <= VALUE_BITS[wanted]:
        return operand
    if is_integral(source) and wanted == DOUBLE:
        return lambda row, values: None if (value := operand(row, values)) is None else float(value)  # type: ignore[arg-type]
    if is_decimal(wanted) and (is_integral(source) or is_decimal(source)):
        return _to_decimal(source, wanted, operand)
    return None


def _to_decimal(source: pa.DataType, wanted: pa.DataType, operand: Evaluate) -> Evaluate | None:
    if is_decimal(source) and source.scale > wanted.scale:
        return None
    unit, bound = Decimal((0, (1,), -wanted.scale)), 10 ** (wanted.precision - wanted.scale)

    def value(row: Row, values: Sequence[object]) -> object:
        given = operand(row, values)
        if given is None:
            return None
        assert isinstance(given, int | Decimal)
        if not -bound < given < bound:
            raise NotByRows
        return EXACT.quantize(Decimal(given), unit)

    return value
