"""JSON files whose texts take liberties. All expectations are Spark 4's answers."""

import datetime
import gzip
from datetime import UTC
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from sqlfront_connectors.base import ScanRequest, WritableTable, insert_all
from sqlfront_connectors.files import contents
from sqlfront_connectors.files.contents import pieces
from sqlfront_engine.processor import ProcessorContext
from sqlfront_engine.testing import CountingMemory
from sqlfront_values.errors import DataError, NotSupportedError, ProgrammingError
from sqlfront_values.expressions import Call, Column
from sqlfront_values.functions.json.typed import quick
from sqlfront_values.functions.json.typed.quick import halves, one_object_a_line
from sqlfront_values.functions.json.typed.settings import json_settings
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY_TIME_INTERVAL,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    TINYINT,
    decimal,
    physical,
)
from tests.connectors.test_files import rows, table, types, write

CORRUPT = pa.field("_corrupt_record", STRING)

Rows = list[tuple[object, ...]]


def read(
    folder: Path, text: str | bytes, schema: pa.Schema | None = None, **options: str
) -> list[tuple[object, ...]]:
    content = text if isinstance(text, bytes) else text.encode()
    (folder / "a.json").write_bytes(content)
    return rows(table("json", folder, schema, **options))


# ---- names


@pytest.mark.parametrize(
    "text", ['{"a":1,"A":2}', '{"a":1,"a":2}', '{"b":{"x":1,"X":2}}', '{"a":1}\n{"A":"x"}']
)
def test_keys_that_collide_are_no_columns(tmp_path: Path, text: str) -> None:
    with pytest.raises(ProgrammingError) as caught:
        read(tmp_path, text)
    assert caught.value.condition == "COLUMN_ALREADY_EXISTS"


def test_records_of_the_same_shape_but_for_case_have_the_first_ones_names(tmp_path: Path) -> None:
    write(tmp_path / "a.json", '{"a":1}\n{"A":2}\n')

    assert types(table("json", tmp_path)) == [("a", "bigint")]
    assert rows(table("json", tmp_path)) == [(1,), (None,)]


def test_the_last_of_equal_keys_counts(tmp_path: Path) -> None:
    assert read(tmp_path, '{"a":1,"a":2}', pa.schema([("a", INT)])) == [(2,)]
    with pytest.raises(NotSupportedError, match="a duplicate key"):
        filtered(tmp_path, "is_not_null")


def filtered(folder: Path, function: str, **options: str) -> Rows:
    made = table("json", folder, pa.schema([("a", INT)]), **options)
    return rows(made, Call(BOOLEAN, function, (Column(INT, 0),)))


# ---- values


def test_what_is_read_as_a_string_keeps_its_text(tmp_path: Path) -> None:
    text = '{"a": { "x" : 1.50 ,  "y":[1 , 2 ]  } }\n{"a": 1.50e3 }\n{"a":"t"}\n'

    assert read(tmp_path, text) == [('{ "x" : 1.50 ,  "y":[1 , 2 ]  }',), ("1.50e3",), ("t",)]


def test_integers_beyond_bigint_are_decimals(tmp_path: Path) -> None:
    text = '{"a":12345678901234567890}\n{"a":1}\n{"a":-9223372036854775809}\n'

    assert read(tmp_path, text) == [
        (Decimal("12345678901234567890"),),
        (Decimal(1),),
        (Decimal("-9223372036854775809"),),
    ]


def test_single_quotes(tmp_path: Path) -> None:
    assert read(tmp_path, "{'a':'q\"u','b':\"x'y\"}") == [('q"u', "x'y")]


def test_objects_without_fields_are_no_columns(tmp_path: Path) -> None:
    write(tmp_path / "a.json", '{"a":{},"b":1,"c":[{}],"":2}')

    assert types(table("json", tmp_path)) == [("b", "bigint")]


def test_words_for_numbers(tmp_path: Path) -> None:
    text = '{"a":NaN,"b":"-INF"}\n{"a":-Infinity,"b":+INF}\n'
    (_, low), (infinite, high) = read(tmp_path, text, pa.schema([("a", DOUBLE), ("b", FLOAT)]))

    assert (low, infinite, high) == (float("-inf"), float("-inf"), float("inf"))


def test_numbers_are_rounded_once_and_an_integer_has_no_negative_zero(tmp_path: Path) -> None:
    text = '{"a":-0,"b":16777217.0000001,"c":200}\n{"a":-0.0,"b":1.00000017881393432617187499,"c":-129}\n'
    schema = pa.schema([("a", DOUBLE), ("b", FLOAT), ("c", TINYINT)])

    assert str(read(tmp_path, text, schema)) == "[(0.0, 16777218.0, -56), (-0.0, 1.0000001192092896, None)]"


