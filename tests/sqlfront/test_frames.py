"""``{name}`` in a text stands for a frame or a value, as in ``spark.sql``."""

import datetime
from decimal import Decimal

import polars
import pyarrow as pa
import pytest

import sqlfront
from sqlfront.frames import replace_frames
from sqlfront_values.errors import DataError, ProgrammingError


@pytest.mark.parametrize(
    ("text", "given", "filled"),
    [
        ("SELECT {x}", {"x": 5}, "SELECT 5"),
        ("SELECT {x}", {"x": "it's \\ x"}, r"SELECT 'it\'s \\ x'"),
        ("SELECT 2 IN {x}", {"x": (1, "a", None)}, "SELECT 2 IN (1, 'a', NULL)"),
        ("SELECT {x}, '{x}', '{{x}}'", {"x": Decimal("1.50")}, "SELECT 1.50, '1.50', '{x}'"),
    ],
)
def test_values(text: str, given: dict[str, object], filled: str) -> None:
    assert replace_frames(text, given) == (filled, {})


@pytest.mark.parametrize(
    ("text", "given", "told"),
    [
        ("SELECT {y}", {"x": 1}, "no such keyword was given; given: x"),
        ("SELECT {x} {", {"x": 1}, "not a format string"),
        ("SELECT {x.a}", {"x": 1}, "a int has no columns"),
        ("SELECT {day}", {"day": datetime.date(2020, 1, 2)}, "`:day` with args="),
    ],
)
def test_what_is_no_value(text: str, given: dict[str, object], told: str) -> None:
    with pytest.raises(ProgrammingError, match=told):
        replace_frames(text, given)


def test_without_keywords_a_brace_is_a_brace() -> None:
    assert sqlfront.sql("SELECT '{' || '{{x}'").collect() == [("{{{x}",)]


def test_a_frame_and_its_columns() -> None:
    rows = pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]})
    found = sqlfront.sql(
        "SELECT {d.name}, {d[id]} FROM {d} WHERE {d.id} IN {ids} ORDER BY 2", d=rows, ids=(1, 3)
    )
    assert found.collect() == [("a", 1), ("c", 3)]
    with pytest.raises(ProgrammingError, match="_sqlfront_frame"):
        sqlfront.sql("SELECT * FROM _sqlfront_frame_1")


class Unreadable:
    """A frame that gives no stream."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        raise ValueError("nothing to read")


def test_a_frame_that_can_t_be_read_leaves_no_other_behind() -> None:
    with sqlfront.Session() as session:
        with pytest.raises(DataError, match="nothing to read"):
            session.sql("SELECT * FROM {a}, {b}", a=pa.table({"id": [1]}), b=Unreadable())
        assert session.context.catalog.names() == ()


def test_a_lazy_frame_stands_for_its_rows() -> None:
    frame = polars.LazyFrame({"id": [1, 2, 3]}).filter(polars.col("id") > 1)
    assert sqlfront.sql("SELECT sum({f.id}) FROM {f}", f=frame).collect() == [(5,)]
