"""File tables: listing, partition directories, inference, pruning, bad files."""

import datetime
import math
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlfront.config import Config
from sqlfront.session import Session
from sqlfront_connectors import registry
from sqlfront_connectors.base import ScanRequest, Table, TableDefinition, WritableTable, insert_all
from sqlfront_connectors.bounds import ColumnBounds, may_match
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.files.locations.partition_values import infer
from sqlfront_engine.processor import END_OF_PIECE, ProcessorContext
from sqlfront_engine.testing import CountingMemory
from sqlfront_values.errors import DataError, NotSupportedError, OperationalError, ProgrammingError
from sqlfront_values.expressions import Call, Column, Expr, Literal
from sqlfront_values.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, ddl, decimal
from tests.connectors.reading import read


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def table(format_name: str, location: Path, schema: pa.Schema | None = None, **options: str) -> Table:
    definition = TableDefinition("t", schema, options=options, location=str(location))
    return registry.create(format_name, definition)


def rows(made: Table, *filters: Expr) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in read(made.snapshot(), range(len(made.schema)), filters)]


def types(made: Table) -> list[tuple[str, str]]:
    return [(field.name, ddl(field.type)) for field in made.schema]


def compare(function: str, column: Column, value: object) -> Expr:
    return Call(BOOLEAN, function, (column, Literal(column.type, value)))


# ---- listing and partition directories


def test_hidden_files_and_directories_are_ignored(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "1\n")
    write(tmp_path / "_SUCCESS", "x,y\n")
    write(tmp_path / ".a.csv.crc", "x\n")
    write(tmp_path / "_temporary" / "b.csv", "2\n")

    assert rows(table("csv", tmp_path)) == [("1",)]


def test_files_are_read_in_the_order_of_their_inserts(tmp_path: Path) -> None:
    schema = pa.schema([("a", INT)])
    made = table("csv", tmp_path / "t", schema)
    assert isinstance(made, FileTable)
    for number in range(12):
        insert_all(made, [pa.RecordBatch.from_pydict({"a": pa.array([number] * (12 - number), INT)})])
    inserted = [(number,) for number in range(12) for _ in range(12 - number)]

    assert rows(made) == inserted
    made.refresh()
    assert rows(made) == rows(table("csv", tmp_path / "t", schema)) == inserted


def test_globs_name_several_places(tmp_path: Path) -> None:
    write(tmp_path / "one" / "a.csv", "1\n")
    write(tmp_path / "two" / "a.csv", "2\n")
    write(tmp_path / "other" / "a.csv", "3\n")

    assert rows(table("csv", tmp_path / "[ot][nw]*")) == [("1",), ("2",)]


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    with pytest.raises(OperationalError, match="nowhere") as caught:
        table("parquet", tmp_path / "nowhere")

    assert (caught.value.condition, caught.value.sqlstate) == ("PATH_NOT_FOUND", "42K03")


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (["1", "2", "__HIVE_DEFAULT_PARTITION__"], "int"),
        (["1", "30000000000"], "bigint"),
        (["1", "1.5"], "double"),
        (["12345678901234567890", "1"], "decimal(20,0)"),
        (["2024-01-31", "2024-02-01"], "date"),
        (["2024-01-01 10%3A00%3A00", "2024-01-02"], "timestamp"),
        (["true", "false"], "string"),
        (["1", "k"], "string"),
        (["01", "1"], "int"),
        (["2024-13-01"], "string"),
    ],
)
def test_types_of_partition_directories_are_sparks(tmp_path: Path, texts: list[str], wanted: str) -> None:
    for number, text in enumerate(texts):
        write(tmp_path / f"p={text}" / f"{number}.csv", "x\n")

    assert types(table("csv", tmp_path))[-1] == ("p", wanted)


def test_values_of_partition_directories(tmp_path: Path) -> None:
    write(tmp_path / "i=1" / "s=a%20b" / "d=2024-01-01" / "m=1" / "part.csv", "7\n")
    write(tmp_path / "i=__HIVE_DEFAULT_PARTITION__" / "s=c" / "d=2024-01-02" / "m=k" / "part.csv", "8\n")

    assert sorted(rows(table("csv", tmp_path)), key=str) == [
        ("7", 1, "a b", datetime.date(2024, 1, 1), "1"),
        ("8", None, "c", datetime.date(2024, 1, 2), "k"),
    ]


