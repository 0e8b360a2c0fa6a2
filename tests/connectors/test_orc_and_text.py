"""ORC and text files: rows as Spark's, or a refusal by name."""

import base64
import bz2
import contextlib
import gzip
import time
import zlib
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pytest
from pyarrow import orc

from sqlfront.config import Config
from sqlfront.session import Session
from sqlfront_connectors.files.orc import orc_format
from sqlfront_connectors.files.orc.footer import CHAR, description
from sqlfront_connectors.files.parquet import parquet_format
from sqlfront_engine.file_access import EVERYWHERE
from sqlfront_values.errors import DatabaseError, Error, NotSupportedError, OperationalError

#: Kinds of types in ORC's footers.
STRING_KIND, STRUCT_KIND = 7, 12


def rows(sql: str, *before: str) -> list[tuple[object, ...]]:
    with Session(Config()) as session:
        for statement in before:
            session.execute(statement)
        return [tuple(row) for row in session.execute(sql).collect()]


def condition(sql: str) -> str | None:
    with pytest.raises(DatabaseError) as caught:
        rows(sql)
    return caught.value.condition


def test_orc_files_are_read_with_their_partitions(tmp_path: Path) -> None:
    for part, values in ((1, [1, None]), (2, [3])):
        (tmp_path / f"p={part}").mkdir()
        table = pa.table({"a": pa.array(values, pa.int32()), "s": pa.array([["x"]] * len(values))})
        orc.write_table(table, tmp_path / f"p={part}" / "a.orc")

    assert rows(f"SELECT a, s, p FROM orc.`{tmp_path}` ORDER BY p, a DESC") == [
        (1, ["x"], 1),
        (None, ["x"], 1),
        (3, ["x"], 2),
    ]
    assert rows(f"SELECT count(*) FROM orc.`{tmp_path}` WHERE p = 2") == [(1,)]


def test_what_arrow_reads_otherwise_of_orc_is_refused(tmp_path: Path) -> None:
    def refused(column: pa.Array, name: str = "a") -> str:
        orc.write_table(pa.table({name: column}), tmp_path / "a.orc")
        with pytest.raises(NotSupportedError) as caught:
            rows(f"SELECT * FROM orc.`{tmp_path}/a.orc`")
        return str(caught.value)

    assert "before 1678 or after 2261" in refused(pa.array([-62_135_596_800], pa.timestamp("s")))
    assert "parts of seconds, not written by Java" in refused(pa.array([-1], pa.timestamp("us", "UTC")))
    assert "parts of microseconds" in refused(pa.array([1], pa.timestamp("ns")))
    assert "dates before 1582" in refused(pa.array([-719_162], pa.int32()).cast(pa.date32()))
    assert "no names" in refused(pa.array([1]), "_col0")


def test_orc_columns_without_names_are_refused_under_declared_ones_too(tmp_path: Path) -> None:
    orc.write_table(pa.table({"_col0": pa.array([1], pa.int32())}), tmp_path / "a.orc")
    view = f"CREATE TEMPORARY VIEW v (a INT, b INT) USING orc OPTIONS (path '{tmp_path}')"

    with pytest.raises(NotSupportedError, match="no names"):  # Spark takes them by position
        rows("SELECT * FROM v", view)


def test_types_of_orc_files_without_rows_are_looked_at(tmp_path: Path) -> None:
    orc.write_table(pa.table({"a": pa.array([], pa.int32())}), tmp_path / "a.orc")
    view = "CREATE TEMPORARY VIEW v (a {}) USING orc OPTIONS (path '{}')"

    with pytest.raises(NotSupportedError, match="int that is read as string"):
        rows("SELECT * FROM v", view.format("STRING", tmp_path))
    with pytest.raises(
        OperationalError, match="conversion from file type int to reader type binary"
    ) as caught:
        rows("SELECT * FROM v", view.format("BINARY", tmp_path))
    assert caught.value.condition == "FAILED_READ_FILE.NO_HINT"


