"""ORC and text files: rows as Spark's, or a refusal by name."""

import base64
import bz2
import gzip
import zlib
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import orc

from sqlfront.config import Config
from sqlfront.session import Session
from sqlfront_connectors.files.orc_footer import CHAR, type_kinds
from sqlfront_engine.errors import DatabaseError, NotSupportedError

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

    assert "ORC's type timestamp" in refused(pa.array([1], pa.timestamp("us")))
    assert "dates before 1582" in refused(pa.array([-719_162], pa.int32()).cast(pa.date32()))
    assert "no names" in refused(pa.array([1]), "_col0")


def test_orc_errors_are_spark_s(tmp_path: Path) -> None:
    orc.write_table(pa.table({"a": [1], "A": [2]}), tmp_path / "a.orc")
    (tmp_path / "b.orc").write_text("a,b\n")

    assert condition(f"SELECT * FROM orc.`{tmp_path}/a.orc`") == "COLUMN_ALREADY_EXISTS"
    wrapped = "FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY"
    assert condition(f"SELECT * FROM orc.`{tmp_path}/b.orc`") == wrapped
    with pytest.raises(NotSupportedError, match="writing files of the format orc"):
        rows(f"CREATE TABLE t USING orc LOCATION '{tmp_path}/new' AS SELECT 1 AS a")


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


@pytest.mark.parametrize("compression", ["uncompressed", "zlib", "snappy", "zstd", "lz4"])
def test_the_types_of_an_orc_footer_are_found(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "a.orc"
    orc.write_table(pa.table({f"c{number}": ["x"] for number in range(3000)}), path, compression=compression)

    assert type_kinds(str(path)) == {STRUCT_KIND, STRING_KIND}


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
