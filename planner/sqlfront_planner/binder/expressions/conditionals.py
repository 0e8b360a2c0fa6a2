"""Binding of CASE, and of functions that are forms of CASE: if, nvl, nvl2, nullif, decode, ..."""

from typing import Final

from sqlglot import exp

from sqlfront_planner.binder.expressions.arguments import CallBinders, call_function, mixed_types
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder, cast_to, unify
from sqlfront_planner.binder.expressions.predicates import comparison
from sqlfront_planner.binder.trees.handlers import failure, handles, refuse_unknown, unsupported
from sqlfront_planner.expressions.rewriting import is_deterministic
from sqlfront_values import types
from sqlfront_values.expressions import Call, Case, Expr, Literal
from sqlfront_values.types import BOOLEAN, VOID


@handles(exp.Case, arguments="this ifs default")
def bind_case(binder: ExpressionBinder, node: exp.Case) -> Expr:
    """Bind ``CASE WHEN condition THEN value ... END`` and ``CASE operand WHEN value THEN ...``."""
    operand = None if node.this is None else binder.bind(node.this)
    conditions, values = [], []
    for branch in node.args["ifs"]:
        refuse_unknown(branch, frozenset({"this", "true"}))
        when = binder.bind(branch.this)
        if operand is not None:
            when = comparison(binder, "equal", operand, when, node)
        conditions.append(_condition(binder, when, branch.this, node))
        values.append(binder.bind(branch.args["true"]))
    default = node.args.get("default")
    otherwise = Literal(VOID, None) if default is None else binder.bind(default)
    return choice(binder, conditions, [*values, otherwise], node, "casewhen")


def _condition(binder: ExpressionBinder, condition: Expr, part: exp.Expr, whole: exp.Expr) -> Expr:
    if condition.type != BOOLEAN:
        raise failure(
            "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
            f'Cannot resolve "{binder.name(whole)}" due to data type mismatch: The first parameter requires '
            'the "BOOLEAN" '
            f'type, however "{binder.name(part)}" has the type "{types.sql_name(condition.type)}".',
            part,
        )
    return condition


def choice(
    binder: ExpressionBinder, conditions: list[Expr], values: list[Expr], node: exp.Expr, function: str
) -> Expr:
    """Build a CASE over bound conditions; ``values`` has one more item than ``conditions``, the value of
    ELSE. All values are cast to their common type. Raises DATATYPE_MISMATCH.DATA_DIFF_TYPES, whose message
    names ``function``, if the values have no common type."""
    unified = unify(binder, values)
    if unified is None:
        raise mixed_types(binder, function, values, node)
    branches = tuple(zip(conditions, unified[:-1], strict=True))
    return Case(unified[-1].type, branches, unified[-1])


def _if(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    test, *_ = node.expressions
    condition, *values = binder.bind_all(node.expressions)
    if condition.type == VOID:
        condition = cast_to(condition, BOOLEAN)
    return choice(binder, [_condition(binder, condition, test, node)], values, node, "if")


def _coalesce(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    operands = binder.bind_all(node.expressions)
    unified = unify(binder, operands)
    if unified is None:
        raise mixed_types(binder, "coalesce", operands, node)
    return Call(unified[0].type, "coalesce", tuple(unified))


def _nvl2(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    test, *values = binder.bind_all(node.expressions)
    return choice(binder, [Call(BOOLEAN, "is_not_null", (test,))], values, node, "nvl2")


def _nullif(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    left, right = binder.bind_all(node.expressions)
    equal = comparison(binder, "equal", left, right, node)
    return Case(left.type, ((equal, Literal(left.type, None)),), left)


def _nullifzero(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    (operand,) = binder.bind_all(node.expressions)
    equal = comparison(binder, "equal", operand, Literal(types.INT, 0), node)
    return Case(operand.type, ((equal, Literal(operand.type, None)),), operand)


def _zeroifnull(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    (operand,) = binder.bind_all(node.expressions)
    unified = unify(binder, [operand, Literal(types.INT, 0)])
    if unified is None:
        raise mixed_types(binder, "zeroifnull", [operand], node)
    return Call(unified[0].type, "coalesce", tuple(unified))


def _nanvl(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Bind ``nanvl(a, b)``: ``b`` is computed only if ``a`` is NaN, unless ``a`` is nondeterministic. Raises
    NotSupportedError for two floats, for which Spark gives a float."""
    operands = binder.bind_all(node.expressions)
    if all(operand.type == types.FLOAT for operand in operands):
        raise unsupported("nanvl of floats", node)
    call = call_function(binder, "nanvl", operands, node)
    value, other = call.children()
    if not is_deterministic(value):
        return call
    return Case(call.type, ((Call(BOOLEAN, "isnan", (value,)), other),), value)


def _decode(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Bind ``decode(value, search, result, ..., default)``: a null value matches a null search, and a missing
    default is a null string. With two arguments ``decode`` converts bytes by a character set."""
    value, *rest = binder.bind_all(node.expressions)
    if len(rest) == 1:
        return call_function(binder, "decode", [value, *rest], node)
    pairs = len(rest) // 2
    conditions = [
        comparison(binder, "equal_null_safe", value, rest[2 * place], node) for place in range(pairs)
    ]
    values = [rest[2 * place + 1] for place in range(pairs)]
    otherwise = rest[-1] if len(rest) % 2 else Literal(types.STRING, None)
    return choice(binder, conditions, [*values, otherwise], node, "casewhen")


def _is_null(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    return Call(BOOLEAN, "is_null", tuple(binder.bind_all(node.expressions)))


def _is_not_null(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    return Call(BOOLEAN, "is_not_null", tuple(binder.bind_all(node.expressions)))


def _equal_null(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    left, right = binder.bind_all(node.expressions)
    return comparison(binder, "equal_null_safe", left, right, node)


#: Functions with lazy arguments or special rules.
CONDITIONAL_FUNCTIONS: Final[CallBinders] = {
    "if": (_if, 3, 3),
    "coalesce": (_coalesce, 1, None),
    "nvl": (_coalesce, 2, 2),
    "ifnull": (_coalesce, 2, 2),
    "nvl2": (_nvl2, 3, 3),
    "nullif": (_nullif, 2, 2),
    "nullifzero": (_nullifzero, 1, 1),
    "zeroifnull": (_zeroifnull, 1, 1),
    "nanvl": (_nanvl, 2, 2),
    "decode": (_decode, 2, None),
    "isnull": (_is_null, 1, 1),
    "isnotnull": (_is_not_null, 1, 1),
    "equal_null": (_equal_null, 2, 2),
}
