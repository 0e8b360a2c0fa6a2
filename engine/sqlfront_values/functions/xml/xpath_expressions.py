"""Expressions of XPath 1.0, which evaluate themselves at a place of a document."""

import math
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec

from sqlfront_values.errors import DataError, NotSupportedError
from sqlfront_values.functions.xml.documents import Node, NodeKind
from sqlfront_values.functions.xml.xpath_functions import Place, XPathFunction
from sqlfront_values.functions.xml.xpath_values import Value, compare, to_boolean, to_number


class XPathExpression(Protocol):
    """An expression of XPath."""

    def evaluate(self, place: Place) -> Value:
        """Return the value at a place. Raises DataError where the expression asks for a set of nodes and gets
        another value."""


class Constant(msgspec.Struct, frozen=True):
    """A text or a number."""

    value: str | float

    def evaluate(self, place: Place) -> Value:
        return self.value


class UnknownVariable(msgspec.Struct, frozen=True):
    """A variable; SQL gives no value to any."""

    name: str

    def evaluate(self, place: Place) -> Value:
        raise DataError(f"Invalid XML document: the variable ${self.name} has no value")


class FunctionCall(msgspec.Struct, frozen=True):
    """A call of a function with its arguments."""

    function: XPathFunction
    arguments: tuple[XPathExpression, ...]

    def evaluate(self, place: Place) -> Value:
        return self.function.compute(place, [argument.evaluate(place) for argument in self.arguments])


class Negation(msgspec.Struct, frozen=True):
    """The opposite of a number."""

    operand: XPathExpression

    def evaluate(self, place: Place) -> Value:
        return -to_number(self.operand.evaluate(place))


class Binary(msgspec.Struct, frozen=True):
    """An operator between two expressions, other than ``|``."""

    operator: str
    left: XPathExpression
    right: XPathExpression

    def evaluate(self, place: Place) -> Value:
        left = self.left.evaluate(place)
        match self.operator:
            case "or":
                return to_boolean(left) or to_boolean(self.right.evaluate(place))
            case "and":
                return to_boolean(left) and to_boolean(self.right.evaluate(place))
        right = self.right.evaluate(place)
        computed = _ARITHMETIC.get(self.operator)
        if computed is None:
            return compare(self.operator, left, right)
        return computed(to_number(left), to_number(right))


def _quotient(left: float, right: float) -> float:
    if right == 0:
        negative = math.copysign(1.0, left) * math.copysign(1.0, right) < 0
        return math.nan if left == 0 or math.isnan(left) else -math.inf if negative else math.inf
    return left / right


def _remainder(left: float, right: float) -> float:
    if right == 0 or math.isinf(left):
        return math.nan
    return math.fmod(left, right)


_ARITHMETIC: Final[dict[str, Callable[[float, float], float]]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "div": _quotient,
    "mod": _remainder,
}


class NodeUnion(msgspec.Struct, frozen=True):
    """The nodes of several sets."""

    operands: tuple[XPathExpression, ...]

    def evaluate(self, place: Place) -> Value:
        values = [operand.evaluate(place) for operand in self.operands]
        if not all(isinstance(value, list) for value in values):
            raise NotSupportedError("XPath unions of anything but nodes are not supported")
        return in_order([node for value in values for node in node_set(value)])


# ---- paths


class NodeTest(msgspec.Struct, frozen=True):
    """The condition that a step's nodes meet: ``kind`` (None = the main kind, elements or attributes; if
    ``any_kind``, all kinds), and ``name`` behind the prefix (None = any name)."""

    name: str | None = None
    kind: NodeKind | None = None
    any_kind: bool = False


class LocationStep(msgspec.Struct, frozen=True):
    """A step of a path: the nodes on an ``axis`` from a node that the ``test`` lets through, and of these the
    ones for which the predicates are true.

    ``whole_names``: names with a prefix don't match.
    """

    axis: str
    test: NodeTest
    predicates: tuple[XPathExpression, ...] = ()
    whole_names: bool = False

    def nodes(self, node: Node) -> list[Node]:
        """Return the nodes from one node, in document order."""
        found = _AXES[self.axis](node)
        test = self.test
        if not test.any_kind:
            main = NodeKind.ATTRIBUTE if self.axis == "attribute" else NodeKind.ELEMENT
            kind, name = test.kind or main, test.name
            found = [each for each in found if each.kind is kind]
            if self.whole_names:
                found = [each for each in found if each.name == name]
            elif name is not None:
                found = [each for each in found if each.local_name == name]
        found = filtered(found, self.predicates)
        return found[::-1] if self.axis in _REVERSE else found


