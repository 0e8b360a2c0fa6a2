"""Binding of predicates: comparisons, BETWEEN, IN over lists, LIKE, ILIKE, RLIKE, and IS."""

from decimal import Decimal
from typing import Final, cast

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.expressions.arguments import unresolved_routine
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder, cast_to
from sqlfront_planner.binder.expressions.literals import bind_list
from sqlfront_planner.binder.expressions.operators import decimal_operands, negation
from sqlfront_planner.binder.expressions.subqueries import in_subquery
from sqlfront_planner.binder.trees.handlers import failure, handles, unparenthesized, unsupported
from sqlfront_planner.binder.trees.precedence import refuse_predicate, refuse_predicate_operands, regrouped
from sqlfront_planner.tokens.marks import NotNullMark
from sqlfront_planner.types import (
    as_decimal,
    compares_inside,
    is_orderable,
    names_of,
    same_but_for_names,
)
from sqlfront_values import types
from sqlfront_values.expressions import Call, Cast, Expr, Literal, Parameter
from sqlfront_values.types import BOOLEAN, STRING, is_decimal, is_integral, is_numeric, is_string

COMPARISONS: Final[dict[type[exp.Expr], str]] = {
    exp.EQ: "equal",
    exp.NEQ: "not_equal",
    exp.LT: "less",
    exp.LTE: "less_equal",
    exp.GT: "greater",
    exp.GTE: "greater_equal",
    exp.NullSafeEQ: "equal_null_safe",
    exp.NullSafeNEQ: "equal_null_safe",
}
_MIRRORED: Final = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}
#: Comparisons for which Spark never casts a boolean to a number.
_ORDERING: Final = frozenset({exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between})
#: Digits: every whole number of at most this many digits is a bigint (the largest bigint has 19).
_BIGINT_DIGITS: Final = 18
PATTERNS: Final[dict[type[exp.Expr], str]] = {exp.Like: "like", exp.ILike: "ilike", exp.RegexpLike: "rlike"}


@handles(*COMPARISONS, arguments="this expression")
def bind_comparison(binder: ExpressionBinder, node: exp.Binary) -> Expr:
    """Bind ``= <> < <= > >= <=>`` and IS [NOT] DISTINCT FROM."""
    refuse_predicate_operands(node)
    chained = type(node.this) in COMPARISONS or type(node.expression) in COMPARISONS
    if chained and not isinstance(node, exp.NullSafeNEQ):
        node = cast(exp.Binary, regrouped(node))
    left, right = binder.bind(node.this), binder.bind(node.expression)
    result = comparison(binder, COMPARISONS[type(node)], left, right, node)
    return negation(result) if isinstance(node, exp.NullSafeNEQ) else result


def comparison(binder: ExpressionBinder, operator: str, left: Expr, right: Expr, node: exp.Expr) -> Expr:
    """Return the typed call of the comparison with the registry name ``operator``, such as "less", with both
    operands cast to one type; ``node`` is for messages. If ``< <= > >=`` compares a whole number with a
    decimal literal beyond bigint's range, the result is the literal TRUE or FALSE."""
    decided = _beyond_bigint(binder, operator, left, right)
    if decided is not None:
        return Literal(BOOLEAN, decided)
    left, right = comparable(binder, left, right, node)
    return Call(BOOLEAN, operator, (left, right))


def _beyond_bigint(binder: ExpressionBinder, operator: str, left: Expr, right: Expr) -> bool | None:
    """Return the truth value of ``left operator right`` if ``< <= > >=`` compares a whole number with a
    decimal literal beyond bigint's range (even if the number is null); None for other comparisons."""
    if operator not in _MIRRORED:
        return None
    if is_integral(right.type):
        operator, left, right = _MIRRORED[operator], right, left
    beyond = is_decimal(right.type) and right.type.precision - right.type.scale > _BIGINT_DIGITS
    if not is_integral(left.type) or not beyond:
        return None
    known = binder.context.known_value(right)
    if not isinstance(known, Literal) or not isinstance(known.value, Decimal):
        return None
    if -(1 << 63) <= known.value <= (1 << 63) - 1:
        return None
    return (known.value > 0) == operator.startswith("less")


