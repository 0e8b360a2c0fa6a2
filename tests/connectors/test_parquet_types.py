"""Parquet columns as Spark reads them: by what the leaves say, and as the types of the table."""

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlfront.config import Config
from sqlfront.session import Session
from sqlfront_values.errors import DatabaseError, NotSupportedError

MISMATCH = "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH"


def read(path: Path, ddl: str = "") -> tuple[list[tuple[str, str]], list[object]]:
    """Types and the first row, of a view with those columns."""
    with Session(Config()) as session:
        columns = f"({ddl})" if ddl else ""
        session.execute(f"CREATE TEMPORARY VIEW v {columns} USING parquet OPTIONS (path '{path}')")
        result = session.execute("SELECT * FROM v")
        return result.dtypes, list(result.collect()[0])


def condition(path: Path, ddl: str = "") -> str | None:
    with pytest.raises(DatabaseError) as caught:
        read(path, ddl)
    return caught.value.condition


def written(folder: Path, values: Sequence[object], kind: pa.DataType, **options: object) -> Path:
    pq.write_table(pa.table({"a": pa.array(values, kind)}), folder / "a.parquet", **options)
    return folder / "a.parquet"


@pytest.mark.parametrize(
    ("kind", "value", "wanted", "expected"),
    [
        (pa.int32(), 70_000, "TINYINT", 112),
        (pa.int32(), 70_000, "BIGINT", 70_000),
        (pa.int32(), 70_000, "DOUBLE", 70_000.0),
        (pa.date32(), 5, "BIGINT", 5),
        (pa.timestamp("ms"), 5, "BIGINT", 5),
        (pa.duration("us"), 5, "BIGINT", 5),
    ],
)
def test_a_column_is_read_as_the_table_says(
    tmp_path: Path, kind: pa.DataType, value: int, wanted: str, expected: object
) -> None:
    array = pa.array([value], pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)
    pq.write_table(pa.table({"a": array}), tmp_path / "a.parquet")

    assert read(tmp_path / "a.parquet", f"a {wanted}") == ([("a", wanted.lower())], [expected])


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        (pa.int64(), "INT"),
        (pa.int64(), "STRING"),
        (pa.string(), "INT"),
        (pa.bool_(), "STRING"),
        (pa.int32(), "DECIMAL(9,0)"),
        (pa.decimal128(5, 2), "DECIMAL(5,3)"),
        (pa.timestamp("us"), "DATE"),
        (pa.list_(pa.int64()), "ARRAY<INT>"),
    ],
)
def test_what_spark_refuses_is_refused(tmp_path: Path, kind: pa.DataType, wanted: str) -> None:
    path = written(tmp_path, [None], kind)

    assert condition(path, f"a {wanted}") == MISMATCH
    assert condition(written(tmp_path, [None], pa.timestamp("ns"))) == "PARQUET_TYPE_ILLEGAL"


def test_files_of_one_table_may_have_narrower_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array([1], pa.int64())}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"a": pa.array([2], pa.int32())}), tmp_path / "1.parquet")

    with Session(Config()) as session:
        assert sorted(session.execute(f"SELECT a FROM parquet.`{tmp_path}`").collect()) == [(1,), (2,)]


def test_names_that_differ_by_case_alone_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1], "A": [2]}), tmp_path / "a.parquet")

    assert condition(tmp_path) == "COLUMN_ALREADY_EXISTS"
    with pytest.raises(NotSupportedError, match="two columns `a`"):
        read(tmp_path, "a BIGINT")


def test_int96_holds_all_of_spark_s_years(tmp_path: Path) -> None:
    moments = pa.array([-62_135_596_800_000_000, 253_402_300_799_999_999]).cast(pa.timestamp("us"))
    pq.write_table(pa.table({"a": moments}), tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)

    with Session(Config()) as session:
        found = session.execute(f"SELECT string(a) FROM parquet.`{tmp_path}`").collect()
    assert sorted(found) == [("0001-01-01 00:00:00",), ("9999-12-31 23:59:59.999999",)]


def test_foreign_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("secret,content\n1,2\n")

    assert condition(tmp_path) == "FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER"
    with pytest.raises(DatabaseError) as caught:
        read(tmp_path, "a INT")
    assert "secret" not in str(caught.value)


def test_a_footer_that_arrow_alone_can_t_read_is_no_broken_one(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"/////", b"//*//", 1))  # Arrow's own schema, which Spark leaves alone

    with pytest.raises(NotSupportedError, match="a footer that Arrow can't read"):
        read(tmp_path, "a BIGINT")


@pytest.mark.parametrize(
    ("written", "metadata"),
    [
        ("interval month", {}),
        ("variant", {}),
        ("string", {"__COLLATIONS": {"a": "x"}}),
        ("string", {"__CHAR_VARCHAR_TYPE_STRING": "struct<a:char(5)>"}),
    ],
)
def test_what_spark_has_written_as_another_type_is_refused(
    tmp_path: Path, written: str, metadata: dict[str, object]
) -> None:
    with_schema(tmp_path, pa.array([3], pa.int32()), written, metadata)

    with pytest.raises(NotSupportedError, match="Spark has written"):
        rows_of(tmp_path)


def test_the_schema_that_spark_has_written_counts(tmp_path: Path) -> None:
    with_schema(tmp_path, pa.array([3], pa.int32()), {"type": "array", "elementType": "string"}, {}, "b")
    assert rows_of(tmp_path) == [(None,)]

    with_schema(tmp_path, pa.array([3], pa.int32()), "long", {})
    assert rows_of(tmp_path) == [(3,)]


def with_schema(
    folder: Path, column: pa.Array, written: object, metadata: dict[str, object], name: str = "a"
) -> None:
    field = {"name": name, "type": written, "nullable": True, "metadata": metadata}
    schema = pa.schema([("a", column.type)]).with_metadata(
        {"org.apache.spark.sql.parquet.row.metadata": json.dumps({"type": "struct", "fields": [field]})}
    )
    pq.write_table(pa.table([column], schema=schema), folder / "a.parquet")


def rows_of(folder: Path) -> list[tuple[object, ...]]:
    with Session(Config()) as session:
        return [tuple(row) for row in session.execute(f"SELECT * FROM parquet.`{folder}`").collect()]


@pytest.mark.parametrize(
    ("values", "where", "expected"),
    [
        # Spark answers as here.
        ([1.0, float("nan")], "a > 0.5D", 2),
        ([1.0, 2.0], "a > 0.5D", 2),
        ([float("nan")], "a IS NOT NULL", 1),
        ([0.0, None, 1.0], "a >= 0.0D", 2),
        ([-0.0, 1.0], "a >= double(-1)", 2),
        # Spark leaves out the row group, though NaN is above all numbers, and both zeros are equal.
        ([1.0, float("nan")], "a > 5.0D", None),
        ([1.0, float("nan")], "a = double('NaN')", None),
        ([1.5, float("nan")], "NOT (a IN (double('Infinity'), 1.5D))", None),
        ([0.0], "a <= -0.0D", None),
        ([-0.0], "a = 0.0D", None),
    ],
)
def test_conditions_over_which_spark_leaves_out_rows_are_refused(
    tmp_path: Path, values: list[float | None], where: str, expected: int | None
) -> None:
    written(tmp_path, values, pa.float64())

    with Session(Config()) as session:
        query = f"SELECT * FROM parquet.`{tmp_path}` WHERE {where}"
        if expected is None:
            with pytest.raises(NotSupportedError, match="row groups Spark skips"):
                session.execute(query).collect()
        else:
            assert len(session.execute(query).collect()) == expected
