"""xpath and its relatives: values of XPath expressions over XML texts.

An empty text or path gives null, as does a null. Spark parses the path when the first row needs it, and so a
path that is no XPath expression is an error only then.
"""

import math
from collections.abc import Callable
from typing import Final

import pyarrow as pa

from sqlfront_values.functions.registry import ScalarFunction, register
from sqlfront_values.functions.rowwise import row_kernel
from sqlfront_values.functions.xml.documents import NodeKind, parse_document
from sqlfront_values.functions.xml.xpath_expressions import node_set
from sqlfront_values.functions.xml.xpath_functions import Place
from sqlfront_values.functions.xml.xpath_parser import parse_xpath
from sqlfront_values.functions.xml.xpath_values import Value, to_boolean, to_number, to_text
from sqlfront_values.java.floats import round_to_single
from sqlfront_values.java.surrogates import well_formed
from sqlfront_values.types import BIGINT, BOOLEAN, DOUBLE, FLOAT, INT, SMALLINT, STRING

#: Position and number outside of predicates, as the JDK has them.
_NOWHERE: Final = (-1, 0)
_WITHOUT_VALUE: Final = frozenset({NodeKind.DOCUMENT, NodeKind.ELEMENT})


def _list(value: Value) -> list[str | None]:
    """Return the nodes' own values; elements have none."""
    return [None if node.kind in _WITHOUT_VALUE else well_formed(node.own_value) for node in node_set(value)]


def _whole(number: float, bits: int) -> int:
    """Convert as Java does: NaN is zero, and beyond the type's limits are these."""
    if math.isnan(number):
        return 0
    limit = 1 << (bits - 1)
    return limit - 1 if number >= limit else -limit if number <= -limit else int(number)


def _short(number: float) -> int:
    """Convert by way of an int, of which the lower half is left."""
    return (_whole(number, 32) + 2**15) % 2**16 - 2**15


def _kernel(convert: Callable[[Value], object]) -> Callable[[str, str], object]:
    def evaluate(text: str, path: str) -> object:
        if not text or not path:
            return None
        expression = parse_xpath(path)
        return convert(expression.evaluate(Place(parse_document(text), *_NOWHERE)))

    return evaluate


def _of_number(convert: Callable[[float], object]) -> Callable[[Value], object]:
    return lambda value: convert(to_number(value))


def _function(
    name: str, kind: pa.DataType, convert: Callable[[Value], object], path: str, example: str
) -> ScalarFunction:
    return ScalarFunction(
        name,
        (STRING, STRING),
        kind,
        row_kernel(_kernel(convert)),
        can_fail=True,
        exact=(0, 1),
        constants=(1,),
        example=(f"{name}('<a><b>1</b><b>2</b></a>', '{path}')", example),
    )


register(
    _function("xpath", pa.list_(STRING), _list, "a/b/text()", "['1', '2']"),
    _function("xpath_boolean", BOOLEAN, to_boolean, "a/b", "True"),
    _function("xpath_short", SMALLINT, _of_number(_short), "sum(a/b)", "3"),
    _function("xpath_int", INT, _of_number(lambda number: _whole(number, 32)), "sum(a/b)", "3"),
    _function("xpath_long", BIGINT, _of_number(lambda number: _whole(number, 64)), "sum(a/b)", "3"),
    _function("xpath_float", FLOAT, _of_number(round_to_single), "sum(a/b)", "3.0"),
    _function("xpath_double", DOUBLE, to_number, "sum(a/b)", "3.0"),
    _function("xpath_number", DOUBLE, to_number, "sum(a/b)", "3.0"),
    _function("xpath_string", STRING, lambda value: well_formed(to_text(value)), "a/b[2]", "'2'"),
)
