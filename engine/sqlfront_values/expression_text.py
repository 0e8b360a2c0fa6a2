"""Expressions as one line of text, for EXPLAIN and for processors' descriptions.

A column shows as ``name#ordinal``, since several columns of a row may have the same name. Operators stand
between their operands; all other expressions look like a call. The text is for readers, no code parses it.
"""

from collections.abc import Callable, Sequence
from typing import Final

from sqlfront_values.errors import InternalError
from sqlfront_values.expressions import (
    AggregateCall,
    Call,
    Case,
    Cast,
    Chain,
    Column,
    Expr,
    HigherOrder,
    Lambda,
    Literal,
    Parameter,
    Previous,
    RunValue,
    SortKey,
    SortOrder,
    WindowCall,
    map_columns,
)
from sqlfront_values.functions.registry import OPERATORS
from sqlfront_values.stacks import deep
from sqlfront_values.types import DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, ddl

_POSTFIX: Final = frozenset({"is_null", "is_not_null"})
_PREFIX: Final = {"not": "NOT ", "negative": "- ", "bit_not": "~ "}
_PREFIXED_LITERALS: Final = {DATE: "DATE", TIMESTAMP: "TIMESTAMP", TIMESTAMP_NTZ: "TIMESTAMP_NTZ"}
_ORDERS: Final = {
    SortOrder.ASCENDING: "",
    SortOrder.ASCENDING_NULLS_LAST: " NULLS LAST",
    SortOrder.DESCENDING: " DESC",
    SortOrder.DESCENDING_NULLS_FIRST: " DESC NULLS FIRST",
}


def describe(expression: Expr) -> str:
    """Describe the expression in one line, without the outermost parentheses.

    >>> import pyarrow as pa
    >>> price = Column(pa.float64(), 3, "price")
    >>> describe(Call(pa.bool_(), "less", (price, Literal(pa.float64(), 2.5))))
    'price#3 < 2.5'
    """
    text = _describe(expression)
    return text[1:-1] if _is_infix(expression) else text


def describe_call(call: AggregateCall | WindowCall) -> str:
    """Describe an aggregate or window call in one line; a window call's frame is left out.

    >>> import pyarrow as pa
    >>> describe_call(AggregateCall("count", (Column(pa.string(), 0, "name"),), pa.int64(), distinct=True))
    'count(DISTINCT name#0)'
    """
    arguments = ", ".join(describe(argument) for argument in call.arguments)
    if isinstance(call, WindowCall):
        return f"{call.function}({arguments})" + (" IGNORE NULLS" if call.ignore_nulls else "")
    if call.function == "count" and not call.arguments:
        arguments = "*"
    text = f"{call.function}({'DISTINCT ' if call.distinct else ''}{arguments})"
    return text if call.filter is None else f"{text} FILTER (WHERE {describe(call.filter)})"


def describe_limit(
    count: int | None, offset: int, run_count: Sequence[Expr] = (), run_offset: Sequence[Expr] = ()
) -> str:
    """Return the text of a limit that skips ``offset`` rows and returns at most ``count`` further rows (None
    = all). ``run_count`` and ``run_offset``: if there are any, the expressions whose sum is the number in a
    run; the text then has these expressions instead of the number.

    >>> describe_limit(10, 5)
    '10 offset 5'
    """
    rows = _sum_text(run_count) or ("all" if count is None else str(count))
    skipped = _sum_text(run_offset) or (str(offset) if offset else "")
    return f"{rows} offset {skipped}" if skipped else rows


def _sum_text(parts: Sequence[Expr]) -> str:
    return " + ".join(map(describe, parts))


def describe_key(key: SortKey, name: str = "") -> str:
    """Describe a sort key in one line; ``name`` is the name of the key's column.

    >>> describe_key(SortKey(2, SortOrder.DESCENDING_NULLS_FIRST), "price")
    'price#2 DESC NULLS FIRST'
    """
    return f"{name}#{key.ordinal}{describe_order(key.order)}"


def describe_order(order: SortOrder) -> str:
    """Return the words that follow an item of ORDER BY for ``order``, with a blank before them. The default
    words are left out: ASC; NULLS FIRST when ascending; NULLS LAST when descending.

    >>> describe_order(SortOrder.ASCENDING_NULLS_LAST)
    ' NULLS LAST'
    """
    return _ORDERS[order]


