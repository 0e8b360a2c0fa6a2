"""to_xml beside what is stored of Spark: names and characters that XML has not, and what is refused."""

import pytest

import sqlfront
from sqlfront_values.errors import DataError, NotSupportedError


def _xml(expression: str) -> object:
    with sqlfront.connect() as connection:
        row = connection.execute(f"SELECT to_xml({expression})").fetchone()
    assert row is not None
    return row[0]


@pytest.mark.parametrize("name", ["a b", "1a", "a:b", "-a", "<"])
def test_a_name_that_xml_has_not_is_an_error(name: str) -> None:
    with pytest.raises(DataError, match="Illegal name"):
        _xml(f"named_struct('{name}', 1)")


def test_a_character_that_xml_has_not_is_an_error() -> None:
    with pytest.raises(DataError, match="Invalid white space"):
        _xml("named_struct('a', chr(1))")


@pytest.mark.parametrize(
    "expression",
    [
        "named_struct('a', INTERVAL '1' DAY)",
        "named_struct('_a', array(1))",
        "named_struct('_a', DATE'2020-01-01')",
        "named_struct('_VALUE', array(1))",
        "named_struct('a', map(1, 2))",
        "named_struct('a', 1), map('indent', '')",
        "named_struct('a', 1), map('locale', 'de')",
    ],
)
def test_what_is_not_built_is_refused(expression: str) -> None:
    with pytest.raises(NotSupportedError, match="to_xml"):
        _xml(expression)
