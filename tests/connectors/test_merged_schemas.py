"""Files of one table with different columns, read with mergeSchema: columns, rows and errors as Spark's."""

import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from sqlfront.config import Config
from sqlfront.session import Session
from sqlfront_values.errors import DatabaseError, NotSupportedError

INT, LONG, STRING = pa.int32(), pa.int64(), pa.string()
GROWN = [
    pa.table({"a": pa.array([1], INT)}),
    pa.table({"a": pa.array([2], INT), "s": pa.array([{"x": 1}], pa.struct([("x", INT)]))}),
    pa.table(
        {
            "a": pa.array([3], INT),
            "s": pa.array([{"x": 1, "y": "k"}], pa.struct([("x", INT), ("y", STRING)])),
            "d": pa.array([Decimal("1.50")], pa.decimal128(5, 2)),
        }
    ),
    pa.table(
        {
            "a": pa.array([4], INT),
            "s": pa.array([None], pa.struct([("x", INT), ("y", STRING)])),
            "d": pa.array([Decimal("123456789.25")], pa.decimal128(25, 2)),
            "l": pa.array([[{"x": 7}]], pa.list_(pa.struct([("x", INT)]))),
        }
    ),
]


def written(folder: Path, tables: Sequence[pa.Table], format_name: str = "parquet") -> Path:
    write: Callable[[pa.Table, Path], None] = {"parquet": pq.write_table, "orc": orc.write_table}[format_name]
    for number, table in enumerate(tables):
        write(table, folder / f"{number}.{format_name}")
    return folder


def read(
    folder: Path, format_name: str = "parquet", merge: str = "true", sql: str = "SELECT * FROM v"
) -> tuple[list[tuple[str, str]], list[tuple[object, ...]]]:
    """Columns and rows, the latter in the order of their texts."""
    with Session(Config()) as session:
        given = f"path '{folder}', mergeSchema '{merge}'"
        session.execute(f"CREATE TEMPORARY VIEW v USING {format_name} OPTIONS ({given})")
        result = session.execute(sql)
        return result.dtypes, sorted((tuple(row) for row in result.collect()), key=str)


def condition(folder: Path, format_name: str = "parquet") -> str | None:
    with pytest.raises(DatabaseError) as caught:
        read(folder, format_name)
    return caught.value.condition


@pytest.mark.parametrize("format_name", ["parquet", "orc"])
def test_columns_are_those_of_all_files(tmp_path: Path, format_name: str) -> None:
    folder = written(tmp_path, GROWN, format_name)

    assert read(folder, format_name) == (
        [
            ("a", "int"),
            ("s", "struct<x:int,y:string>"),
            ("d", "decimal(25,2)"),
            ("l", "array<struct<x:int>>"),
        ],
        [
            (1, None, None, None),
            (2, (1, None), None, None),
            (3, (1, "k"), Decimal("1.50"), None),
            (4, None, Decimal("123456789.25"), [(7,)]),
        ],
    )
    kept = read(folder, format_name, sql="SELECT a, d FROM v WHERE s.y = 'k' OR d > 100")
    assert kept[1] == [(3, Decimal("1.50")), (4, Decimal("123456789.25"))]


@pytest.mark.parametrize("format_name", ["parquet", "orc"])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        (INT, LONG),
        (LONG, INT),
        (pa.float32(), pa.float64()),
        (STRING, pa.binary()),
        (pa.decimal128(10, 2), pa.decimal128(10, 4)),
        (pa.decimal128(10, 0), INT),
        (pa.struct([("x", INT)]), pa.struct([("x", LONG)])),
        (pa.struct([("x", INT)]), INT),
        (pa.list_(INT), pa.list_(LONG)),
        (pa.map_(STRING, INT), pa.map_(INT, INT)),
        (pa.map_(STRING, INT), pa.list_(INT)),
    ],
)
def test_other_types_of_a_column_are_not_merged(
    tmp_path: Path, left: pa.DataType, right: pa.DataType, format_name: str
) -> None:
    tables = [pa.table({"a": pa.array([None], kind)}) for kind in (left, right)]

    assert condition(written(tmp_path, tables, format_name), format_name) == "CANNOT_MERGE_SCHEMAS"


def test_the_message_has_both_schemas(tmp_path: Path) -> None:
    folder = written(tmp_path, [pa.table({"a": pa.array([1], kind)}) for kind in (INT, LONG)])

    with pytest.raises(DatabaseError, match=r'"STRUCT<a: INT>"\nSchema .*:\n"STRUCT<a: BIGINT>"\.'):
        read(folder)