def comparable(binder: ExpressionBinder, left: Expr, right: Expr, node: exp.Expr) -> tuple[Expr, Expr]:
    """Return both operands cast to the type in which Spark compares them. Raises
    DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES, or .INVALID_ORDERING_TYPE for a type without an order."""
    if left.type == right.type and not pa.types.is_nested(left.type) and not types.is_variant(left.type):
        return left, right
    if not binder.context.coercion.ansi and type(node) not in _ORDERING:
        left, right = _as_number(binder, left, right, node), _as_number(binder, right, left, node)
    left, right = _in_decimal(binder, left, right), _in_decimal(binder, right, left)
    numbers = is_numeric(left.type) and is_numeric(right.type)
    compared_type = binder.context.coercion.compared_type
    if numbers and is_decimal(compared_type(left.type, right.type)):
        left, right = decimal_operands(binder, left, right)
    kind = compared_type(left.type, right.type)
    if kind is None and same_but_for_names(left.type, right.type):
        kind = left.type
    if pa.types.is_nested(left.type) and not compares_inside(left.type, right.type):
        kind = None
    if kind is not None:
        left, right = _settled(binder, left, right, kind), _settled(binder, right, left, kind)
    if kind is None:
        raise failure(
            "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES",
            f'Cannot resolve "{binder.name(node)}" due to data type mismatch: the left and right operands of '
            "the binary "
            f'operator have incompatible types ("{types.sql_name(left.type)}" and '
            f'"{types.sql_name(right.type)}").',
            node,
        )
    if not is_orderable(kind):
        raise failure(
            "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE",
            f'Cannot resolve "{binder.name(node)}" due to data type mismatch: The comparison does not '
            "support ordering on "
            f'type "{types.sql_name(kind)}".',
            node,
        )
    return cast_to(left, kind), cast_to(right, kind)


def _as_number(binder: ExpressionBinder, operand: Expr, other: Expr, node: exp.Expr) -> Expr:
    """Return a boolean that is compared for equality with a number, cast to the number's type, as Spark does
    with ANSI mode off; any other operand unchanged. Raises NotSupportedError beside the literals 0 and 1, for
    which Spark puts the boolean itself, also in the names of columns."""
    if operand.type != BOOLEAN or not is_numeric(other.type):
        return operand
    known = binder.context.known_value(other)
    if isinstance(known, Literal) and known.value in (0, 1):
        raise unsupported("A boolean compared with the literal 0 or 1", node)
    return cast_to(operand, other.type)


def _in_decimal(binder: ExpressionBinder, operand: Expr, other: Expr) -> Expr:
    """Return ``operand`` cast to the decimal type of ``other`` if ``operand`` is an integer parameter and
    that decimal type holds every value of the parameter's type, or every value with as many digits as the
    parameter has; otherwise return ``operand`` unchanged.

    The cast doesn't change the result of a comparison: Spark's own choice of a decimal type depends on the
    parameter's value, but every type that holds the value compares equally.
    """
    if not (isinstance(operand, Parameter) and is_integral(operand.type) and is_decimal(other.type)):
        return operand
    digits = other.type.precision - other.type.scale
    if digits >= as_decimal(operand.type).precision:
        return Cast(other.type, operand)
    narrow = binder.context.narrowest(operand)
    return Cast(other.type, operand, safe=True) if digits >= narrow.type.precision else operand


