"""Great Expectations over the dialect, beside Great Expectations over pandas on the same rows."""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa

pytestmark = [pytest.mark.doors, pytest.mark.filterwarnings("ignore")]

_BEGIN = datetime.datetime(2024, 1, 1)
_COLUMNS = ["id", "city", "price", "email", "at"]
#: Expectations, their arguments, and whether the rows meet them.
_EXPECTATIONS: list[tuple[str, dict[str, Any], bool]] = [
    ("ExpectColumnValuesToNotBeNull", {"column": "id"}, True),
    ("ExpectColumnValuesToNotBeNull", {"column": "city"}, False),
    ("ExpectColumnValuesToNotBeNull", {"column": "city", "mostly": 0.7}, True),
    ("ExpectColumnValuesToBeNull", {"column": "city"}, False),
    ("ExpectColumnValuesToBeUnique", {"column": "id"}, True),
    ("ExpectColumnValuesToBeUnique", {"column": "city"}, False),
    ("ExpectCompoundColumnsToBeUnique", {"column_list": ["city", "email"]}, False),
    ("ExpectColumnValuesToBeBetween", {"column": "price", "min_value": 0, "max_value": 10}, False),
    ("ExpectColumnValuesToBeBetween", {"column": "at", "min_value": _BEGIN, "strict_min": True}, False),
    ("ExpectColumnValuesToBeInSet", {"column": "city", "value_set": ["Paris", "Rome", "Oslo"]}, True),
    ("ExpectColumnValuesToNotBeInSet", {"column": "city", "value_set": ["Oslo"]}, False),
    ("ExpectColumnValuesToMatchRegex", {"column": "email", "regex": r"^\w+@x\.org$"}, False),
    ("ExpectColumnValuesToNotMatchRegex", {"column": "email", "regex": r"^bad$"}, False),
    ("ExpectColumnValuesToMatchRegexList", {"column": "email", "regex_list": [r"^u1", r"org$"]}, False),
    ("ExpectColumnValueLengthsToBeBetween", {"column": "email", "min_value": 4, "max_value": 8}, False),
    (
        "ExpectColumnValueZScoresToBeLessThan",
        {"column": "price", "threshold": 1.0, "double_sided": True},
        False,
    ),
    ("ExpectColumnPairValuesAToBeGreaterThanB", {"column_A": "id", "column_B": "price"}, False),
    ("ExpectSelectColumnValuesToBeUniqueWithinRecord", {"column_list": ["id", "price"]}, False),
    ("ExpectTableRowCountToEqual", {"value": 50}, True),
    ("ExpectTableRowCountToBeBetween", {"min_value": 51, "max_value": 60}, False),
    ("ExpectTableColumnsToMatchOrderedList", {"column_list": _COLUMNS}, True),
    ("ExpectTableColumnCountToEqual", {"value": 4}, False),
    ("ExpectColumnToExist", {"column": "price"}, True),
    ("ExpectColumnMeanToBeBetween", {"column": "price", "min_value": 6, "max_value": 7}, True),
    ("ExpectColumnMedianToBeBetween", {"column": "price", "min_value": 6, "max_value": 7}, True),
    ("ExpectColumnStdevToBeBetween", {"column": "price", "min_value": 3, "max_value": 4}, True),
    ("ExpectColumnSumToBeBetween", {"column": "price", "min_value": 0, "max_value": 1}, False),
    ("ExpectColumnMaxToBeBetween", {"column": "price", "min_value": 0, "max_value": 1}, False),
    ("ExpectColumnDistinctValuesToBeInSet", {"column": "city", "value_set": ["Paris", "Rome"]}, False),
    ("ExpectColumnUniqueValueCountToBeBetween", {"column": "city", "min_value": 3, "max_value": 3}, True),
    ("ExpectColumnMostCommonValueToBeInSet", {"column": "city", "value_set": ["Oslo"]}, True),
]


@dataclass(frozen=True)
class _Batches:
    """The same rows: of a table, of a query, and of pandas."""

    table: Any
    query: Any
    pandas: Any


def _frame() -> pd.DataFrame:
    rows = range(50)
    return pd.DataFrame(
        {
            "id": rows,
            "city": [["Paris", "Rome", None, "Oslo", "Oslo"][number % 5] for number in rows],
            "price": [number / 4 for number in rows],
            "email": [f"u{number}@x.org" if number % 10 else "bad" for number in rows],
            "at": [_BEGIN + datetime.timedelta(hours=number) for number in rows],
        }
    )


@pytest.fixture(scope="module")
def batches() -> Iterator[_Batches]:
    import great_expectations as gx

    url, frame = "sqlfront://?session=great-expectations", _frame()
    engine = sa.create_engine(url)
    frame.to_sql("orders", engine, index=False)
    context: Any = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    source = context.data_sources.add_sql("sqlfront", connection_string=url)
    table = source.add_table_asset("table", table_name="orders")
    query = source.add_query_asset("query", query="SELECT * FROM orders")
    pandas = context.data_sources.add_pandas("pandas").add_dataframe_asset("orders")
    yield _Batches(
        table.add_batch_definition_whole_table("all").get_batch(),
        query.add_batch_definition_whole_table("all").get_batch(),
        pandas.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": frame}),
    )
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE orders"))


def _validated(batch: Any, name: str, arguments: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
    """Whether the rows meet the expectation, and what was observed. The places of unexpected rows are left
    out: only pandas has such."""
    import great_expectations as gx

    validated = batch.validate(getattr(gx.expectations, name)(**arguments), result_format="SUMMARY")
    observed = dict(validated.result)
    assert validated.exception_info.get("raised_exception") is False, validated.exception_info
    observed.pop("partial_unexpected_index_list", None)
    return bool(validated.success), observed


@pytest.mark.parametrize(("name", "arguments", "is_met"), _EXPECTATIONS)
def test_an_expectation_finds_what_it_finds_over_pandas(
    batches: _Batches, name: str, arguments: dict[str, Any], is_met: bool
) -> None:
    found = _validated(batches.table, name, arguments)

    assert found[0] is is_met
    assert found == _validated(batches.pandas, name, arguments)


def test_a_batch_is_a_query(batches: _Batches) -> None:
    for name, arguments, _ in _EXPECTATIONS[:3]:
        assert _validated(batches.query, name, arguments) == _validated(batches.table, name, arguments)


@pytest.mark.parametrize(
    ("name", "arguments", "is_met"),
    [
        ("ExpectColumnValuesToBeOfType", {"column": "id", "type_": "BIGINT"}, True),
        ("ExpectColumnValuesToBeOfType", {"column": "id", "type_": "INTEGER"}, False),
        ("ExpectColumnValuesToBeInTypeList", {"column": "city", "type_list": ["String", "Text"]}, True),
        ("ExpectColumnValuesToMatchLikePattern", {"column": "email", "like_pattern": "u%"}, False),
        ("ExpectColumnValuesToNotMatchLikePattern", {"column": "email", "like_pattern": "v%"}, True),
    ],
)
def test_expectations_of_databases_alone(
    batches: _Batches, name: str, arguments: dict[str, Any], is_met: bool
) -> None:
    assert _validated(batches.table, name, arguments)[0] is is_met