def test_base_64_needs_its_padding(tmp_path: Path) -> None:
    text = '{"a":"YWJj"}\n{"a":"YW"}\n{"a":"YW=="}\n{"a":"Y WJj"}\n'

    assert read(tmp_path, text, pa.schema([("a", BINARY)])) == [(b"abc",), (None,), (b"a",), (None,)]


# ---- records


def test_arrays_on_top_are_rows_and_what_follows_a_value_is_ignored(tmp_path: Path) -> None:
    assert read(tmp_path, '[{"a":1},{"a":2}]\n{"a":3}{"a":4}\n{"a":5} x\n[]\n\n') == [(1,), (2,), (3,), (5,)]


def test_a_broken_record_keeps_what_was_read(tmp_path: Path) -> None:
    text = '{"a":1}\n{"a":"x","b":2}\n{"a":3\n'
    schema = pa.schema([("a", INT), ("b", INT), CORRUPT])

    assert read(tmp_path, text, schema) == [
        (1, None, None),
        (None, 2, '{"a":"x","b":2}'),
        (None, None, '{"a":3'),
    ]
    assert read(tmp_path, text, schema, mode="DROPMALFORMED") == [(1, None, None)]
    with pytest.raises(DataError, match="record 2") as caught:
        read(tmp_path, text, schema, mode="FAILFAST")
    assert caught.value.condition == "FAILED_READ_FILE.NO_HINT"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a":1}\n-0\n', "BIGINT"),
        ('[["x"]]\n{"a":1}\n', "STRING"),
        ("1\n1.5\n", "DOUBLE"),
        ("null\n99999999999999999999\n", "DECIMAL(20,0)"),
        ('{"a":1}\n1\n{\n', "BIGINT"),
        ('{"a":1}\n{\n1\n', None),
        ("1\n{\n{}\n", None),
        ("{\n", None),
    ],
)
def test_the_first_record_that_is_no_object_fails_inference(
    tmp_path: Path, text: str, found: str | None
) -> None:
    with pytest.raises(ProgrammingError) as caught:
        read(tmp_path, text, mode="FAILFAST")
    if found is None:
        assert caught.value.condition == "MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION"
    else:
        assert caught.value.condition == "INVALID_JSON_RECORD_TYPE"
        assert f'found "{found}"' in str(caught.value)


def test_spark_goes_on_where_a_nested_value_broke_off(tmp_path: Path) -> None:
    text = '{"a":[1, tru , 2],"c":1}\n{"a":"x\\q,"c":1}\n{"a":{"b": tru},"c":1}\n'
    schema = pa.schema([("a", STRING), ("c", INT)])

    assert read(tmp_path, text, schema) == [("]", 1), (None, 1), (None, None)]


def test_the_column_of_corrupt_records_is_a_string_and_not_alone(tmp_path: Path) -> None:
    with pytest.raises(ProgrammingError) as caught:
        read(tmp_path, "x\n")
    assert caught.value.condition == "UNSUPPORTED_FEATURE.QUERY_ONLY_CORRUPT_RECORD_COLUMN"
    with pytest.raises(ProgrammingError) as caught:
        read(tmp_path, "x\n", pa.schema([("a", INT), ("_corrupt_record", INT)]))
    assert caught.value.condition == "INVALID_CORRUPT_RECORD_TYPE"


def test_a_filter_that_ends_spark_before_the_broken_part_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.json", '{"a":5,"b":\n{"a":1}\n')

    assert filtered(tmp_path, "is_not_null") == [(None,), (1,)]
    with pytest.raises(NotSupportedError, match="a filter that nulls pass"):
        filtered(tmp_path, "is_null")
    with pytest.raises(NotSupportedError, match="mode FAILFAST with a filter"):
        filtered(tmp_path, "is_not_null", mode="FAILFAST")


def test_lines_end_in_three_ways_and_a_mark_is_no_part_of_them(tmp_path: Path) -> None:
    text = b'\xef\xbb\xbf{"a":1}\r{"a":2}\r\n{"a":3}\n\r{"a":4}'

    assert read(tmp_path, text) == [(1,), (2,), (3,), (4,)]
    assert read(tmp_path, b'{"a":1}|{"a":2}||', lineSep="|") == [(1,), (2,)]