def _settled(binder: ExpressionBinder, operand: Expr, other: Expr, kind: pa.DataType) -> Expr:
    """Return the operand as a literal, and pin its value, if it is a lifted literal (a parameter made from a
    literal of the text) whose value affects the plan; else return the operand unchanged.

    ``kind`` is the type of the comparison. If the ``other`` operand would be cast to the literal's type,
    planning with the literal's value can often cast the literal instead, which sources can evaluate. A
    literal whose cast may fail becomes a literal again, too, because planning has to report the error.
    """
    if not isinstance(operand, Parameter):
        return operand
    may_fail = is_string(operand.type) and not is_string(kind)
    if not may_fail and (other.type == kind or (is_integral(other.type) and is_integral(kind))):
        return operand
    return binder.context.settle(operand)


@handles(exp.Between, arguments="this low high")
def bind_between(binder: ExpressionBinder, node: exp.Between) -> Expr:
    """Bind ``a BETWEEN b AND c`` as ``a >= b AND a <= c``."""
    refuse_predicate(node.this, node)
    value = binder.bind(node.this)
    low, high = binder.bind(node.args["low"]), binder.bind(node.args["high"])
    above = comparison(binder, "greater_equal", value, low, node)
    below = comparison(binder, "less_equal", value, high, node)
    return Call(BOOLEAN, "and", (above, below))


@handles(exp.In, arguments="this expressions query")
def bind_in(binder: ExpressionBinder, node: exp.In) -> Expr:
    """Bind ``a IN (b, c)`` over values or ``a IN (SELECT ...)``. Raises INVALID_SQL_SYNTAX.EMPTY_IN_PREDICATE
    for an empty list."""
    refuse_predicate(node.this, node)
    query = node.args.get("query")
    if query is not None and _is_parenthesized(query.this):
        node.set("expressions", [query.this])  # a list of one value, as in Spark
        node.set("query", None)
    elif query is not None:
        return in_subquery(binder, node, query)
    choices = node.expressions
    if not choices:
        raise failure(
            "INVALID_SQL_SYNTAX.EMPTY_IN_PREDICATE", "Invalid SQL syntax: IN predicate can't be empty.", node
        )
    if any(isinstance(choice, exp.Values) for choice in choices):
        raise unresolved_routine("values", node)
    return membership(binder, binder.bind(node.this), bind_list(binder, choices), node)


def _is_parenthesized(query: exp.Expr) -> bool:
    """Return whether a query is another one in parentheses, without clauses of its own."""
    return isinstance(query, exp.Subquery) and not any(
        map(query.args.get, ("order", "limit", "offset", "with_"))
    )


def membership(binder: ExpressionBinder, value: Expr, choices: list[Expr], node: exp.Expr) -> Expr:
    """Bind ``value IN (choices)``, after casting all operands to their least common type. Raises
    DATATYPE_MISMATCH.DATA_DIFF_TYPES, or .INVALID_ORDERING_TYPE for a type that can't be compared."""
    kind = binder.context.coercion.common_type([value.type, *(choice.type for choice in choices)])
    if kind is None and all(same_but_for_names(value.type, choice.type) for choice in choices):
        kind = value.type
    if kind is None:
        shown = names_of([value.type, *(choice.type for choice in choices)])
        raise failure(
            "DATATYPE_MISMATCH.DATA_DIFF_TYPES",
            f'Cannot resolve "{binder.name(node)}" due to data type mismatch: Input to `in` should all be '
            "the same type, "
            f"but it's [{shown}].",
            node,
        )
    if not is_orderable(kind):
        raise failure(
            "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE",
            f'Cannot resolve "{binder.name(node)}" due to data type mismatch: The `in` does not support '
            f'ordering on type "{types.sql_name(kind)}".',
            node,
        )
    choices = [_settled(binder, choice, value, kind) for choice in choices]
    return Call(BOOLEAN, "in", (cast_to(value, kind), *(cast_to(choice, kind) for choice in choices)))