def test_directories_that_disagree_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a=1" / "x.csv", "1\n")
    write(tmp_path / "b=1" / "x.csv", "1\n")

    with pytest.raises(OperationalError, match="a and b") as caught:
        table("csv", tmp_path)

    assert caught.value.condition == "CONFLICTING_PARTITION_COLUMN_NAMES"


def test_directories_that_a_filter_rules_out_are_not_opened(tmp_path: Path) -> None:
    write(tmp_path / "p=1" / "x.csv", "1\n")
    (tmp_path / "p=2" / "x.csv").mkdir(parents=True)  # a directory where a file is expected: opening it fails
    write(tmp_path / "p=3" / "x.csv", "3\n")
    made = table("csv", tmp_path, pa.schema([("v", INT), ("p", INT)]))
    (tmp_path / "p=3" / "x.csv").unlink()

    assert rows(made, compare("less", Column(INT, 1, "p"), 3)) == [(1, 1)]


def test_infer_takes_numbers_dates_and_timestamps() -> None:
    assert [infer(text) for text in ("-7", "2147483648", "1e3", "1e-3", "2024-02-30")] == [
        INT,
        BIGINT,
        decimal(4, 0),
        DOUBLE,
        STRING,
    ]
    assert [infer(text) for text in ("2024-02-29", "2024-02-29 01%3A02%3A03", "2024-02-29 1:02")] == [
        DATE,
        TIMESTAMP,
        STRING,
    ]


def test_inserts_make_partition_directories_and_read_them_back(tmp_path: Path) -> None:
    schema = pa.schema([("p", STRING), ("v", BIGINT), ("d", DATE)])
    made = registry.create(
        "parquet", TableDefinition("t", schema, location=str(tmp_path / "t"), partitioned_by=("p", "d"))
    )
    assert isinstance(made, WritableTable)
    assert made.schema.names == ["v", "p", "d"]
    day = datetime.date(2024, 1, 1)
    batch = pa.RecordBatch.from_pylist(
        [{"v": 1, "p": "a/b", "d": day}, {"v": 2, "p": None, "d": day}, {"v": 3, "p": "a/b", "d": None}],
        schema=made.schema,
    )
    insert_all(made, [batch])

    assert sorted(rows(made), key=str) == [(1, "a/b", day), (2, None, day), (3, "a/b", None)]
    again = table("parquet", tmp_path / "t")
    assert sorted(rows(again), key=str) == sorted(rows(made), key=str)
    assert (tmp_path / "t" / "p=a%2Fb" / "d=__HIVE_DEFAULT_PARTITION__").is_dir()


def test_partition_directories_are_named_as_spark_names_them(tmp_path: Path) -> None:
    made = owned("parquet", tmp_path, pa.schema([("a", BIGINT), ("p", STRING)]), "p")
    texts = ["é[1]", "", "a b", "é[1]"]
    insert_all(made, [pa.RecordBatch.from_pydict({"a": [1, 2, 3, 4], "p": texts})])

    names = {path.name for path in tmp_path.rglob("p=*")}
    assert names == {"p=é%5B1%5D", "p=__HIVE_DEFAULT_PARTITION__", "p=a b"}
    assert sorted(rows(made), key=str) == [(1, "é[1]"), (2, None), (3, "a b"), (4, "é[1]")]


@pytest.mark.parametrize(
    ("kind", "text"), [(BOOLEAN, "maybe"), (INT, "99999999999"), (decimal(3, 1), "x"), (DATE, "soon")]
)
def test_a_directory_that_does_not_fit_a_declared_type_is_an_error(
    tmp_path: Path, kind: pa.DataType, text: str
) -> None:
    (tmp_path / f"p={text}").mkdir()
    pq.write_table(pa.table({"a": [1]}), tmp_path / f"p={text}" / "t.parquet")
    schema = pa.schema([("a", BIGINT), ("p", kind)])
    definition = TableDefinition("t", schema, location=str(tmp_path), partitioned_by=("p",))

    with pytest.raises(OperationalError, match="INVALID_PARTITION_VALUE"):
        rows(registry.create("parquet", definition))


# ---- Parquet


def test_a_column_is_not_judged_by_a_field_of_the_same_path(tmp_path: Path) -> None:
    data = pa.table({"a": pa.array([{"b": 1}]), "a.b": pa.array([100])})
    pq.write_table(data, tmp_path / "t.parquet")
    made = table("parquet", tmp_path)

    assert rows(made, compare("equal", Column(BIGINT, 1), 100)) == [({"b": 1}, 100)]
    assert rows(made, compare("equal", Column(BIGINT, 1), 1)) == []


