"""The functions of XPath 1.0, by name."""

import math
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from sqlfront_values.errors import DataError
from sqlfront_values.functions.xml.documents import Node
from sqlfront_values.functions.xml.xpath_values import Value, to_boolean, to_number, to_text

#: Where a text is cut if the place is NaN.
_FAR_BEFORE: Final = -1000000.0
#: XML's white space other than the blank.
_BLANKS: Final = str.maketrans("\t\r\n", "   ")


class Place(msgspec.Struct, frozen=True):
    """The place at which an expression is evaluated: the context node, its position (from 1) among the nodes
    that a predicate looks at, and their number."""

    node: Node
    position: int
    size: int


class XPathFunction(msgspec.Struct, frozen=True):
    """A function: how it computes, and the least and the greatest number of its arguments (None = no
    limit)."""

    compute: Callable[[Place, Sequence[Value]], Value]
    least: int
    most: int | None


def _nodes(value: Value) -> list[Node]:
    if not isinstance(value, list):
        raise DataError("Invalid XML document: a set of nodes is needed, not a text, number or boolean")
    return value


def _first(place: Place, arguments: Sequence[Value]) -> Node | None:
    """Return the node of a function of names: the context node, or the first of the argument."""
    if not arguments:
        return place.node
    nodes = _nodes(arguments[0])
    return nodes[0] if nodes else None


def _name(place: Place, arguments: Sequence[Value]) -> str:
    node = _first(place, arguments)
    return "" if node is None else node.name


def _local_name(place: Place, arguments: Sequence[Value]) -> str:
    node = _first(place, arguments)
    return "" if node is None else node.local_name


def _namespace(place: Place, arguments: Sequence[Value]) -> str:
    """Return the name of no namespace, which is that of every node."""
    _first(place, arguments)
    return ""


def _own_text(place: Place, arguments: Sequence[Value]) -> str:
    return to_text(arguments[0]) if arguments else place.node.text()


def _sum(_place: Place, arguments: Sequence[Value]) -> float:
    total = 0.0
    for node in _nodes(arguments[0]):
        total += to_number(node.text())
    return total


def _rounded(number: float) -> float:
    """Round half up; what is at least -0.5 and below zero becomes zero with its sign."""
    if -0.5 <= number < 0:
        return -0.0
    return number if math.isnan(number) or math.isinf(number) else float(math.floor(number + 0.5))


def _floor(number: float) -> float:
    return number if math.isnan(number) or math.isinf(number) else float(math.floor(number))


def _ceiling(number: float) -> float:
    return number if math.isnan(number) or math.isinf(number) else float(math.ceil(number))


def _substring(_place: Place, arguments: Sequence[Value]) -> str:
    """Cut as the JDK does, which rounds by ``Math.round`` to a long and raises an error for a part that ends
    before it begins. A start that is NaN is far before the text."""
    text, start = to_text(arguments[0]), to_number(arguments[1])
    if not text:
        return ""
    start = _FAR_BEFORE if math.isnan(start) else float(_as_integer(start, 64))
    first = min(max(_as_integer(start, 32) - 1, 0), len(text))
    if len(arguments) < 3:
        return text[first:]
    end = _as_integer(_as_integer(to_number(arguments[2]), 64) + start, 32) - 1
    last = min(max(end, 0), len(text))
    if last < first:
        raise DataError(f"Invalid XML document: begin {first}, end {last}, length {len(text)}")
    return text[first:last]


def _as_integer(number: float, bits: int) -> int:
    """Round half up to an integer of Java: NaN is zero, and beyond the type's limits are these."""
    limit = 1 << (bits - 1)
    if math.isnan(number):
        return 0
    return limit - 1 if number >= limit else -limit if number <= -limit else math.floor(number + 0.5)


def _translate(_place: Place, arguments: Sequence[Value]) -> str:
    text, source, target = map(to_text, arguments)
    places: dict[str, str] = {}
    for number, character in enumerate(source):
        places.setdefault(character, target[number : number + 1])
    return "".join([places.get(character, character) for character in text])


def _before(text: str, part: str) -> str:
    head, found, _ = text.partition(part) if part else ("", "", "")
    return head if found else ""


def _of_texts(compute: Callable[..., Value]) -> Callable[[Place, Sequence[Value]], Value]:
    return lambda _place, arguments: compute(*map(to_text, arguments))


def _of_number(compute: Callable[[float], float]) -> Callable[[Place, Sequence[Value]], Value]:
    return lambda _place, arguments: compute(to_number(arguments[0]))


FUNCTIONS: Final[dict[str, XPathFunction]] = {
    "last": XPathFunction(lambda place, _: float(place.size), 0, 0),
    "position": XPathFunction(lambda place, _: float(place.position), 0, 0),
    "count": XPathFunction(lambda _, arguments: float(len(_nodes(arguments[0]))), 1, 1),
    "local-name": XPathFunction(_local_name, 0, 1),
    "namespace-uri": XPathFunction(_namespace, 0, 1),
    "name": XPathFunction(_name, 0, 1),
    "string": XPathFunction(_own_text, 0, 1),
    "concat": XPathFunction(_of_texts(lambda *texts: "".join(texts)), 2, None),
    "starts-with": XPathFunction(_of_texts(str.startswith), 2, 2),
    "contains": XPathFunction(_of_texts(lambda text, part: part in text), 2, 2),
    "substring-before": XPathFunction(_of_texts(_before), 2, 2),
    "substring-after": XPathFunction(
        _of_texts(lambda text, part: text.partition(part)[2] if part else text), 2, 2
    ),
    "substring": XPathFunction(_substring, 2, 3),
    "string-length": XPathFunction(lambda place, given: float(len(_own_text(place, given))), 0, 1),
    "normalize-space": XPathFunction(
        lambda place, given: " ".join(filter(None, _own_text(place, given).translate(_BLANKS).split(" "))),
        0,
        1,
    ),
    "translate": XPathFunction(_translate, 3, 3),
    "boolean": XPathFunction(lambda _, arguments: to_boolean(arguments[0]), 1, 1),
    "not": XPathFunction(lambda _, arguments: not to_boolean(arguments[0]), 1, 1),
    "true": XPathFunction(lambda *_: True, 0, 0),
    "false": XPathFunction(lambda *_: False, 0, 0),
    # Without namespaces no attribute is that of XML's own namespace, which says the language.
    "lang": XPathFunction(lambda *_: False, 1, 1),
    "number": XPathFunction(lambda place, given: to_number(given[0] if given else place.node.text()), 0, 1),
    "sum": XPathFunction(_sum, 1, 1),
    "floor": XPathFunction(_of_number(_floor), 1, 1),
    "ceiling": XPathFunction(_of_number(_ceiling), 1, 1),
    "round": XPathFunction(_of_number(_rounded), 1, 1),
}