def test_names_that_differ_by_case_are_one_column_with_the_first_name(tmp_path: Path) -> None:
    tables = [
        pa.table({"A": pa.array([1], INT)}),
        pa.table({"a": pa.array([2], INT), "B": pa.array([3], INT)}),
        pa.table({"b": pa.array([4], INT)}),
    ]

    assert read(written(tmp_path, tables)) == ([("A", "int"), ("B", "int")], [(1, None), (2, 3), (None, 4)])


def test_a_name_that_stands_twice_in_a_file_is_refused(tmp_path: Path) -> None:
    twice = pa.table([pa.array([1], INT), pa.array([2], INT)], names=["b", "B"])

    assert (
        condition(written(tmp_path, [pa.table({"a": pa.array([3], INT)}), twice])) == "COLUMN_ALREADY_EXISTS"
    )


def test_new_columns_follow_in_the_order_of_the_files(tmp_path: Path) -> None:
    tables = [pa.table({name: pa.array([1], INT) for name in names}) for names in ("ca", "ba", "dcb")]

    assert [name for name, _ in read(written(tmp_path, tables))[0]] == ["c", "a", "b", "d"]


def test_fields_of_maps_and_structs_without_a_common_one_are_merged(tmp_path: Path) -> None:
    def table(name: str, value: object, kind: pa.DataType) -> pa.Table:
        own = pa.struct([(name, kind)])
        entries = pa.array([[("k", {name: value})]], pa.map_(STRING, own))
        return pa.table({"s": pa.array([{name: value}], own), "m": entries})

    found = read(written(tmp_path, [table("x", 1, INT), table("y", "q", STRING)]))
    assert found == (
        [("s", "struct<x:int,y:string>"), ("m", "map<string,struct<x:int,y:string>>")],
        [((1, None), {"k": (1, None)}), ((None, "q"), {"k": (None, "q")})],
    )


def test_what_spark_has_written_into_a_footer_is_what_is_merged(tmp_path: Path) -> None:
    field = {"name": "a", "type": "long", "nullable": True, "metadata": {}}
    footer = {"org.apache.spark.sql.parquet.row.metadata": json.dumps({"type": "struct", "fields": [field]})}
    signed = pa.table({"a": pa.array([1], INT)}).replace_schema_metadata(footer)

    folder = written(tmp_path, [signed, pa.table({"a": pa.array([2], LONG)})])
    assert read(folder) == ([("a", "bigint")], [(1,), (2,)])
    written(tmp_path, [signed, pa.table({"a": pa.array([2], INT)})])
    assert condition(folder) == "CANNOT_MERGE_SCHEMAS"


def test_partition_columns_are_none_of_the_files(tmp_path: Path) -> None:
    for part, names in ((1, "a"), (2, "ab")):
        place = tmp_path / f"p={part}"
        place.mkdir()
        pq.write_table(pa.table({name: pa.array([part], INT) for name in names}), place / "0.parquet")

    assert read(tmp_path) == ([("a", "int"), ("b", "int"), ("p", "int")], [(1, None, 1), (2, 2, 2)])


def test_without_the_option_the_first_file_counts(tmp_path: Path) -> None:
    assert read(written(tmp_path, GROWN[::3]), merge="FALSE") == ([("a", "int")], [(1,), (4,)])
    with pytest.raises(DatabaseError, match="neither true nor false"):
        read(tmp_path, merge="yes")
    (tmp_path / "p=").mkdir()
    written(tmp_path / "p=", GROWN[:1])
    with pytest.raises(DatabaseError, match="empty partition column value"):  # which Spark finds first
        read(tmp_path, merge="yes")


def test_orc_s_columns_in_no_common_order_are_refused(tmp_path: Path) -> None:
    tables = [pa.table({name: pa.array([1], INT) for name in names}) for names in ("ab", "ba")]

    with pytest.raises(NotSupportedError, match="columns in different orders"):
        read(written(tmp_path, tables, "orc"), "orc")


def test_schemas_that_do_not_merge_come_before_directories_that_stand_twice(tmp_path: Path) -> None:
    for number, kind in enumerate((pa.int32(), pa.string())):
        folder = tmp_path / "p=1" / f"p={number}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"a": pa.array([None], kind)}), folder / "a.parquet")

    view = f"CREATE TEMPORARY VIEW v USING parquet OPTIONS (path '{tmp_path}', mergeSchema '{{}}')"
    with Session(Config()) as session:
        for merges, condition in (("true", "CANNOT_MERGE_SCHEMAS"), ("false", "COLUMN_ALREADY_EXISTS")):
            with pytest.raises(DatabaseError) as caught:
                session.execute(view.format(merges))
            assert caught.value.condition == condition
