"""XPath over XML texts beside what is stored of Spark: what is refused, and hostile documents."""

import pytest

from sqlfront_values.errors import DataError, NotSupportedError
from sqlfront_values.functions.xml.documents import parse_document
from sqlfront_values.functions.xml.xpath_expressions import node_set
from sqlfront_values.functions.xml.xpath_functions import Place
from sqlfront_values.functions.xml.xpath_parser import parse_xpath
from sqlfront_values.functions.xml.xpath_values import Value, number_text, to_text


def _value(text: str, path: str) -> Value:
    return parse_xpath(path).evaluate(Place(parse_document(text), -1, 0))


def test_an_entity_of_another_file_is_left_out() -> None:
    document = '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>1&e;2</a>'

    assert to_text(_value(document, "a")) == "12"


def test_a_document_type_in_another_file_is_refused() -> None:
    with pytest.raises(NotSupportedError, match="another file"):
        parse_document('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>')


def test_entities_that_multiply_are_an_error() -> None:
    declared = "".join(
        f'<!ENTITY e{number} "{f"&e{number - 1};" * 10 if number else "ha"}">' for number in range(7)
    )

    with pytest.raises(DataError, match="64000"):
        parse_document(f"<!DOCTYPE a [{declared}]><a>&e6;</a>")


@pytest.mark.parametrize(
    "path",
    ["namespace::*", "id('x')", "current()", "descendant::a//b", "a | 1", "a/@i/following-sibling::b"],
)
def test_what_the_jdk_does_otherwise_is_refused(path: str) -> None:
    with pytest.raises(NotSupportedError):
        _value("<a i='1'><b/></a>", path)


def test_a_search_alone_finds_no_name_with_a_prefix() -> None:
    document = "<p:a><p:b>1</p:b></p:a>"

    for path in ("//b", ".//b", "(//b)[1]", "/descendant::b"):
        assert to_text(_value(document, path)) == ""
    for path in ("a/b", "a//b", "//b[1]", "//b/text()"):
        assert to_text(_value(document, path)) == "1"


def test_parentheses_are_nested_up_to_a_limit() -> None:
    assert to_text(_value("<a/>", "(" * 40 + "1" + ")" * 40)) == "1"
    with pytest.raises(NotSupportedError, match="levels"):
        parse_xpath("(" * 1000 + "1" + ")" * 1000)


def test_a_deep_document_is_read() -> None:
    depth = 50_000

    assert len(node_set(_value("<a>" * depth + "</a>" * depth, "//a"))) == depth


def test_numbers_have_no_exponent() -> None:
    assert [number_text(number) for number in (1e21, 1.5e-9, -12345678.9)] == [
        "1000000000000000000000",
        "0.0000000015",
        "-12345678.9",
    ]
