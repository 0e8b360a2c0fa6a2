"""The tables of this folder on a live Spark: values, types and error conditions are its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from sqlfront_values.functions import registry
from sqlfront_values.types import ddl
from tests.oracle.answers import Answer, Failure
from tests.oracle.values import text
from tests.sampling import shortened
from tests.values.functions import (
    test_dates,
    test_datetime_building,
    test_datetime_texts,
    test_formats,
    test_json_texts,
    test_like,
    test_regular_expressions,
    test_substrings,
    test_texts,
    test_web_texts,
)
from tests.values.functions.kernel_cases import (
    Case,
    Fails,
    Table,
    Typed,
    argument_types,
    cases,
    run_case,
    sql_of,
)

if TYPE_CHECKING:
    from tests.oracle.spark import SparkOracle

#: Calls of one SELECT.
TOGETHER = 40
TABLES: dict[str, Table] = {
    "like": test_like.TABLE,
    "lengths": test_substrings.LENGTHS,
    "case": test_substrings.CASE,
    "parts": test_substrings.PARTS,
    "padding": test_texts.PADDING,
    "searching": test_texts.SEARCHING,
    "concatenation": test_texts.CONCATENATION,
    "encoding": test_texts.ENCODING,
    "similarity": test_texts.SIMILARITY,
    "matching": test_regular_expressions.MATCHING,
    "extracting": test_regular_expressions.EXTRACTING,
    "fields": test_dates.FIELDS,
    "date arithmetic": test_dates.ARITHMETIC,
    "formatting": test_datetime_texts.FORMATTING,
    "reading": test_datetime_texts.READING,
    "building": test_datetime_building.BUILDING,
    "moving": test_datetime_building.MOVING,
    "intervals": test_datetime_building.INTERVALS,
    "formats": test_formats.STRINGS,
    "numbers": test_formats.NUMBERS,
    "URLs": test_web_texts.URLS,
    "forms": test_web_texts.FORMS,
    "bytes": test_web_texts.BYTES,
    "JSON": test_json_texts.TEXTS,
}


#: The tables that the test command asks about: each kind of type once. `make oracle` asks about the others.
SAMPLE = ("lengths", "case", "fields", "intervals", "bytes", "JSON")


def portions(items: Sequence[Case], size: int) -> Iterator[list[Case]]:
    iterator = iter(items)
    while portion := list(islice(iterator, size)):
        yield portion


@pytest.mark.spark
@pytest.mark.parametrize("name", shortened(TABLES, *SAMPLE))
def test_the_table_is_sparks(spark: SparkOracle, name: str) -> None:
    everything = cases(TABLES[name])
    failing = [(case, case.answer) for case in everything if isinstance(case.answer, Fails)]
    succeeding = [case for case in everything if not isinstance(case.answer, Fails)]
    differences = []

    for portion in portions(succeeding, TOGETHER):
        answer = spark.answer(f"SELECT {', '.join(map(sql_of, portion))}")
        assert isinstance(answer, Answer), answer
        for case, value, column in zip(portion, answer.rows[0], answer.columns, strict=True):
            ours = text(shown(run_case(case), type_of_result(case))), type_of_result(case)
            if ours[0] != value or not same_type(ours[1], column.type):
                differences.append(f"{case}: {ours}, but Spark {value, column.type}")
    for case, fails in failing:
        answer = spark.answer(f"SELECT {sql_of(case)}")
        if not isinstance(answer, Failure) or answer.condition != fails.condition:
            differences.append(f"{case}: {fails}, but Spark {answer}")

    assert not differences, "\n".join(differences)


def type_of_result(case: Case) -> str:
    function = registry.lookup(case.name)
    assert function is not None
    if isinstance(case.answer, Typed):
        return ddl(case.answer.type)
    return ddl(function.result_type(argument_types(function, case.arguments)))


def shown(value: pa.Scalar, data_type: str) -> pa.Scalar:
    """The value as a result shows it: months, which travel as a number, as an interval."""
    if data_type.startswith("interval") and pa.types.is_int32(value.type) and value.is_valid:
        return pa.scalar(pa.MonthDayNano([value.as_py(), 0, 0]))
    return value


def same_type(ours: str, sparks: str) -> bool:
    """Intervals have one type for all of Spark's ranges of fields."""
    return ours == sparks or (ours.startswith("interval") and sparks.startswith("interval"))