def test_row_groups_that_a_filter_rules_out_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": list(range(100))}), path, row_group_size=10)
    made = table("parquet", path)

    assert [row[0] for row in rows(made, compare("greater_equal", Column(BIGINT, 0), 85))] == list(
        range(80, 100)
    )


def test_foreign_arrow_types_become_sparks(tmp_path: Path) -> None:
    data = pa.table(
        {
            "u8": pa.array([255], pa.uint8()),
            "u64": pa.array([2**64 - 1], pa.uint64()),
            "view": pa.array(["x"], pa.string_view()),
            "large": pa.array(["y"], pa.large_string()),
            "ms": pa.array([1_000], pa.timestamp("ms")),
            "zoned": pa.array([1_000], pa.timestamp("ms", tz="Europe/Berlin")),
            "fixed": pa.array([b"ab"], pa.binary(2)),
            "list": pa.array([[1, None]], pa.large_list(pa.int16())),
            "low": pa.array(["z"], pa.string()).dictionary_encode(),
        }
    )
    pq.write_table(data, tmp_path / "t.parquet")
    made = table("parquet", tmp_path)

    assert types(made) == [
        ("u8", "smallint"),
        ("u64", "decimal(20,0)"),
        ("view", "string"),
        ("large", "string"),
        ("ms", "timestamp_ntz"),
        ("zoned", "timestamp"),
        ("fixed", "binary"),
        ("list", "array<smallint>"),
        ("low", "string"),
    ]
    assert rows(made)[0] == (
        255,
        Decimal(2**64 - 1),
        "x",
        "y",
        datetime.datetime(1970, 1, 1, 0, 0, 1),
        datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC),
        b"ab",
        [1, None],
        "z",
    )


def test_columns_that_a_file_lacks_are_null(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"B": ["x"], "a": [2]}), tmp_path / "2.parquet")
    made = table("parquet", tmp_path, pa.schema([("a", BIGINT), ("b", STRING)]))

    assert sorted(rows(made)) == [(1, None), (2, "x")]


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path) -> None:
    write(tmp_path / "broken.parquet", "certainly not parquet")

    with pytest.raises(OperationalError, match=r"broken\.parquet") as caught:
        table("parquet", tmp_path)

    assert caught.value.sqlstate == "KD001"


def test_a_file_cut_short_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cut.parquet"
    pq.write_table(pa.table({"a": list(range(10_000))}), path, compression="none", use_dictionary=False)
    made = table("parquet", path)
    content = path.read_bytes()
    path.write_bytes(content[:200] + bytes(len(content) - 400) + content[-200:])

    with pytest.raises(OperationalError, match=r"cut\.parquet"):
        rows(made)


def test_a_file_that_went_away_is_named(tmp_path: Path) -> None:
    path = tmp_path / "gone.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    made = table("parquet", path)
    path.unlink()

    with pytest.raises(OperationalError, match=r"gone\.parquet") as caught:
        rows(made)

    assert caught.value.condition == "FAILED_READ_FILE.FILE_NOT_EXIST"


# ---- CSV


SAMPLE = (
    "id,name,x,d,ts,b,big,mix,dec,e,sp\n"
    "1,a,1.5,2024-01-31,2024-01-31 10:11:12,true,3000000000,1,12345678901234567890,1e3, 7\n"
    "2,,2,2024-02-01,2024-01-31T10:11:12.5,FALSE,4,x,1,-5.5E-2,8\n"
    ',"",NaN,,,,,,,,\n'
)