def _is_infix(expression: Expr) -> bool:
    if isinstance(expression, Chain):
        return _is_infix(expression.links[-1])
    return (
        isinstance(expression, Call)
        and expression.function in OPERATORS
        and expression.function not in ("get_item", "get_field", "get_fields")
    )


@deep
def _describe(expression: Expr) -> str:
    match expression:
        case Column(ordinal=ordinal, name=name):
            return f"{name}#{ordinal}"
        case Literal():
            return _literal(expression)
        case Parameter(index=index):
            return f"?{index}"
        case RunValue(name=name):
            return f"{name}()"
        case Call():
            return _call(expression)
        case Cast(operand=operand, safe=safe):
            return f"{'try_cast' if safe else 'cast'}({describe(operand)} as {ddl(expression.type)})"
        case Case(branches=branches, otherwise=otherwise):
            parts = [f"WHEN {describe(condition)} THEN {describe(value)}" for condition, value in branches]
            return f"CASE {' '.join(parts)} ELSE {describe(otherwise)} END"
        case Chain():
            return describe_chain(expression, _describe)
        case Previous():
            return PREVIOUS
        case HigherOrder(function=function):
            operands = [*map(describe, expression.arguments)]
            operands += [_lambda(one, expression.captured) for one in expression.lambdas]
            return f"{function}({', '.join(operands)})"
        case _:
            return _extension(expression)


def _lambda(function: Lambda, captured: Sequence[Expr]) -> str:
    """Return the text of a lambda: its parameters are columns, with the names that the query gives them; a
    captured value stands for the column that has it."""
    names: dict[int, str] = {}

    def shown(column: Column) -> Expr:
        if column.ordinal >= function.parameters:
            return captured[column.ordinal - function.parameters]
        names[column.ordinal] = column.name
        return column

    body = describe(map_columns(function.body, shown))
    texts = [f"{names.get(place, '')}#{place}" for place in range(function.parameters)]
    head = texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
    return f"{head} -> {body}"


#: Placeholder for the previous value in the text of a chain's link, until that value's text replaces it.
PREVIOUS: Final = "\0"


def describe_chain(chain: Chain, text_of: Callable[[Expr], str]) -> str:
    """Return the text of a chain as if its operators were nested in one another. ``text_of`` returns the text
    of one expression, in which :data:`PREVIOUS` stands for the chain's previous value."""
    before, after = [], []
    for link in reversed(chain.links):
        opening, _, closing = text_of(link).partition(PREVIOUS)
        before.append(opening)
        after.append(closing)
    return "".join((*before, text_of(chain.first), *reversed(after)))


def _extension(expression: Expr) -> str:
    """Return the ``describe()`` of an expression whose class is not one of the engine's, such as a subquery
    of the planner. Raises InternalError if the expression has no such method."""
    own = getattr(expression, "describe", None)
    if own is None:
        raise InternalError(f"no text for {type(expression).__name__}")
    return str(own())


def _literal(literal: Literal) -> str:
    value = literal.value
    if value is None:
        return "NULL"
    if literal.type == STRING:
        text = str(value).replace("'", "''")
        return f"'{text}'"
    if literal.type in _PREFIXED_LITERALS:
        return f"{_PREFIXED_LITERALS[literal.type]} '{value}'"
    return str(value)


def _call(call: Call) -> str:
    function, arguments = call.function, call.arguments
    if not _is_infix(call):
        return f"{function}({', '.join(describe(argument) for argument in arguments)})"
    return operator_text(function, [_describe(argument) for argument in arguments])


def operator_text(function: str, operands: Sequence[str]) -> str:
    """Return the text of an operator, named by its registry function, with the texts of its operands; the
    text is in parentheses.

    >>> operator_text("is_null", ["a"]), operator_text("in", ["a", "1", "2"]), operator_text("not", ["b"])
    ('(a IS NULL)', '(a IN (1, 2))', '(NOT b)')
    """
    symbol = OPERATORS[function]
    first, *rest = operands
    if function in _POSTFIX:
        return f"({first} {symbol})"
    if function in _PREFIX:
        return f"({_PREFIX[function]}{first})"
    if function == "in":
        return f"({first} IN ({', '.join(rest)}))"
    return f"({f' {symbol} '.join([first, *rest])})"
