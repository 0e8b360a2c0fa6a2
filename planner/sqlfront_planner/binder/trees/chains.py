"""Long chains of operators, such as ``a + b + c + ...``, which are bound in a loop and cut into links, so
that neither the recursion nor the resulting expression is as deep as the chain is long."""

from collections.abc import Callable, Container
from typing import Final

from sqlglot import exp

from sqlfront_planner.binder.trees.handlers import handler_of, refuse_unknown, span
from sqlfront_values.errors import Error
from sqlfront_values.expressions import Chain, Expr, Previous

#: Nested operators per link of a chain, few enough that no recursion over one link overflows the stack.
_LINK: Final = 48


def spine(node: exp.Expr, kinds: Container[type[exp.Expr]]) -> list[exp.Expr]:
    """Return the operators of a chain that groups to the left, such as ``a + b - c``, innermost first, so
    that they can be handled in a loop instead of by recursion. ``node`` is the outermost operator, and
    operators of the classes ``kinds`` continue the chain."""
    chain = [node]
    while type(chain[-1].this) in kinds:
        chain.append(chain[-1].this)
    chain.reverse()
    return chain


def fold_chain(chain: list[exp.Expr], first: Expr, apply: Callable[[Expr, exp.Expr], Expr]) -> Expr:
    """Return the expression of a chain of operators (from :func:`spine`) whose leftmost operand is ``first``.
    ``apply`` makes the expression of one operator from its left operand and its node. A long chain becomes
    one :class:`Chain`, which lists its operators instead of nesting them."""
    cut: list[Expr] = []
    value = first
    for place, node in enumerate(chain):
        if place and place % _LINK == 0:
            cut.append(value)
            value = Previous(value.type)
        value = _applied(value, node, apply)
    return Chain(value.type, cut[0], (*cut[1:], value)) if cut else value


def _applied(left: Expr, node: exp.Expr, apply: Callable[[Expr, exp.Expr], Expr]) -> Expr:
    """Return the expression of one operator of a chain, made by ``apply`` from the left operand and the node.
    As when the operator is bound alone, unread arguments are refused and errors get a position."""
    entry = handler_of(type(node))
    assert entry is not None
    try:
        refuse_unknown(node, entry[1])
        return apply(left, node)
    except Error as error:
        if error.position is None:
            error.position = span(node)
        raise
