"""Values of XPath 1.0 and their conversions: sets of nodes, texts, doubles and booleans.

A set of nodes is a list in document order. Texts are in Java's form, see :mod:`.documents`. The rules are
those of the recommendation and, where that leaves a choice, of the processor in the JDK.
"""

import math
import re
from collections.abc import Sequence
from typing import Final, TypeAlias

from sqlfront_values.functions.xml.documents import Node
from sqlfront_values.java.floats import float_text

Value: TypeAlias = list[Node] | str | float | bool

_REVERSED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_NUMBER: Final = re.compile(r"[ \t\r\n]*(-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))[ \t\r\n]*")


def to_text(value: Value) -> str:
    """Convert to a text; a set of nodes becomes the text of its first node."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float():
            return number_text(value)
        case nodes:
            return nodes[0].text() if nodes else ""


def to_number(value: Value) -> float:
    """Convert to a double; a text that is no number becomes NaN."""
    match value:
        case bool():
            return float(value)
        case float():
            return value
        case str():
            found = _NUMBER.fullmatch(value)
            return float(found[1]) if found else math.nan
        case _:
            return to_number(to_text(value))


def to_boolean(value: Value) -> bool:
    """Convert to a boolean: true for what is not empty, zero or NaN."""
    if isinstance(value, float):
        return value != 0 and not math.isnan(value)
    return bool(value)


def number_text(number: float) -> str:
    """Return a double as XPath writes it: without an exponent, whole numbers without a point.

    >>> number_text(15.0), number_text(1e-7), number_text(-0.0), number_text(math.inf)
    ('15', '0.0000001', '0', 'Infinity')
    """
    text = float_text(number)
    if text.endswith(".0"):
        return "0" if text == "-0.0" else text[:-2]
    mantissa, letter, exponent = text.partition("E")
    if not letter:
        return text
    sign, digits = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
    figures, power = digits.replace(".", ""), int(exponent)
    if power >= len(figures) - 1:
        return sign + figures + "0" * (power - len(figures) + 1)
    figures = figures.rstrip("0")
    if power > 0:
        return f"{sign}{figures[: power + 1]}.{figures[power + 1 :]}"
    return f"{sign}0.{'0' * (-1 - power)}{figures}"


def compare(operator: str, left: Value, right: Value) -> bool:
    """Compare by ``=``, ``!=``, ``<``, ``<=``, ``>`` or ``>=``. A set of nodes compares as true if one of its
    nodes does."""
    if isinstance(left, list):
        if isinstance(right, bool):
            return _compare_plain(operator, bool(left), right)
        values: Sequence[str | float] = (
            [node.text() for node in right] if isinstance(right, list) else [right]
        )
        return any(_compare_plain(operator, node.text(), value) for node in left for value in values)
    if isinstance(right, list):
        return compare(_REVERSED.get(operator, operator), right, left)
    return _compare_plain(operator, left, right)


def _compare_plain(operator: str, left: str | float | bool, right: str | float | bool) -> bool:
    if operator in ("=", "!="):
        if isinstance(left, bool) or isinstance(right, bool):
            same = to_boolean(left) == to_boolean(right)
        elif isinstance(left, float) or isinstance(right, float):
            same = to_number(left) == to_number(right)
        else:
            same = left == right
        return same == (operator == "=")
    first, second = to_number(left), to_number(right)
    match operator:
        case "<":
            return first < second
        case "<=":
            return first <= second
        case ">":
            return first > second
        case _:
            return first >= second