def test_the_text_of_a_broken_line_ends_before_its_separator(tmp_path: Path) -> None:
    text = '{"a":1}\r\n{"a":true}\r\n{"a":2}\r\n'

    found = read(tmp_path, text, schema=pa.schema([("a", INT), ("_corrupt_record", STRING)]))
    assert found == [(1, None), (None, '{"a":true}'), (2, None)]


@pytest.mark.parametrize("line", [' {"a":true}', '{"a":true} ', '\t{"a":true} \t'])
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_the_text_of_a_broken_line_has_the_blanks_around_it(tmp_path: Path, line: str, end: str) -> None:
    schema = pa.schema([("a", INT), ("_corrupt_record", STRING)])

    assert read(tmp_path, f'{{"a":1}}\n{line}{end}', schema=schema) == [(1, None), (None, line)]


@pytest.mark.parametrize(
    "key",
    [
        *('"\\ud83d"', '"x\\uDE00"', '"\\ud83d\\u0041"', '"\\ud83d\'"', '"\\ud83d\\"x"', '"\\ud83d\\\\" '),
        *("'\\ud83d'", "'\\ud83d\"x'"),
    ],
)
def test_keys_with_half_a_surrogate_pair_are_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(NotSupportedError, match="half a surrogate pair"):
        read(tmp_path, f'{{{key}:1,"b":2}}', schema=pa.schema([("b", INT)]))


def test_values_with_surrogate_pairs_are_read_whatever_follows_them(tmp_path: Path) -> None:
    text = r"""{"a":"\ud83d\ude00 \" : \\","b":"'"}"""

    assert read(tmp_path, text) == [('\U0001f600 " : \\', "'")]


def test_the_time_for_a_text_of_many_surrogate_pairs_is_linear(tmp_path: Path) -> None:
    text = '{"a":"' + "\\ud83d\\ude00" * 50_000 + '"}'

    assert read(tmp_path, text) == [("\U0001f600" * 50_000,)]


def test_a_value_over_several_lines(tmp_path: Path) -> None:
    assert read(tmp_path, '[{"a":\n1},\n{"a":2}]', multiLine="true") == [(1,), (2,)]


def test_other_encodings(tmp_path: Path) -> None:
    text = '{"a":"é"}\n{"a":"b"}\n'

    assert read(tmp_path, text.encode("latin-1"), encoding="ISO-8859-1", lineSep="\n") == [("é",), ("b",)]
    assert read(tmp_path, text.encode("utf-16-le"), encoding="UTF-16LE", lineSep="\n") == [("é",), ("b",)]
    assert read(tmp_path, '{"a":"é"}'.encode("utf-16"), multiLine="true") == [("é",)]
    with pytest.raises(NotSupportedError, match="as text, with multiLine in UTF-16"):
        read(tmp_path, '{"a":1.5}'.encode("utf-16"), pa.schema([("a", STRING)]), multiLine="true")
    with pytest.raises(ProgrammingError, match="lineSep option must be specified"):
        read(tmp_path, text, encoding="ISO-8859-1")


def test_with_an_encoding_values_are_copied_rather_than_cut_out(tmp_path: Path) -> None:
    text = '{"a": { "x" : [1.50 , NaN ,"\\u0041😀"] }}\n{"a":1e3}\n{"a":-0}\n'
    schema = pa.schema([("a", STRING)])

    assert read(tmp_path, text, schema, encoding="UTF-8") == [
        ('{"x":[1.5,"NaN","A\\uD83D\\uDE00"]}',),
        ("1000.0",),
        ("0",),
    ]
    with pytest.raises(NotSupportedError, match="broken JSON with the option encoding"):
        read(tmp_path, '{"a":[tru]}', schema, encoding="UTF-8")


def test_deep_nesting_has_jacksons_bound(tmp_path: Path) -> None:
    schema = pa.schema([("a", INT), ("b", STRING), CORRUPT])
    deep = [f'{{"a":1,"b":{"[" * depth}{"]" * depth}}}' for depth in (999, 1000)]

    assert read(tmp_path, "\n".join(deep), schema) == [(1, "[" * 999 + "]" * 999, None), (1, "]", deep[1])]


def test_compressed_files(tmp_path: Path) -> None:
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(b'{"a":1}\n{"a":{"b" :2}}\n'))

    assert rows(table("json", tmp_path)) == [("1",), ('{"b" :2}',)]
    assert rows(table("json", tmp_path, pa.schema([("a", STRING)]), multiLine="true")) == [("1",)]


# ---- options


def test_tables_with_formats_are_not_written_to(tmp_path: Path) -> None:
    made = table("json", tmp_path, pa.schema([("a", DATE)]), dateFormat="dd/MM/yyyy")
    batch = pa.RecordBatch.from_arrays([pa.array([1], DATE)], names=["a"])

    assert isinstance(made, WritableTable)
    with pytest.raises(NotSupportedError, match="with the option dateFormat"):
        insert_all(made, [batch])