@pytest.mark.parametrize(
    ("own", "wanted"),
    [
        (pa.float64(), "DATE"),
        (pa.date32(), "INT"),
        (pa.binary(), "TIMESTAMP"),
        (pa.timestamp("us"), "BINARY"),
        (pa.string(), "ARRAY<STRING>"),
        (pa.struct([("x", pa.int32())]), "STRUCT<x: DATE>"),
        (pa.list_(pa.int32()), "ARRAY<BINARY>"),
    ],
)
def test_conversions_that_orc_does_not_know_are_errors(tmp_path: Path, own: pa.DataType, wanted: str) -> None:
    orc.write_table(pa.table({"a": pa.array([None], own)}), tmp_path / "a.orc")
    view = f"CREATE TEMPORARY VIEW v (a {wanted}) USING orc OPTIONS (path '{tmp_path}')"

    with pytest.raises(OperationalError, match="does not support type conversion"):
        rows("SELECT * FROM v", view)


def test_an_orc_table_with_a_partition_column_without_values_is_an_error_when_it_is_read(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "p=__HIVE_DEFAULT_PARTITION__"
    folder.mkdir()
    orc.write_table(pa.table({"a": [1]}), folder / "a.orc")

    with pytest.raises(OperationalError, match="the type VOID of the partition column `p`") as caught:
        rows(f"SELECT count(*) FROM orc.`{tmp_path}`")
    assert caught.value.condition == "FAILED_READ_FILE.NO_HINT"
    assert rows(f"SELECT a FROM orc.`{tmp_path}` WHERE p IS NOT NULL") == []


#: A type's message in a footer: DECIMAL of 38 digits.
_DECIMAL = b"\x08\x0e \x00(&"


def test_types_over_which_arrow_ends_the_process_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.orc"
    orc.write_table(pa.table({"a": pa.array([1], pa.decimal128(38, 0))}), path, compression="uncompressed")
    content = path.read_bytes()
    assert content.count(_DECIMAL) == 1
    path.write_bytes(content.replace(_DECIMAL, _DECIMAL[:-1] + b"F"))

    with pytest.raises(NotSupportedError, match="damaged footer: a decimal has 70 digits"):
        rows(f"SELECT * FROM orc.`{tmp_path}`")


@pytest.mark.parametrize("bit", [0, 3, 7])
def test_no_changed_byte_of_an_orc_footer_ends_the_process(tmp_path: Path, bit: int) -> None:
    path = tmp_path / "a.orc"
    kind = pa.struct([("x", pa.decimal128(5, 2)), ("y", pa.list_(pa.timestamp("us")))])
    orc.write_table(
        pa.table({"a": [1, None], "b": pa.array([None, None], kind)}), path, compression="uncompressed"
    )
    content = path.read_bytes()
    footer, postscript = content[-1 - content[-1] + 1], content[-1] + 1
    with Session(Config()) as session:
        for place in range(len(content) - postscript - footer, len(content)):
            changed = bytearray(content)
            changed[place] ^= 1 << bit
            path.write_bytes(bytes(changed))
            with contextlib.suppress(Error):
                session.execute(f"SELECT * FROM orc.`{path}`").collect()


def test_a_small_orc_file_with_a_footer_of_gigabytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.orc"
    orc.write_table(pa.table({"a": [1]}), path, compression="zlib")
    content = path.read_bytes()
    postscript = content[-1 - content[-1] :]
    assert postscript[:1] == b"\x08"  # the length of the footer
    block = 1 << 16
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    chunk = packer.compress(bytes(block)) + packer.flush()
    footer = ((len(chunk) << 1).to_bytes(3, "little") + chunk) * (1 << 15)
    length = bytes([len(footer) & 127 | 128, len(footer) >> 7 & 127 | 128, len(footer) >> 14 & 127 | 128])
    end = b"\x08" + length + bytes([len(footer) >> 21]) + postscript[2:-1]
    path.write_bytes(b"ORC" + footer + end + bytes([len(end)]))

    with pytest.raises(NotSupportedError, match="larger than the limit"):
        rows(f"SELECT * FROM orc.`{path}`")


def test_orc_errors_are_spark_s(tmp_path: Path) -> None:
    orc.write_table(pa.table({"a": [1], "A": [2]}), tmp_path / "a.orc")
    (tmp_path / "b.orc").write_text("a,b\n")

    assert condition(f"SELECT * FROM orc.`{tmp_path}/a.orc`") == "COLUMN_ALREADY_EXISTS"
    wrapped = "FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY"
    assert condition(f"SELECT * FROM orc.`{tmp_path}/b.orc`") == wrapped
    with pytest.raises(NotSupportedError, match="writing files of the format orc"):
        rows(f"CREATE TABLE t USING orc LOCATION '{tmp_path}/new' AS SELECT 1 AS a")


@pytest.mark.parametrize("reader", [orc_format, parquet_format])
def test_a_file_that_goes_before_its_schema_is_read_is_missing_and_not_damaged(
    tmp_path: Path, reader: ModuleType
) -> None:
    with pytest.raises(OperationalError) as caught:
        reader.infer_schema([str(tmp_path / "gone")], {}, EVERYWHERE)
    assert caught.value.condition == "FAILED_READ_FILE.FILE_NOT_EXIST"


def test_lines_end_as_hadoop_s_do(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeffa\nb\r\nc\rd\n\né".encode())

    assert rows(f"SELECT * FROM text.`{tmp_path}`") == [("a",), ("b",), ("c",), ("d",), ("",), ("é",)]
    view = f"CREATE TEMPORARY VIEW v USING text OPTIONS (path '{tmp_path}', "
    assert rows("SELECT * FROM v", view + "lineSep 'b')") == [("a\n",), ("\r\nc\rd\n\né",)]
    assert rows("SELECT length(value) FROM v", view + "wholetext true)") == [(12,)]
    with pytest.raises(NotSupportedError, match="option foo"):
        rows("SELECT * FROM v", view + "foo 1)")


def test_compressed_texts_are_unpacked_by_their_names(tmp_path: Path) -> None:
    text = b"a\nb\n"
    (tmp_path / "a.gz").write_bytes(gzip.compress(text) * 2)
    (tmp_path / "b.bz2").write_bytes(bz2.compress(text))
    (tmp_path / "c.deflate").write_bytes(zlib.compress(text))
    (tmp_path / "d.zst").write_bytes(pa.Codec("zstd").compress(text, asbytes=True))
    (tmp_path / "e.json.gz").write_bytes(gzip.compress(b'{"a": 1}\n'))

    assert rows(f"SELECT * FROM text.`{tmp_path}/[a-d].*`") == [("a",), ("b",)] * 5
    assert rows(f"SELECT * FROM json.`{tmp_path}/e.json.gz`") == [(1,)]

    (tmp_path / "f.gz").write_bytes(gzip.compress(text)[:-9])
    (tmp_path / "g.lz4").write_bytes(b"no blocks")
    assert condition(f"SELECT * FROM text.`{tmp_path}/f.gz`") == "FAILED_READ_FILE.NO_HINT"
    with pytest.raises(NotSupportedError, match="lz4"):
        rows(f"SELECT * FROM text.`{tmp_path}/g.lz4`")


def test_text_has_one_column_of_strings(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")

    view = "CREATE TEMPORARY VIEW v ({}) USING text OPTIONS (path '{}')"
    assert rows("SELECT line FROM v", view.format("line STRING", tmp_path)) == [("a",)]
    assert condition(view.format("line INT", tmp_path)) == "UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE"


#: Spark's file of ``SELECT INTERVAL '3' MONTH AS a``.
MONTHS = base64.b64decode(
    "T1JDEQAACgYSBAgBUAArAAAKEwoDAAAAEgwIARIGCAYQBhgGUAAHAABGAGBBAAAKBggGEAAYCwoGCAYQARgYCgYIARABGAYS"
    "AggAEgIIAjEAAAoWCgQIAVAACg4IARIGCAYQBhgGUABYBiUBAAgDEE8aCggDECMYBiAjKAEiCAgMEgEBGgFhIi0IAzopChdz"
    "cGFyay5zcWwuY2F0YWx5c3QudHlwZRIOaW50ZXJ2YWwgbW9udGgqIQoYb3JnLmFwYWNoZS5zcGFyay52ZXJzaW9uEgU0LjMu"
    "MDABOgQIAVAAOg4IARIGCAYQBhgGUABYBkCQTkgAWAFiBTIuMy4wCJUBEAUYgIAQIgIADCgbMAmC9AMDT1JDGA=="
)


def test_what_spark_has_written_as_another_type_than_orc_s_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.orc").write_bytes(MONTHS)

    for declared in ("", "(a INT)"):
        with pytest.raises(NotSupportedError, match="written as interval month"):
            rows("SELECT * FROM t", f"CREATE TABLE t {declared} USING orc LOCATION '{tmp_path}'")


#: Spark's file of ``SELECT TIMESTAMP'{0}' AS l, TIMESTAMP_NTZ'{0}' AS n`` for each of these, in UTC.
MOMENTS = (
    *("1700-03-01 00:00:00.000001", "1883-11-18 11:59:59", "1969-12-31 23:59:59.000001"),
    *("1969-12-31 23:59:59.5", "2014-12-31 23:59:59.25", "2021-03-14 02:30:00"),
)
MOMENTS_IN_ORC = base64.b64decode(
    "T1JDCgYSBAgGUAAKIgoEAAAAABIaCAZKFBj/v5S80+8DIICRjemFXijpBzABUAAKJwoCAAASIQgGEhsI/f+TgI6koB4QgOjMjr3d"
    "3gUYm7Xfr+bQjx1QAPYF/5+Gg0r+kP+YK6H8VcAAAAABVKSN/wuo5ylOBQoACi/OAPwF/f+TgI6koB7+tpLI+7bMFAmntJNw8AEA"
    "AAAAB6EfBQuL57uvcACx6gE1i7AKBggGEAAYCAoGCAYQARgkCgYIBhACGCkKBggBEAEYHAoGCAUQARgICgYIARACGC4SAggAEgII"
    "AhICCAIaB0V0Yy9VVEMKSQoECAZQAAocCAZKFBj/v5S80+8DIICRjemFXijpBzABUABYJAojCAYSGwj9/5OAjqSgHhCA6MyOvd3e"
    "BRibtd+v5tCPHVAAWC4IAxDvARoKCAMQVRhSIEUoBiIMCAwSAgECGgFsGgFuIigICTokChdzcGFyay5zcWwuY2F0YWx5c3QudHlw"
    "ZRIJdGltZXN0YW1wIiwIBDooChdzcGFyay5zcWwuY2F0YWx5c3QudHlwZRINdGltZXN0YW1wX250eiohChhvcmcuYXBhY2hlLnNw"
    "YXJrLnZlcnNpb24SBTQuMy4wMAY6BAgGUAA6HAgGShQY/7+UvNPvAyCAkY3phV4o6QcwAVAAWCQ6IwgGEhsI/f+TgI6koB4QgOjM"
    "jr3d3gUYm7Xfr+bQjx1QAFguQJBOSABYAWIFMi4zLjAI8wEQACICAAwoSzAJgvQDA09SQxQ="
)


def test_timestamps_that_spark_has_written_in_utc_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.orc").write_bytes(MOMENTS_IN_ORC)

    source = f"orc.`{tmp_path}`"
    found = rows(f"SELECT string(l), string(n) FROM {source}")
    assert [ntz for _, ntz in found] == list(MOMENTS)
    # Half a second before 1970 ORC's Java library loses the sign, and so does Spark.
    read = {"1969-12-31 23:59:59.5": "1970-01-01 00:00:00.5"}
    assert [moment for moment, _ in found] == [read.get(text, text) for text in MOMENTS]
    assert rows(f"SELECT typeof(l), typeof(n) FROM {source} LIMIT 1") == [("timestamp", "timestamp_ntz")]
    assert rows(f"SELECT count(*) FROM {source} WHERE l < TIMESTAMP'1970-01-01'") == [(3,)]


def test_timestamps_inside_of_others_are_read(tmp_path: Path) -> None:
    inside = pa.struct([("l", pa.list_(pa.timestamp("us"))), ("z", pa.timestamp("ms", "America/New_York"))])
    orc.write_table(pa.table({"a": pa.array([{"l": [1, None], "z": 1}, None], inside)}), tmp_path / "a.orc")

    assert rows(f"SELECT string(a) FROM orc.`{tmp_path}`") == [
        ("{[1970-01-01 00:00:00.000001, null], 1970-01-01 00:00:00.001}",),
        (None,),
    ]


def test_timestamps_of_another_zone_s_clock_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.orc"
    table = pa.table({"a": pa.array([1], pa.timestamp("us")), "z": pa.array([1], pa.timestamp("us", "UTC"))})
    orc.write_table(table, path, compression="uncompressed")
    content = path.read_bytes()
    assert content.count(b"GMT") == 1
    path.write_bytes(content.replace(b"GMT", b"EST"))

    with pytest.raises(NotSupportedError, match="in the time zone EST, on a machine whose time zone is UTC;"):
        rows(f"SELECT a FROM orc.`{tmp_path}`")
    assert rows(f"SELECT string(z) FROM orc.`{tmp_path}`") == [("1970-01-01 00:00:00.000001",)]

    path.write_bytes(content)
    monkeypatch.setattr(time, "tzname", ("CET", "CEST"))
    with pytest.raises(NotSupportedError, match="on a machine whose time zone is CET"):
        rows(f"SELECT a FROM orc.`{tmp_path}`")


@pytest.mark.parametrize("compression", ["uncompressed", "zlib", "snappy", "zstd", "lz4"])
def test_the_types_of_an_orc_footer_are_found(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "a.orc"
    table = pa.table({f"{number:01000}": ["x"] for number in range(150)})  # a footer of several chunks
    orc.write_table(table, path, compression=compression)

    assert description(str(path)).kinds == {STRUCT_KIND, STRING_KIND}


def test_blanks_of_char_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.orc"
    orc.write_table(pa.table({"a": ["x"]}), path, compression="uncompressed")
    kind = b'"\x08\x08'
    content = path.read_bytes()
    assert content.count(kind + bytes([STRING_KIND])) == 1
    path.write_bytes(content.replace(kind + bytes([STRING_KIND]), kind + bytes([CHAR])))

    with pytest.raises(NotSupportedError, match="columns of type CHAR"):
        rows(f"SELECT * FROM orc.`{tmp_path}`")


def test_zeros_of_both_signs_alone_are_refused(tmp_path: Path) -> None:
    orc.write_table(pa.table({"a": [0.0, -0.0, None]}), tmp_path / "a.orc")
    with pytest.raises(NotSupportedError, match="zeros of both signs"):
        rows(f"SELECT * FROM orc.`{tmp_path}`")

    orc.write_table(pa.table({"a": [0.0, -0.0, 1.0]}), tmp_path / "a.orc")
    assert rows(f"SELECT string(a) FROM orc.`{tmp_path}`") == [("0.0",), ("-0.0",), ("1.0",)]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        # Of the end: the version of the library; of a stripe's footer: a column's encoding, its columns.
        (
            b"0\x06\x82\xf4\x03\x03ORC",
            b"0\x02\x82\xf4\x03\x03ORC",
            "the library of the writer has no version 2",
        ),
        (b"\x12\x04\x08\x02\x10\x00\x1a\x03GMT", b"\x12\x04\x08\x03\x10\x00\x1a\x03GMT", "encoding is 3"),
        (
            b"\x12\x04\x08\x02\x10\x00\x1a\x03GMT",
            b"\x22\x04\x08\x02\x10\x00\x1a\x03GMT",
            "has 1 columns, not 2",
        ),
    ],
)
def test_what_spark_does_not_read_of_an_orc_file_is_refused(
    tmp_path: Path, before: bytes, after: bytes, words: str
) -> None:
    path = tmp_path / "a.orc"
    orc.write_table(pa.table({"a": [1, 2]}), path, compression="uncompressed")
    content = path.read_bytes()
    assert content.count(before) == 1
    path.write_bytes(content.replace(before, after))

    with pytest.raises(NotSupportedError, match=f"damaged footer: .*{words}"):
        rows(f"SELECT * FROM orc.`{tmp_path}`")
