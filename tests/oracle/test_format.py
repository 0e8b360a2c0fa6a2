"""The `.slt` format, the values' text and the comparison themselves."""

import datetime
import math
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
import sqlglot
import sqlglot.errors

from tests.oracle import slt
from tests.oracle.answers import Answer, Column, Failure, difference
from tests.oracle.complete import SLT_FOLDER, files
from tests.oracle.notebooks.runs import FOLDER
from tests.oracle.slt import Record, SltError
from tests.oracle.values import text

FILES = list(files([SLT_FOLDER, FOLDER]))
DOUBLES = (Column("k", "int"), Column("x", "double"))


def doubles(*rows: tuple[str, str]) -> Answer:
    return Answer(DOUBLES, rows)


@pytest.mark.parametrize(
    "scalar, expected",
    [
        (pa.scalar(None, pa.int32()), "NULL"),
        (pa.scalar(Decimal("-0.10"), pa.decimal128(10, 2)), "-0.10"),
        (pa.scalar(Decimal("1E+3").quantize(Decimal(1)), pa.decimal64(10, 0)), "1000"),
        (pa.scalar(0.1, pa.float32()), "0.1"),
        (pa.scalar(-0.0), "-0.0"),
        (pa.scalar(math.nan), "NaN"),
        (pa.scalar(-math.inf), "-Infinity"),
        (pa.scalar("a'b\\\n\u200b日"), "'a\\'b\\\\\\n\\u200b日'"),
        (pa.scalar(b"\x00\xff"), "X'00ff'"),
        (pa.scalar(datetime.date(1, 1, 1)), "0001-01-01"),
        (pa.scalar(-62135596800000001, pa.timestamp("us", tz="UTC")), "0000-12-31 23:59:59.999999"),
        (pa.scalar(0, pa.timestamp("us")), "1970-01-01 00:00:00"),
        (pa.scalar(-93784500000, pa.duration("us")), "-1 02:03:04.5"),
        (pa.scalar((-14, 0, 0), pa.month_day_nano_interval()), "-1-2"),
        (pa.scalar([1, None], pa.list_(pa.int8())), "[1, NULL]"),
        (pa.scalar({"a": 1, "b": "x"}), "(1, 'x')"),
        (pa.scalar([("b", 1), ("a", None)], pa.map_(pa.string(), pa.int32())), "{'a': NULL, 'b': 1}"),
        (pa.array(["x"]).dictionary_encode()[0], "'x'"),
    ],
)
def test_value_as_text(scalar: pa.Scalar, expected: str) -> None:
    assert text(scalar) == expected


def test_outcome_survives_being_stored() -> None:
    columns = (
        Column("a", "int"),
        Column("a`b, 'c'\n\\ | d", "struct<x:int,y:decimal(10,2)>"),
        Column("", "string"),
    )
    answer = Answer(columns, (("1", "(1, 2.00)", "'a | b\\' | '"), ("NULL", "NULL", "''")))

    assert slt.parse_outcome(slt.outcome_text(answer)) == answer


@pytest.mark.parametrize("failure", [Failure("A.B", "42000"), Failure(None, None)])
def test_failure_survives_being_stored(failure: Failure) -> None:
    assert slt.parse_outcome(slt.outcome_text(failure)) == failure


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_file_is_written_as_it_was_read(path: Path, tmp_path: Path) -> None:
    slt.write(tmp_path / path.name, slt.blocks(path))

    assert (tmp_path / path.name).read_text(encoding="utf-8") == path.read_text(encoding="utf-8")


def test_block_of_one_side_says_whose_it_is(tmp_path: Path) -> None:
    path = tmp_path / "one.slt"
    path.write_text("# why\nonlyif spark\nstatement\nDROP TABLE t\n", encoding="utf-8")

    (record,) = slt.read(path)

    assert (record.only, record.line, record.sql) == (slt.SPARK, 4, "DROP TABLE t")
    slt.write(path, [record])
    assert slt.read(path) == [record]


@pytest.mark.parametrize("content", ["onlyif postgres\nstatement\nSELECT 1", "onlyif spark"])
def test_unknown_side_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "bad.slt"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(SltError, match=r"^bad\.slt:1: "):
        slt.read(path)


@pytest.mark.parametrize("content", ["querry\nSELECT 1", "query sorted\nSELECT 1", "query\n----\na int"])
def test_malformed_block_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "bad.slt"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(SltError, match=r"^bad\.slt:1: "):
        slt.read(path)


def test_order_counts_only_where_it_is_asked_for() -> None:
    one, other = doubles(("1", "0.5"), ("2", "0.5")), doubles(("2", "0.5"), ("1", "0.5"))

    assert difference(one, other) is None
    assert difference(one, other, ordered=True) is not None


def test_duplicates_count() -> None:
    assert difference(doubles(("1", "0.5"), ("1", "0.5")), doubles(("1", "0.5"))) is not None


@pytest.mark.parametrize("name, kind", [("K", "int"), ("k", "bigint")])
def test_names_and_types_count(name: str, kind: str) -> None:
    other = Answer((Column(name, kind), DOUBLES[1]), ())

    assert difference(doubles(), other) is not None


@pytest.mark.parametrize(
    "left, right, same",
    [
        ("1.0", "1.0000000001", True),
        ("1.0", "1.00000001", False),
        ("NaN", "NaN", True),
        ("NaN", "1.0", False),
        ("NULL", "0.0", False),
        ("Infinity", "-Infinity", False),
        ("0.1", "0.10000000000000002", True),
    ],
)
def test_approximate_floats(left: str, right: str, same: bool) -> None:
    expected, got = doubles(("1", left), ("2", "9.0")), doubles(("2", "9.0"), ("1", right))

    assert (difference(expected, got, approximate=True) is None) is same


def test_exact_floats_differ_in_the_last_place_and_in_sign() -> None:
    assert difference(doubles(("1", "0.1")), doubles(("1", "0.10000000000000002"))) is not None
    assert difference(doubles(("1", "0.0")), doubles(("1", "-0.0"))) is not None


def test_error_is_not_an_answer() -> None:
    assert difference(doubles(), Failure("DIVIDE_BY_ZERO", "22012")) is not None
    assert difference(Failure("DIVIDE_BY_ZERO", "22012"), Failure("CAST_OVERFLOW", "22003")) is not None
    assert difference(Failure("A", "1", "one text"), Failure("A", "1", "another text")) is None
    assert difference(Failure("_LEGACY_ERROR_TEMP_1", None), Failure("A", "1")) is None


def _ordered_by_sql(record: Record) -> bool:
    try:
        return bool(sqlglot.parse_one(record.sql, dialect="spark").args.get("order"))
    except (sqlglot.errors.SqlglotError, AssertionError):  # the latter for some texts with |>
        return False


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_query_with_order_by_is_marked(path: Path) -> None:
    queries = [record for record in slt.read(path) if record.is_query and isinstance(record.expected, Answer)]

    assert [q.place for q in queries if _ordered_by_sql(q) and not q.ordered] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_query_has_an_answer(path: Path) -> None:
    assert [record.place for record in slt.read(path) if record.is_query and record.expected is None] == []
