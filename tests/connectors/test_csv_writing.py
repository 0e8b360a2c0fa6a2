"""CSV files that are written. All expectations are Spark's files."""

from pathlib import Path

import pyarrow as pa
import pytest

from sqlfront_connectors.files.csv.writer import write
from sqlfront_values.types import BINARY, DATE, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ, physical


def written(folder: Path, columns: dict[str, tuple[list[object], pa.DataType]], **options: str) -> str:
    schema = pa.schema([(name, kind) for name, (_, kind) in columns.items()])
    arrays = [pa.array(values, physical(kind)) for values, kind in columns.values()]
    batch = pa.RecordBatch.from_arrays(arrays, names=schema.names)
    write(str(folder / "a.csv"), [batch], schema, options, "UTC")
    return (folder / "a.csv").read_bytes().decode()


@pytest.mark.parametrize(
    ("text", "options", "line"),
    [
        ("a\\b", {}, "a\\b"),
        ("a\\,b", {}, '"a\\\\,b"'),
        ('a\\"b', {}, '"a\\\\\\"b"'),
        ("a\r\nb", {}, '"a\r\nb"'),
        (" \n a ", {}, "a"),
        (" \n a ", {"ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}, '" \n a "'),
        ("\x00", {}, '""'),
        ("\x01", {"emptyValue": "E"}, "E"),
        ("#a", {}, '"#a"'),
        ("ca", {"comment": "c"}, '"ca"'),
        ("'a'", {"quote": "'"}, "'\\'a\\''"),
        ("a,b", {"quote": ""}, "\0a,b\0"),
        ('a\\"b', {"escape": '"'}, '"a\\""b"'),
        ("a\\,b", {"charToEscapeQuoteEscaping": "#"}, '"a#\\,b"'),
        ("a;b", {"sep": ";"}, '"a;b"'),
        ("a|b", {"sep": "||"}, "a|b"),
        ("a||b", {"sep": "||"}, '"a||b"'),
        ("", {"emptyValue": 'x,"'}, '"x,\\""'),
        (None, {"nullValue": "NA"}, "NA"),
        (None, {"nullValue": "a,b"}, '"a,b"'),
    ],
)
def test_texts_are_quoted_where_spark_quotes_them(
    tmp_path: Path, text: str | None, options: dict[str, str], line: str
) -> None:
    assert written(tmp_path, {"b": ([text], STRING)}, **options) == f"{line}\n"


def test_a_line_without_characters_is_not_written(tmp_path: Path) -> None:
    assert written(tmp_path, {"b": (["a", None, ""], STRING)}) == 'a\n""\n'
    assert written(tmp_path, {"b": ([None], STRING), "c": ([None], STRING)}) == ",\n"


def test_a_header_stands_over_no_rows_and_is_written_as_a_row(tmp_path: Path) -> None:
    columns: dict[str, tuple[list[object], pa.DataType]] = {
        "#c": ([], INT),
        " a": ([], INT),
        'b"': ([], INT),
    }
    assert written(tmp_path, columns, header="true") == '"#c",a,"b\\""\n'


def test_dates_and_times_are_written_by_their_formats(tmp_path: Path) -> None:
    columns: dict[str, tuple[list[object], pa.DataType]] = {
        "d": ([19_724], DATE),
        "t": ([1_704_164_645_123_456], TIMESTAMP),
        "n": ([1_704_164_645_123_456], TIMESTAMP_NTZ),
    }
    formats = {
        "dateFormat": "dd/MM/yyyy",
        "timestampFormat": "yyyy HH:mm",
        "timestampNTZFormat": "HH:mm:ss.SSSSSS",
    }

    assert written(tmp_path, columns) == "2024-01-02,2024-01-02T03:04:05.123Z,2024-01-02T03:04:05.123\n"
    assert written(tmp_path, columns, **formats) == "02/01/2024,2024 03:04,03:04:05.123456\n"


def test_binaries_are_written_in_hexadecimal(tmp_path: Path) -> None:
    assert written(tmp_path, {"x": ([b"a\xff", b""], BINARY)}) == "[61 FF]\n[]\n"


def test_lines_end_with_the_separator_of_lines(tmp_path: Path) -> None:
    assert written(tmp_path, {"x": ([1, 2], INT)}, lineSep=";") == "1;2;"