class Path(msgspec.Struct, frozen=True):
    """Steps from the context node, from the document node (``absolute``), or from the nodes of ``start``."""

    steps: tuple[LocationStep, ...]
    absolute: bool = False
    start: XPathExpression | None = None

    def evaluate(self, place: Place) -> Value:
        if self.start is not None:
            nodes = node_set(self.start.evaluate(place))
        else:
            nodes = [place.node.nodes[0] if self.absolute else place.node]
        for step in self.steps:
            if len(nodes) == 1:
                nodes = step.nodes(nodes[0])
            else:
                nodes = in_order([each for node in nodes for each in step.nodes(node)])
        return nodes


class Filtered(msgspec.Struct, frozen=True):
    """The nodes of a set for which predicates are true: ``(//b)[2]``."""

    operand: XPathExpression
    predicates: tuple[XPathExpression, ...]

    def evaluate(self, place: Place) -> Value:
        return filtered(node_set(self.operand.evaluate(place)), self.predicates)


def filtered(nodes: list[Node], predicates: Sequence[XPathExpression]) -> list[Node]:
    """Return the nodes for which all predicates are true; a number is true at the node of that position."""
    for predicate in predicates:
        kept = []
        for position, node in enumerate(nodes, 1):
            value = predicate.evaluate(Place(node, position, len(nodes)))
            if _is_place(value, position) if isinstance(value, float) else to_boolean(value):
                kept.append(node)
        nodes = kept
    return nodes


def _is_place(number: float, position: int) -> bool:
    """Return whether a number as a predicate means the position; as in the JDK, a fraction is cut off."""
    return math.isfinite(number) and int(number) == position


def node_set(value: Value) -> list[Node]:
    """Return the set of nodes that the value is. Raises DataError for another value."""
    if isinstance(value, list):
        return value
    kind = "STRING" if isinstance(value, str) else "BOOLEAN" if isinstance(value, bool) else "NUMBER"
    raise DataError(f"Invalid XML document: Can not convert #{kind} to a NodeList!")


def in_order(nodes: list[Node]) -> list[Node]:
    """Return the nodes in document order, each once."""
    places = {node.order: node for node in nodes}
    return [places[order] for order in sorted(places)]


# ---- axes: nodes in the order in which positions count, for some axes from the end of the document


def _ancestors(node: Node) -> list[Node]:
    found = []
    while node.parent is not None:
        node = node.parent
        found.append(node)
    return found


def _siblings(node: Node) -> tuple[list[Node], list[Node]]:
    """Return the siblings before and behind a node. Raises NotSupportedError for an attribute, of which the
    JDK finds other nodes than XPath says."""
    if node.kind is NodeKind.ATTRIBUTE:
        raise NotSupportedError("XPath siblings of attributes are not supported")
    if node.parent is None:
        return [], []
    siblings = node.parent.children
    place = next(number for number, each in enumerate(siblings) if each is node)
    return siblings[:place], siblings[place + 1 :]


def _following(node: Node) -> list[Node]:
    """Return the nodes behind the node; those inside of an attribute's element are behind the attribute."""
    return [each for each in node.nodes[node.end + 1 :] if each.kind is not NodeKind.ATTRIBUTE]


def _preceding(node: Node) -> list[Node]:
    around = {each.order for each in _ancestors(node)}
    found = [
        each
        for each in node.nodes[: node.order]
        if each.kind is not NodeKind.ATTRIBUTE and each.order not in around
    ]
    return found[::-1]


_AXES: Final[dict[str, Callable[[Node], list[Node]]]] = {
    "child": lambda node: node.children,
    "attribute": lambda node: node.attributes,
    "self": lambda node: [node],
    "parent": lambda node: [] if node.parent is None else [node.parent],
    "descendant": Node.inside,
    "descendant-or-self": lambda node: [node, *node.inside()],
    "ancestor": _ancestors,
    "ancestor-or-self": lambda node: [node, *_ancestors(node)],
    "following-sibling": lambda node: _siblings(node)[1],
    "preceding-sibling": lambda node: _siblings(node)[0][::-1],
    "following": _following,
    "preceding": _preceding,
}
_REVERSE: Final = frozenset({"ancestor", "ancestor-or-self", "preceding-sibling", "preceding"})
AXES: Final = frozenset(_AXES)
