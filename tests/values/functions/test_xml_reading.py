"""from_xml and schema_of_xml beside what is stored of Spark: hostile texts, and what is refused."""

from pathlib import Path

import pytest

import sqlfront
from sqlfront_values.errors import DatabaseError, NotSupportedError
from sqlfront_values.functions.xml.typed.events import XmlEvents
from sqlfront_values.functions.xml.typed.map_order import in_scalas_order
from sqlfront_values.functions.xml.typed.markup import XmlSyntaxError
from sqlfront_values.functions.xml.typed.scanner import XmlEventKind
from sqlfront_values.functions.xml.typed.settings import XmlSettings


def _value(expression: str, *arguments: object) -> object:
    with sqlfront.connect() as connection:
        row = connection.execute(f"SELECT {expression}", arguments).fetchone()
    assert row is not None
    return row[0]


def _events(text: str) -> list[str]:
    """Return what the events of a text show, an error as an exclamation mark, up to the root's end."""
    events, shown, depth = XmlEvents(text, XmlSettings()), [], 0
    for _ in range(50):
        try:
            event = events.next()
        except XmlSyntaxError:
            shown.append("!")
            continue
        shown.append(event.text if event.kind is XmlEventKind.TEXT else f"{event.kind.name} {event.text}")
        depth += {XmlEventKind.START: 1, XmlEventKind.END: -1}.get(event.kind, 0)
        if not depth:
            break
    return shown


def test_texts_and_sections_next_to_each_other_are_one_text() -> None:
    assert _events("<a>1<![CDATA[<]]>&gt;\r\n2</a>") == ["START a", "1<>\n2", "END a"]


def test_a_comment_divides_texts() -> None:
    assert _events("<a>1<!-- c -->2</a>") == ["START a", "1", "2", "END a"]


def test_the_rest_of_a_text_with_an_error_is_skipped() -> None:
    assert _events("<a>1 &no; 2</a>") == ["START a", "!", "END a"]


def test_an_error_at_the_start_of_a_text_leaves_the_rest() -> None:
    assert _events("<a>&no;2</a>") == ["START a", "!", "2", "END a"]


def test_an_error_in_a_tag_leaves_its_element_open() -> None:
    assert _events("<a><b x=1/></a>")[:3] == ["START a", "!", "/>"]


@pytest.mark.parametrize("text", ["1<!-- \x01 -->2", "1<!-- x -- y -->2"])
def test_an_error_in_a_comment_is_met_twice(text: str) -> None:
    assert _events(f"<a>{text}</a>") == ["START a", "1", "!", "!", "2", "END a"]


def test_an_illegal_character_in_a_later_section_is_met_twice() -> None:
    assert _events("<a>1<![CDATA[2\x01]]>3</a>")[:4] == ["START a", "!", "!", "END a"]


def test_a_document_type_declares_nothing(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    text = f'<!DOCTYPE a [<!ENTITY e SYSTEM "{secret.as_uri()}">]><a><b>&e;</b><c>1</c></a>'

    assert _value("from_xml(?, 'b STRING, c INT')", text) == (None, None)


def test_entities_of_entities_are_not_expanded() -> None:
    declarations = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))

    assert _value("from_xml(?, 'b STRING')", f"<!DOCTYPE a [{declarations}]><a><b>&e9;</b></a>") == (None,)


@pytest.mark.parametrize("depth", [1001, 200_000])
def test_a_text_nested_too_deep_is_malformed(depth: int) -> None:
    text = "<a>" * depth + "</a>" * depth

    assert _value("from_xml(?, 'variant')", text) is None
    assert _value("from_xml(?, 'b INT, _corrupt_record STRING')", text) == (None, text)


def test_a_text_nested_as_deep_as_spark_reads_is_a_variant() -> None:
    assert _value("from_xml(?, 'variant') IS NULL", "<a>" * 1000 + "</a>" * 1000) is False


def test_a_schema_nested_too_deep_is_refused() -> None:
    text = "<a>" * 990 + "1" + "</a>" * 990

    with pytest.raises(DatabaseError) as error:
        _value(f"schema_of_xml('{text}')")

    assert error.value.condition == "FAILED_TO_PARSE_TOO_COMPLEX"


def test_a_huge_text_is_read() -> None:
    assert _value("size(from_xml(?, 'b ARRAY<INT>').b)", f"<a>{'<b>1</b>' * 20_000}</a>") == 20_000


@pytest.mark.parametrize(
    "arguments",
    [
        "'a INT', map('locale', 'de')",
        "'a INT', map('rowValidationXSDPath', 'x.xsd')",
        "'a INT', map('singleVariantColumn', 'v')",
        "'a ARRAY<ARRAY<INT>>'",
        "'_x INT'",
        "'_corrupt_record STRING, a STRING, b INT'",
    ],
)
def test_what_is_not_built_is_refused(arguments: str) -> None:
    with pytest.raises(NotSupportedError):
        _value(f'from_xml(\'<p x="1" X="2"><a>1</a></p>\', {arguments})')


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("'valueTag', ''", "'valueTag' option should not be empty string"),
        ("'attributePrefix', '_VALUE'", "options should not be the same"),
        ("'rowTag', '<a>'", "'rowTag' should not include angle brackets"),
        ("'excludeAttribute', 'maybe'", "excludeAttribute flag can be true or false"),
        ("'samplingRatio', '0'", "should be greater than 0"),
    ],
)
def test_an_invalid_option_is_an_error(options: str, message: str) -> None:
    with pytest.raises(DatabaseError, match=message):
        _value(f"from_xml('<p/>', 'a INT', map({options}))")


def test_a_number_in_the_root_that_java_refuses_is_an_error() -> None:
    with pytest.raises(DatabaseError, match='Unparseable number: "x"'):
        _value("from_xml('<p x=\"x\"/>', '_x DOUBLE')")


def test_more_than_four_keys_are_in_the_order_of_their_hashes() -> None:
    pairs = [(key, None) for key in ("_z", "_y", "b", "c", "d", "e", "f")]

    assert [key for key, _ in in_scalas_order(pairs)] == ["d", "_z", "f", "b", "e", "c", "_y"]