def test_csv_inference_is_sparks(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", SAMPLE)
    made = table("csv", tmp_path, header="true", inferSchema="true")

    assert [kind for _, kind in types(made)] == [
        "int",
        "string",
        "double",
        "date",
        "timestamp",
        "boolean",
        "bigint",
        "string",
        "decimal(20,0)",
        "double",
        "double",
    ]
    first, second, third = rows(made)
    assert first[:3] == (1, "a", 1.5)
    assert first[4] == datetime.datetime(2024, 1, 31, 10, 11, 12, tzinfo=datetime.UTC)
    assert second[4:6] == (datetime.datetime(2024, 1, 31, 10, 11, 12, 500_000, tzinfo=datetime.UTC), False)
    assert (first[8], first[9], first[10]) == (Decimal(12345678901234567890), 1000.0, 7.0)
    assert isinstance(third[2], float)
    assert math.isnan(third[2])
    assert (third[0], third[1]) == (None, None)


def test_csv_without_options_has_strings_and_no_header(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "1,a\n2,\n")
    made = table("csv", tmp_path)

    assert types(made) == [("_c0", "string"), ("_c1", "string")]
    assert rows(made) == [("1", "a"), ("2", None)]


def test_null_value_leaves_quoted_empty_strings(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", 'name\nNA\n\n""\nx\n')
    made = table("csv", tmp_path, header="true", nullValue="NA")

    assert rows(made) == [(None,), ("",), ("x",)]


def test_records_of_other_lengths_are_filled_up_or_cut(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "1,a\nx,b\n3\n4,c,d\n")
    made = table("csv", tmp_path, pa.schema([("id", INT), ("name", STRING)]))

    assert rows(made) == [(1, "a"), (None, "b"), (3, None), (4, "c")]


@pytest.mark.parametrize("content", ["x,b\n", "1,b\n1,2,3\n"])
def test_failfast_refuses_malformed_records(tmp_path: Path, content: str) -> None:
    write(tmp_path / "a.csv", content)
    made = table("csv", tmp_path, pa.schema([("id", INT), ("name", STRING)]), mode="FAILFAST")

    with pytest.raises(OperationalError, match=r"a\.csv.*FAILFAST") as caught:
        rows(made)

    assert caught.value.condition == "FAILED_READ_FILE.NO_HINT"


def test_doubled_quotes_mean_one_if_the_quote_is_the_escape(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", '1,"q""uote"\n')

    assert rows(table("csv", tmp_path)) == [("1", '"q""uote"')]
    assert rows(table("csv", tmp_path, escape='"')) == [("1", 'q"uote')]


def test_long_fields_in_records_of_other_lengths(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "a,b\n" + "x" * 200_000 + "\n")

    assert [len(str(row[0])) for row in rows(table("csv", tmp_path))] == [1, 200_000]


def test_bytes_that_are_no_text_are_replaced_as_java_does(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a,\xff\n1\n")

    assert rows(table("csv", tmp_path)) == [("a", "\ufffd"), ("1", None)]


def test_an_unknown_encoding_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProgrammingError, match="nope"):
        table("csv", tmp_path, pa.schema([("a", STRING)]), encoding="nope")


def test_text_files_are_charged_while_they_are_read(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "x\n" * 1000)
    plan = table("csv", tmp_path).snapshot().scan(ScanRequest((0,)))
    memory = CountingMemory()
    steps = plan.source.run(ProcessorContext("scan", memory, resources=plan.resources))
    next(steps)

    assert memory.held > 2000
    assert list(steps) == [END_OF_PIECE]
    assert memory.held == 0


def test_an_empty_csv_has_no_columns(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "")

    assert types(table("csv", tmp_path)) == []


def test_unknown_options_are_refused_by_name(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "1\n")

    with pytest.raises(NotSupportedError, match="locale"):
        table("csv", tmp_path, locale="de")


@pytest.mark.parametrize("escape", ['"', "\\"])
def test_csv_round_trip_of_awkward_strings(tmp_path: Path, escape: str) -> None:
    schema = pa.schema([("s", STRING), ("d", decimal(10, 3))])
    made = registry.create(
        "csv", TableDefinition("t", schema, location=str(tmp_path / "t"), options={"escape": escape})
    )
    assert isinstance(made, WritableTable)
    texts = ["a,b", 'say "hi"', "žluť 🐎", " spaced ", "", "back\\slash", None]
    batch = pa.RecordBatch.from_arrays(
        [pa.array(texts), pa.array([Decimal("1.500")] * 7).cast(pa.decimal64(10, 3))], names=["s", "d"]
    )
    insert_all(made, [batch])

    # As in Spark: written without white space around; empty is null when read, since nullValue is.
    assert [row[0] for row in rows(made)] == [(text or "").strip() or None for text in texts]


# ---- JSON


def test_json_inference_is_sparks(tmp_path: Path) -> None:
    write(
        tmp_path / "a.json",
        '{"b":1,"a":"x"}\n{"b":1.5,"c":[1,2],"d":{"z":1,"y":null}}\n\n{"a":null,"e":true,"f":"2024-01-01"}\n',
    )
    made = table("json", tmp_path)

    assert types(made) == [
        ("a", "string"),
        ("b", "double"),
        ("c", "array<bigint>"),
        ("d", "struct<y:string,z:bigint>"),
        ("e", "boolean"),
        ("f", "string"),
    ]
    assert rows(made) == [
        ("x", 1.0, None, None, None, None),
        (None, 1.5, [1, 2], {"y": None, "z": 1}, None, None),
        (None, None, None, None, True, "2024-01-01"),
    ]


def test_json_lines_that_do_not_parse(tmp_path: Path) -> None:
    write(tmp_path / "a.json", '{"b":1}\n{bad\n')
    schema = pa.schema([("b", BIGINT)])

    assert rows(table("json", tmp_path, schema)) == [(1,), (None,)]
    with pytest.raises(DataError, match="record 2 is broken"):
        rows(table("json", tmp_path, schema, mode="FAILFAST"))
    assert table("json", tmp_path).schema.names == ["_corrupt_record", "b"]


def test_json_round_trip_of_every_type(tmp_path: Path) -> None:
    schema = pa.schema(
        [
            ("d", decimal(20, 2)),
            ("b", pa.binary()),
            ("f", DOUBLE),
            ("t", TIMESTAMP),
            ("m", pa.map_(STRING, DATE)),
            ("s", pa.struct([("x", decimal(5, 1)), ("y", pa.list_(pa.binary()))])),
        ]
    )
    moment = datetime.datetime(2020, 1, 1, 1, 2, 3, 500_000, tzinfo=datetime.UTC)
    values: list[list[object]] = [
        [Decimal("123456789012345678.90"), None],
        [b"\x00\xff", None],
        [math.inf, None],
        [moment, None],
        [[("k", datetime.date(2020, 1, 1))], None],
        [{"x": Decimal("1.5"), "y": [b"z", None]}, None],
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(values, schema, strict=True)]
    made = owned("json", tmp_path, schema)
    insert_all(made, [pa.RecordBatch.from_arrays(arrays, schema=schema)])

    (path,) = tmp_path.rglob("*.json")
    first, second = path.read_text(encoding="utf-8").splitlines()
    assert first.startswith(
        '{"d":123456789012345678.90,"b":"AP8=","f":"Infinity","t":"2020-01-01T01:02:03.500Z",'
    )
    assert first.endswith('"m":{"k":"2020-01-01"},"s":{"x":1.5,"y":["eg==",null]}}')
    assert second == "{}"
    assert rows(made) == [tuple(column[row] for column in values) for row in (0, 1)]


def test_a_json_value_of_another_class_is_null_or_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.json", '{"a": 1, "b": [1]}\n')
    schema = pa.schema([("a", pa.list_(BIGINT)), ("b", pa.list_(BIGINT))])

    assert rows(table("json", tmp_path, schema)) == [(None, [1])]
    with pytest.raises(DataError, match="record 1 is broken, or does not fit the columns"):
        rows(table("json", tmp_path, schema, mode="FAILFAST"))


def test_json_of_endless_depth_does_not_parse(tmp_path: Path) -> None:
    write(tmp_path / "a.json", "[" * 100_000)

    assert rows(table("json", tmp_path, pa.schema([("a", BIGINT)]))) == [(None,)]


# ---- versions and ownership


def test_an_owned_directory_goes_when_its_last_reader_has_gone(tmp_path: Path) -> None:
    definition = TableDefinition("t", pa.schema([("a", BIGINT)]), home=str(tmp_path))
    made = registry.create("parquet", definition)
    assert isinstance(made, WritableTable)
    insert_all(made, [pa.RecordBatch.from_pydict({"a": [1]})])
    reader = made.snapshot()
    made.drop()

    assert read(reader, [0]) == [{"a": 1}]
    del reader
    assert not list(tmp_path.rglob("*.parquet"))


def owned(format_name: str, home: Path, schema: pa.Schema, *partitioned_by: str) -> WritableTable:
    definition = TableDefinition("t", schema, home=str(home), partitioned_by=partitioned_by)
    made = registry.create(format_name, definition)
    assert isinstance(made, WritableTable)
    return made


def test_a_reader_keeps_its_files_whatever_later_versions_did(tmp_path: Path) -> None:
    made = owned("parquet", tmp_path, pa.schema([("a", BIGINT)]))
    insert_all(made, [pa.RecordBatch.from_pydict({"a": [1]})])
    reader = made.snapshot()
    insert_all(made, [pa.RecordBatch.from_pydict({"a": [2]})])
    insert_all(made, [pa.RecordBatch.from_pydict({"a": [3]})], overwrite=True)

    assert read(reader, [0]) == [{"a": 1}]
    assert len(list(tmp_path.rglob("*.parquet"))) == 2  # what nobody can read any more has gone
    made.drop()
    assert read(reader, [0]) == [{"a": 1}]
    del reader
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_refresh_keeps_the_files_of_readers(tmp_path: Path) -> None:
    made = owned("parquet", tmp_path, pa.schema([("a", BIGINT)]))
    insert_all(made, [pa.RecordBatch.from_pydict({"a": [1]})])
    reader = made.snapshot()
    assert isinstance(made, FileTable)
    made.refresh()
    insert_all(made, [pa.RecordBatch.from_pydict({"a": [2]})], overwrite=True)

    assert read(reader, [0]) == [{"a": 1}]


@pytest.mark.parametrize("rows_inserted", [0, 2])
def test_a_dropped_table_leaves_no_directory(tmp_path: Path, rows_inserted: int) -> None:
    made = owned("parquet", tmp_path, pa.schema([("a", BIGINT), ("p", STRING)]), "p")
    batch = pa.RecordBatch.from_pydict({"a": [1, 2], "p": ["x", "y"]}).slice(0, rows_inserted)
    insert_all(made, [batch] if rows_inserted else [])
    made.drop()

    assert list(tmp_path.iterdir()) == []


def test_a_failed_insert_leaves_no_file(tmp_path: Path) -> None:
    made = owned("json", tmp_path, pa.schema([("a", pa.map_(INT, INT))]))
    batch = pa.RecordBatch.from_arrays([pa.array([[(1, 2)]], pa.map_(INT, INT))], names=["a"])
    with pytest.raises(NotSupportedError, match="to_json of map<int,int>"):
        insert_all(made, [batch])

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_others_files_stay_when_a_table_is_dropped(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "t.parquet")
    table("parquet", tmp_path).drop()

    assert (tmp_path / "t.parquet").exists()


def test_clustered_by_is_refused_by_name(tmp_path: Path) -> None:
    definition = TableDefinition("t", pa.schema([("a", BIGINT)]), location=str(tmp_path), clustered_by=("a",))

    with pytest.raises(NotSupportedError, match=r"CLUSTERED BY .* parquet"):
        registry.create("parquet", definition)


def test_a_location_without_files_needs_columns(tmp_path: Path) -> None:
    with pytest.raises(ProgrammingError) as caught:
        table("parquet", tmp_path)

    assert caught.value.condition == "UNABLE_TO_INFER_SCHEMA"


# ---- pruning, judged by bounds


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (compare("equal", Column(INT, 0), 10), True),
        (compare("equal", Column(INT, 0), 21), False),
        (compare("equal", Column(INT, 0), 9), False),
        (compare("less", Column(INT, 0), 10), False),
        (compare("less", Column(INT, 0), 11), True),
        (compare("less_equal", Column(INT, 0), 10), True),
        (compare("less_equal", Column(INT, 0), 9), False),
        (compare("greater", Column(INT, 0), 20), False),
        (compare("greater", Column(INT, 0), 19), True),
        (compare("greater_equal", Column(INT, 0), 20), True),
        (compare("greater_equal", Column(INT, 0), 21), False),
        (compare("equal", Column(INT, 0), None), False),
        (compare("equal_null_safe", Column(INT, 0), None), False),
        (compare("not_equal", Column(INT, 0), 10), True),
        (Call(BOOLEAN, "less", (Literal(INT, 20), Column(INT, 0))), False),
        (Call(BOOLEAN, "less", (Literal(INT, 19), Column(INT, 0))), True),
        (Call(BOOLEAN, "is_null", (Column(INT, 0),)), False),
        (Call(BOOLEAN, "is_not_null", (Column(INT, 0),)), True),
        (Call(BOOLEAN, "in", (Column(INT, 0), Literal(INT, 1), Literal(INT, 15))), True),
        (Call(BOOLEAN, "in", (Column(INT, 0), Literal(INT, 1), Literal(INT, 25))), False),
        (
            Call(BOOLEAN, "or", (compare("less", Column(INT, 0), 5), compare("greater", Column(INT, 0), 5))),
            True,
        ),
        (
            Call(BOOLEAN, "and", (compare("less", Column(INT, 0), 5), compare("greater", Column(INT, 0), 5))),
            False,
        ),
        (Call(BOOLEAN, "not", (compare("equal", Column(INT, 0), 99),)), True),
        (compare("equal", Column(DOUBLE, 0), 99.0), True),
    ],
)
def test_bounds_rule_out_only_what_cannot_match(condition: Expr, expected: bool) -> None:
    assert may_match(condition, lambda _: ColumnBounds(10, 20, nulls=0, rows=5)) is expected


def test_nothing_is_ruled_out_without_bounds() -> None:
    assert may_match(compare("equal", Column(INT, 0), 1), lambda _: None)
    assert may_match(compare("equal", Column(INT, 0), 1), lambda _: ColumnBounds())


@pytest.mark.parametrize(
    ("content", "options", "names"),
    [
        ("a,a,b\n1,2,3\n", {"header": "true"}, ["a0", "a1", "b"]),
        ("a,A,b\n1,2,3\n", {"header": "true"}, ["a0", "A1", "b"]),
        ("a,,b\n1,2,3\n", {"header": "true"}, ["a", "_c1", "b"]),
        ("a,b\n", {"header": "true"}, ["a", "b"]),
    ],
)
def test_names_are_sparks(tmp_path: Path, content: str, options: dict[str, str], names: list[str]) -> None:
    write(tmp_path / "a.csv", content)

    assert table("csv", tmp_path, **options).schema.names == names


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ('x"y,2\n', [('x"y', "2")]),
        ('"x"y,2\n', [('"x"y', "2")]),
        ('"x,2\n3,4\n', [("x,2", None), ("3", "4")]),
        ('"a\nb",2\n', [("a", None), ('b"', "2")]),
        ("1\n\n  \n2,3\n", [("1",), ("2",)]),
    ],
)
def test_odd_quotes_are_sparks(tmp_path: Path, content: str, wanted: list[tuple[str | None, ...]]) -> None:
    write(tmp_path / "a.csv", content)
    width = len(wanted[0])
    made = table("csv", tmp_path, pa.schema([(f"c{number}", pa.string()) for number in range(width)]))

    assert rows(made) == wanted


