"""Shared subexpressions: values of subexpressions that occur several times are computed once and kept with
the rows."""

from collections.abc import Sequence

from sqlfront_values.evaluate.fallible import is_deterministic
from sqlfront_values.expressions import Call, Cast, Chain, Column, Expr, HigherOrder, Literal
from sqlfront_values.stacks import deep


class Sharing:
    """The numbers of the subexpressions that occur more than once in some expressions; equal subexpressions
    have the same number. Nodes are found by identity: :meth:`slot` knows only the node objects of the given
    expressions, not equal copies.
    """

    def __init__(self, expressions: Sequence[Expr]) -> None:
        self._numbers: dict[tuple[object, ...], int] = {}
        self._uses: dict[int, int] = {}
        self._of_node: dict[int, int] = {}
        #: Holds the nodes, so that their identities are not reused.
        self._expressions = tuple(expressions)
        for expression in self._expressions:
            self._visit(expression)

    def slot(self, node: Expr) -> int | None:
        """Return the number under which to store the value of ``node``, if the subexpression occurs more than
        once and is deterministic; None for other nodes."""
        number = self._of_node.get(id(node))
        return number if number is not None and self._uses[number] > 1 and is_deterministic(node) else None

    @deep
    def _visit(self, node: Expr) -> int:
        if isinstance(node, Chain):
            return self._chain(node)
        children = node.children()
        if not children:
            return self._number(_leaf_key(node))
        known = len(self._numbers)
        parts = tuple(self._visit(child) for child in children)
        number = self._number((type(node), _own_part(node), parts))
        self._of_node[id(node)] = number
        self._uses[number] = self._uses.get(number, 0) + 1
        if number < known:
            self._forget_use(children)
        return number

    def _chain(self, node: Chain) -> int:
        """Return a number for the chain, but give none to the parts of its links: equal parts of two links
        that contain :class:`Previous` have different values."""
        number = self._of_node[id(node)] = self._number((Chain, id(node)))
        self._uses[number] = self._uses.get(number, 0) + 1
        return number

    @deep
    def _forget_use(self, children: tuple[Expr, ...]) -> None:
        """Subtract one use of each node below ``children``, the operands of a repeated node: the operands are
        computed only where the node first occurs."""
        for child in children:
            number = self._of_node.get(id(child))
            if number is not None:
                self._uses[number] -= 1
                self._forget_use(child.children())

    def _number(self, key: tuple[object, ...]) -> int:
        return self._numbers.setdefault(key, len(self._numbers))


def _leaf_key(node: Expr) -> tuple[object, ...]:
    match node:
        case Column(ordinal=ordinal):
            return (Column, ordinal)
        case Literal(value=value, type=data_type):
            # Equal Python values of different classes (1 and True, 0.0 and -0.0) are different literals.
            return (Literal, type(value), repr(value), data_type)
        case _:
            return (type(node), node)


def _own_part(node: Expr) -> object:
    match node:
        case Call(function=function, type=data_type):
            return function, data_type
        case Cast(safe=safe, type=data_type):
            return safe, data_type
        case HigherOrder(function=function, lambdas=lambdas, type=data_type):
            return function, data_type, tuple([_whole_key(one.body) for one in lambdas])
        case _:
            return None


def _whole_key(node: Expr) -> tuple[object, ...]:
    """Return a key of the body of a lambda: bodies with equal keys compute the same. Unlike other nodes, the
    parts of a body have no numbers, since the body's columns are of another row."""
    children = node.children()
    if not children:
        return _leaf_key(node)
    return (type(node), _own_part(node), tuple([_whole_key(child) for child in children]))