def test_an_option_that_is_not_built_is_refused_by_name() -> None:
    with pytest.raises(NotSupportedError, match="option locale of USING json"):
        json_settings({"locale": "de-DE"})
    with pytest.raises(ProgrammingError, match="allowcomments of USING json must be true or false"):
        json_settings({"allowComments": "maybe"})


def test_formats_of_dates(tmp_path: Path) -> None:
    text = '{"a":"01/02/2020"}\n{"a":"2020-01-01"}\n'

    (first,), (second,) = read(tmp_path, text, pa.schema([("a", DATE)]), dateFormat="dd/MM/yyyy")
    assert (str(first), second) == ("2020-02-01", None)


def test_dates_are_read_as_by_casts_and_as_days(tmp_path: Path) -> None:
    text = "".join(f'{{"a":"{day}"}}\n' for day in ("2020-1-2", "2020-01-02Tx", "GMT2020", "12", "-5", "x"))

    assert [str(day) for (day,) in read(tmp_path, text, pa.schema([("a", DATE)]))] == [
        *("2020-01-02", "2020-01-02", "2020-01-01", "1970-01-13", "1969-12-27", "None"),
    ]


# ---- the quick way


def test_plain_files_never_meet_the_careful_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlfront_connectors.files.json.reading.RecordReader.read", None)

    assert read(tmp_path, '{"a":1,"b":[1.5]}\n  {"a":2}  \n\n', None) == [(1, [1.5]), (2, None)]


@pytest.mark.parametrize(
    "text",
    [b'{"a":1}{"a":2}\n3', b'{"a":\n1}', b'[{"a":1}]', b'{"a":NaN}', b'{"a":"\xff"}', b'{"a":1}\r{"a":2}'],
)
def test_other_bytes_are_read_with_care(text: bytes) -> None:
    assert one_object_a_line(text) is None


def test_a_broken_line_leaves_its_neighbours_to_arrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "PIECE", 1000)
    monkeypatch.setattr(quick, "SMALL", 100)
    lines = [f'{{"a":{number}}}' for number in range(500)]
    lines[250] = '{"a":"x"}'

    assert read(tmp_path, "\n".join(lines), pa.schema([("a", BIGINT), CORRUPT])) == [
        (None, '{"a":"x"}') if number == 250 else (number, None) for number in range(500)
    ]


def test_fields_of_several_types_are_read_line_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sqlfront_connectors.files.json.reading.JsonTokens", None)
    text = '{"a":1.50,"b":[1]}\n{"a":"x","b":[2.5, null]}\n{"a":{"c" :"d"}}\n{"a":true,"b":[]}\n'

    assert read(tmp_path, text) == [("1.50", [1.0]), ("x", [2.5, None]), ('{"c" :"d"}', None), ("true", [])]


def test_pieces_and_halves_end_with_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "SMALL", 100)
    content = b"".join(b'{"a":%d}\n' % number for number in range(100))

    assert b"".join(pieces(content)) == content
    parts = halves(content)
    assert parts is not None and b"".join(parts) == content and all(part.endswith(b"\n") for part in parts)
    assert halves(b'{"a":1}\n') is None


def test_columns_are_in_physical_form(tmp_path: Path) -> None:
    schema = pa.schema([("a", decimal(5, 2)), ("b", pa.list_(decimal(5, 2))), ("c", DAY_TIME_INTERVAL)])

    for text in ('{"a":1.5,"b":[2]}', '{"a":"1.5","b":[2],"c":"1 00:00:00"}', "{'a':1.5,'b':[2]}"):
        write(tmp_path / "a.json", text)
        plan = table("json", tmp_path, schema).snapshot().scan(ScanRequest((0, 1, 2)))
        steps = plan.source.run(ProcessorContext("scan", CountingMemory()))
        (batch,) = [step for step in steps if isinstance(step, pa.RecordBatch) and step.num_rows]
        assert [column.type for column in batch.columns] == [physical(field.type) for field in schema]


def test_a_timestamp_with_gmt_inside_is_read_but_not_inferred(tmp_path: Path) -> None:
    text = '{"a":"2024-01-02GMT"}'

    assert read(tmp_path, text, inferTimestamp="true") == [("2024-01-02GMT",)]
    assert read(tmp_path, text, pa.schema([("a", TIMESTAMP)])) == [
        (datetime.datetime(2024, 1, 2, tzinfo=UTC),)
    ]