def test_what_spark_infers_by_how_it_cuts_files_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "1\n")
    write(tmp_path / "b.csv", "2024-01-02\n")

    with pytest.raises(NotSupportedError, match="inferSchema"):
        table("csv", tmp_path, inferSchema="true")


def test_separators_that_count_again_need_all_columns(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", '"a,b"c,d\n')
    schema = pa.schema([("a", STRING), ("b", STRING), ("c", STRING)])
    made = table("csv", tmp_path, schema, unescapedQuoteHandling="BACK_TO_DELIMITER")

    assert rows(made) == [("a", "bc,d", None)]
    with pytest.raises(NotSupportedError, match="with some of the columns"):
        list(read(made.snapshot(), [0]))


def test_a_view_may_declare_a_partition_column_twice(tmp_path: Path) -> None:
    (tmp_path / "p=1").mkdir()
    pq.write_table(pa.table({"a": [2]}), tmp_path / "p=1" / "a.parquet")
    view = "CREATE TEMPORARY VIEW v ({}) USING parquet OPTIONS (path '{}')"

    with Session(Config()) as session:
        session.execute(view.format("p STRING, a BIGINT, P INT", tmp_path))
        result = session.execute("SELECT * FROM v")
        assert (result.dtypes, [tuple(row) for row in result.collect()]) == (
            [("a", "bigint"), ("P", "int")],
            [(2, 1)],
        )
        for twice in ("a BIGINT, A INT, p INT", "a STRUCT<x: INT, X: INT>, p INT, p INT"):
            with pytest.raises(ProgrammingError, match="already exists"):
                session.execute(view.format(twice, tmp_path).replace("VIEW v", "VIEW w"))


def test_another_header_is_a_row_to_inference(tmp_path: Path) -> None:
    """The header of the largest file is the input's; a longer one that begins with it is none."""
    (tmp_path / "a.csv").write_text("a,b,c\n\n")
    (tmp_path / "b.csv").write_text("a,b\n3.5,b c,b c\n")

    made = table("csv", tmp_path, header="true", inferSchema="true")
    assert made.schema == pa.schema([("a", STRING), ("b", STRING)])
    assert rows(made) == [("3.5", "b c")]