@handles(*PATTERNS, arguments="this expression negate")
def bind_pattern(binder: ExpressionBinder, node: exp.Binary) -> Expr:
    """Bind LIKE, ILIKE and RLIKE, also against ANY or ALL of several patterns."""
    return _pattern(binder, node, None)


@handles(exp.Escape, arguments="this expression")
def bind_escape(binder: ExpressionBinder, node: exp.Escape) -> Expr:
    """Bind ``LIKE pattern ESCAPE 'c'``. Raises INVALID_ESC for an escape that isn't one character."""
    escape = node.expression
    if not isinstance(escape, exp.Literal) or len(str(escape.this)) != 1:
        raise failure("INVALID_ESC", "Found an invalid escape string: it must have one character.", node)
    if not isinstance(node.this, exp.Like | exp.ILike):
        raise unsupported("ESCAPE", node)
    return _pattern(binder, node.this, str(escape.this))


def _pattern(binder: ExpressionBinder, node: exp.Binary, escape: str | None) -> Expr:
    function, patterns = PATTERNS[type(node)], node.expression
    refuse_predicate_operands(node)
    negated = bool(node.args.get("negate"))
    value = _as_string(binder, binder.bind(node.this), node)
    if isinstance(patterns, exp.Any | exp.All):
        return _quantified(binder, function, value, patterns, node, negated=negated)
    result = _match(function, value, _as_string(binder, binder.bind(patterns), node), escape)
    return negation(result) if negated else result


def _match(function: str, value: Expr, pattern: Expr, escape: str | None) -> Expr:
    arguments = (value, pattern) if escape is None else (value, pattern, Literal(STRING, escape))
    return Call(BOOLEAN, function, arguments)


def _quantified(
    binder: ExpressionBinder,
    function: str,
    value: Expr,
    quantifier: exp.Expr,
    node: exp.Expr,
    *,
    negated: bool,
) -> Expr:
    """Bind ``value LIKE ANY (...)`` to one call of ``function`` (a registry name, such as "like") per
    pattern, joined by OR, or ``LIKE ALL`` joined by AND. If ``negated``, each call is negated."""
    inner = quantifier.this
    choices = inner.expressions if isinstance(inner, exp.Tuple) else [unparenthesized(inner)]
    if function == "rlike" or any(isinstance(choice, exp.Query) for choice in choices):
        raise unsupported(f"{function.upper()} {quantifier.key.upper()}", node)
    connective = "or" if isinstance(quantifier, exp.Any) else "and"
    result: Expr | None = None
    for choice in choices:
        matched = _match(function, value, _as_string(binder, binder.bind(choice), node), None)
        part = negation(matched) if negated else matched
        result = part if result is None else Call(BOOLEAN, connective, (result, part))
    if result is None:
        raise unsupported("LIKE ANY or LIKE ALL without patterns", node)
    return result


def _as_string(binder: ExpressionBinder, operand: Expr, node: exp.Expr) -> Expr:
    if not binder.context.coercion.is_implicit(operand.type, STRING):
        raise failure(
            "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
            f'Cannot resolve "{binder.name(node)}" due to data type mismatch: The operands require the '
            '"STRING" type, however '
            f'one has the type "{types.sql_name(operand.type)}".',
            node,
        )
    return cast_to(operand, STRING)


@handles(exp.Is, arguments="this expression")
def bind_is(binder: ExpressionBinder, node: exp.Is) -> Expr:
    """Bind IS [NOT] NULL, UNKNOWN (as NULL), TRUE and FALSE."""
    refuse_predicate(node.this, node)
    operand, what = binder.bind(node.this), node.expression
    match what:
        case exp.Null():
            return Call(BOOLEAN, "is_null", (operand,))
        case exp.Literal(this=NotNullMark()):
            return Call(BOOLEAN, "is_not_null", (operand,))
        case exp.Boolean():
            return comparison(binder, "equal_null_safe", operand, Literal(BOOLEAN, bool(what.this)), node)
    raise unsupported("IS with this operand", node)
