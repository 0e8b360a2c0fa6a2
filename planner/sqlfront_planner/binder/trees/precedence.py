"""Regrouping of operators by Spark's precedence, which differs from sqlglot's.

sqlglot gives ``& ^ | << >> ||`` one level below ``+``, and ``= <> <=>`` one level below ``< <= > >=``. In
Spark's grammar ``||`` has the level of ``+`` and ``-``; below follow the shifts, ``&``, ``^``, ``|`` in this
order, then all comparisons on one level. Parentheses are separate nodes, so a chain of operators can be read
off in order and regrouped.
"""

from typing import Final

from sqlglot import exp

from sqlfront_planner.binder.trees.handlers import unsupported
from sqlfront_planner.tokens.marks import ShiftRightUnsigned

#: Levels from the tightest to the loosest; all group to the left.
_LEVELS: Final[dict[type[exp.Expr], int]] = {
    **dict.fromkeys((exp.Mul, exp.Div, exp.IntDiv, exp.Mod), 0),
    **dict.fromkeys((exp.Add, exp.Sub, exp.DPipe), 1),
    **dict.fromkeys((exp.BitwiseLeftShift, exp.BitwiseRightShift, ShiftRightUnsigned), 2),
    exp.BitwiseAnd: 3,
    exp.BitwiseXor: 4,
    exp.BitwiseOr: 5,
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.GT, exp.GTE, exp.LT, exp.LTE), 6),
}
_PREDICATES: Final = (
    exp.In,
    exp.Between,
    exp.Like,
    exp.ILike,
    exp.RegexpLike,
    exp.Escape,
    exp.Is,
    exp.NullSafeNEQ,
)


def left_of(node: exp.Expr) -> exp.Expr:
    """Return the left operand of an operator."""
    operand = node.this
    assert isinstance(operand, exp.Expr)
    return operand


def right_of(node: exp.Expr) -> exp.Expr:
    """Return the right operand of an operator, also of ``>>>``, whose node class stores it differently."""
    operand = node.expressions[0] if isinstance(node, ShiftRightUnsigned) else node.args["expression"]
    assert isinstance(operand, exp.Expr)
    return operand


def regrouped(node: exp.Expr) -> exp.Expr:
    """Return the tree of a chain of operators, grouped as in Spark; the node itself if sqlglot's grouping is
    the same.

    >>> from sqlglot import parse_one
    >>> regrouped(parse_one("1 || 2 + 3", read="spark")).sql("spark")
    '1 || 2 + 3'
    >>> type(regrouped(parse_one("1 || 2 + 3", read="spark"))).__name__
    'Add'
    """
    if _is_grouped(node):
        return node
    operands: list[exp.Expr] = []
    operators: list[exp.Expr] = []
    _flatten(node, operands, operators)
    return _group(operands, operators)


def refuse_predicate_operands(node: exp.Binary) -> None:
    """Raise NotSupportedError if an operand of a comparison is an IN, LIKE, BETWEEN or IS without
    parentheses: Spark groups such an expression differently from sqlglot."""
    for side in (node.this, node.expression):
        refuse_predicate(side, node)


def refuse_predicate(operand: exp.Expr, node: exp.Expr) -> None:
    """Raise NotSupportedError if ``operand``, an operand of the predicate ``node``, is itself a predicate
    without parentheses, which Spark's grammar doesn't allow there. (sqlglot adds parentheses to IS DISTINCT
    FROM.)"""
    inner = operand.this if isinstance(operand, exp.Not | exp.Paren) else operand
    if isinstance(inner, exp.NullSafeNEQ if isinstance(operand, exp.Paren) else _PREDICATES):
        raise unsupported("A predicate without parentheses as an operand of another predicate", node)


def _is_grouped(node: exp.Expr) -> bool:
    """Return whether sqlglot's grouping of the node is Spark's: no operator in its left operand has a lower
    precedence, and every operator in its right operand has a higher one."""
    level = _LEVELS[type(node)]
    return _loosest(left_of(node)) <= level and _loosest(right_of(node)) < level


def _loosest(node: exp.Expr) -> int:
    """Return the level of the operator with the lowest precedence in a chain (lower precedence = higher
    level); -1 for a node that is no operator."""
    loosest, waiting = -1, [node]
    while waiting:
        item = waiting.pop()
        level = _LEVELS.get(type(item))
        if level is not None:
            loosest = max(loosest, level)
            waiting += (left_of(item), right_of(item))
    return loosest


def _flatten(node: exp.Expr, operands: list[exp.Expr], operators: list[exp.Expr]) -> None:
    """Append the operands and the operators of a chain to the lists ``operands`` and ``operators``, from left
    to right."""
    around: list[exp.Expr] = []
    while True:
        while type(node) in _LEVELS:
            around.append(node)
            node = left_of(node)
        operands.append(node)
        if not around:
            return
        operators.append(around[-1])
        node = right_of(around.pop())


def _group(operands: list[exp.Expr], operators: list[exp.Expr]) -> exp.Expr:
    """Build the tree of a chain from its operands and operators, grouped by precedence; ``operators`` has one
    item less than ``operands``."""
    output, waiting = [operands[0]], list[exp.Expr]()
    for operator, operand in zip(operators, operands[1:], strict=True):
        while waiting and _LEVELS[type(waiting[-1])] <= _LEVELS[type(operator)]:
            _reduce(output, waiting)
        waiting.append(operator)
        output.append(operand)
    while waiting:
        _reduce(output, waiting)
    return output[0]


def _reduce(output: list[exp.Expr], waiting: list[exp.Expr]) -> None:
    right, left, operator = output.pop(), output.pop(), waiting.pop()
    if isinstance(operator, ShiftRightUnsigned):
        output.append(ShiftRightUnsigned(this=left, expressions=[right]))
    else:
        output.append(type(operator)(this=left, expression=right))
