"""The output formats: random tables as the standard library's writers would write them."""

import csv
import datetime
import decimal
import gc
import io
import json
import math
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlfront
from sqlfront.results import boxes
from sqlfront.results.result import Result, Statistics
from sqlfront.shell.output import json_texts
from sqlfront.shell.output.formats import FORMATS, write_result
from sqlfront.shell.output.options import OutputOptions
from sqlfront_values.errors import DataError, NotSupportedError
from sqlfront_values.types import is_interval
from tests.sqlfront.shell.tables import random_result

SEEDS = range(60)


def written(result: Result, format_name: str, null: str | None = None) -> str:
    """What the format writes."""
    out = io.BytesIO()
    write_result(result, format_name, out, OutputOptions(null=null))
    return out.getvalue().decode()


def rows_of(result: Result) -> list[list[str | None]]:
    """Spark's texts of all rows, None for null."""
    rows: list[list[str | None]] = []
    for batch in result.batches():
        nulls = [column.is_null().to_pylist() for column in batch.columns]
        for index, row in enumerate(boxes.cells(batch, result.schema, result.settings)):
            rows.append([None if nulls[place][index] else cell for place, cell in enumerate(row)])
    return rows


def csv_line(row: list[str | None], null: str) -> str:
    """By Python's csv; an empty text, and what could be taken for a null, in quotes."""
    fields = []
    for cell in row:
        out = io.StringIO()
        if cell in ("", null):
            csv.writer(out, lineterminator="\r\n", quoting=csv.QUOTE_ALL).writerow([cell])
        else:
            csv.writer(out, lineterminator="\r\n").writerow([cell])
        fields.append(null if cell is None else out.getvalue().removesuffix("\r\n"))
    return ",".join(fields) + "\n"


@pytest.mark.parametrize("null", ["", "NULL", "0"])
def test_csv_is_what_the_csv_module_writes(null: str) -> None:
    for seed in SEEDS:
        result = random_result(random.Random(seed))
        expected = [csv_line([*result().columns], null), *(csv_line(row, null) for row in rows_of(result()))]
        assert written(result(), "csv", null) == "".join(expected), seed


def test_duckdb_reads_from_csv_what_is_null_and_what_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    query = "select * from values (1, null, 'a,b'), (2, '', 'say \"x\"'), (3, 'x', null) as t(i, s, u)"
    with sqlfront.Session() as session, path.open("wb") as out:
        write_result(session.execute(query), "csv", out)

    with duckdb.connect() as peer:
        read = peer.execute(f"from read_csv('{path}', allow_quoted_nulls = false)").fetchall()

    assert read == [(1, None, "a,b"), (2, "", 'say "x"'), (3, "x", None)]


def test_tsv_reads_back() -> None:
    escapes = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}
    for seed in SEEDS:
        result = random_result(random.Random(seed))
        lines = written(result(), "tsv").split("\n")
        assert lines.pop() == ""
        fields = [
            [
                None if field == "\\N" else re.sub(r"\\(.)", lambda m: escapes[m[1]], field)
                for field in line.split("\t")
            ]
            for line in lines
        ]
        assert fields == [result().columns, *rows_of(result())], seed


def json_value(value: object, kind: pa.DataType, text: str | None) -> object:
    """The value that stands for a value in JSON; ``text`` is Spark's text of a value outside of others."""
    if value is None or isinstance(value, bool | int | str):
        return text if is_interval(kind) or (isinstance(value, int) and is_interval(kind)) else value
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case float():
            return value if kind == pa.float64() else float(str(np.float32(value)))
        case decimal.Decimal():
            return f"{value:f}"
        case datetime.date():
            return value.isoformat()
        case bytes():
            return value.hex()
        case dict():
            return {
                name: json_value(item, kind[index].type, None)
                for index, (name, item) in enumerate(value.items())
            }
        case list() if pa.types.is_map(kind):
            return {key: json_value(item, kind.item_type, None) for key, item in value}
        case list():
            return [json_value(item, kind.value_type, None) for item in value]
        case _:
            return text


def json_records(result: Callable[[], Result]) -> list[str]:
    """The objects of all rows, by Python's json."""
    texts, records = rows_of(result()), []
    values = [
        row
        for batch in result().batches()
        for row in zip(*(c.to_pylist() for c in batch.columns), strict=True)
    ]
    schema = result().schema
    for row, cells in zip(values, texts, strict=True):
        pairs = zip(schema, row, cells, strict=True)
        record = {field.name: json_value(value, field.type, cell) for field, value, cell in pairs}
        records.append(json.dumps(record, ensure_ascii=False))
    return records


def test_json_is_what_the_json_module_writes() -> None:
    for seed in SEEDS:
        result = random_result(random.Random(seed))
        records = json_records(result)
        body = ",\n ".join(records)
        assert written(result(), "json") == (f"[\n {body}\n]\n" if records else "[]\n"), seed
        assert written(result(), "jsonl") == "".join(f"{record}\n" for record in records), seed


def test_floats_in_json_are_the_texts_of_sparks_to_json() -> None:
    """As Spark 4.3 writes these, where it writes no exponent."""
    values = "('0.1'), ('NaN'), ('Infinity'), ('-Infinity'), ('0.001'), ('9999999'), ('-0.0'), ('123456.7')"
    with sqlfront.Session() as session:
        result = session.execute(
            f"select cast(v as float) a, array(cast(v as float)) b from values {values} t(v)"
        )
        texts = ("0.1", '"NaN"', '"Infinity"', '"-Infinity"', "0.001", "9999999.0", "-0.0", "123456.7")
        assert written(result, "jsonl") == "".join(f'{{"a": {text}, "b": [{text}]}}\n' for text in texts)


def test_arrow_and_parquet_have_the_rows() -> None:
    for seed in SEEDS:
        result = random_result(random.Random(seed))
        expected = result().toArrow()
        out = io.BytesIO()
        write_result(result(), "arrow", out)
        assert same(pa.ipc.open_stream(out.getvalue()).read_all(), expected), seed
        out = io.BytesIO()
        try:
            write_result(result(), "parquet", out)
        except NotSupportedError as error:
            assert "month_day_nano" in str(error)  # noqa: PT017 - only some of the tables have such columns
        else:
            assert same(pq.read_table(io.BytesIO(out.getvalue())), expected), seed


def broken_off() -> Result:
    """A batch of rows, then an error."""

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"a": list(range(10_000))})
        raise DataError("no more rows")

    return Result(pa.schema({"a": pa.int64()}), batches(), Statistics("light", "", 0.0))


@pytest.mark.parametrize(
    ("format_name", "end"), [("arrow", b"\xff\xff\xff\xff\0\0\0\0"), ("parquet", b"PAR1")]
)
def test_a_failing_statement_writes_no_end_of_a_complete_file(format_name: str, end: bytes) -> None:
    complete, cut = io.BytesIO(), io.BytesIO()
    with sqlfront.Session() as session:
        write_result(session.execute("select 1 as a"), format_name, complete)
    with pytest.raises(DataError, match="no more rows"):
        write_result(broken_off(), format_name, cut)
    gc.collect()  # the writer, which writes the end when it is freed

    assert complete.getvalue().endswith(end)
    assert len(cut.getvalue()) > 10_000
    assert not cut.getvalue().endswith(end)


@pytest.mark.parametrize("format_name", ["csv", "tsv", "json", "jsonl", "html", "table"])
@pytest.mark.parametrize(
    "kind", [pa.list_(pa.int64()), pa.map_(pa.int64(), pa.int64()), pa.list_(pa.list_(pa.int64()))]
)
def test_each_element_of_an_array_or_map_is_rendered_once(
    format_name: str, kind: pa.DataType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the pieces of a batch, and by batches that are slices of a table."""
    rendered = [0]

    def counted(array: pa.Array, *arguments: Any) -> pa.Array:
        rendered[0] += len(array)
        return strings(array, *arguments)

    strings = boxes.strings
    for module in (boxes, json_texts):
        monkeypatch.setattr(module, "strings", counted)
    value = {pa.list_(pa.int64()): [1, 2]}.get(kind, [(1, 2)] if pa.types.is_map(kind) else [[1], [2]])
    whole = pa.record_batch({"a": pa.array([value] * 40_000, kind)})
    slices = [whole.slice(start, 10_000) for start in range(0, 40_000, 10_000)]
    for batches in ([whole], slices):
        rendered[0] = 0
        result = Result(whole.schema, iter(batches), Statistics("light", "", 0.0))
        write_result(result, format_name, io.BytesIO())
        assert rendered == [80_000]


def same(found: pa.Table, expected: pa.Table) -> bool:
    """Whether the rows are equal; NaN is equal to NaN."""
    return found.schema.names == expected.schema.names and repr(found.to_pylist()) == repr(
        expected.to_pylist()
    )


@pytest.mark.parametrize("format_name", ["table", "vertical", "markdown", "html"])
def test_formats_for_people_take_all_types(format_name: str) -> None:
    for seed in SEEDS[:40]:
        result = random_result(random.Random(seed))
        rows = rows_of(result())
        text = written(result(), format_name, "-")
        lines = text.count("\n")
        names = sum(1 for _ in result().columns)
        assert lines >= {"vertical": len(rows) * (names + 1), "html": len(rows) + 6}.get(
            format_name, len(rows) + 3
        )


def test_every_format_counts_rows_and_writes_nothing_for_a_statement_without_columns() -> None:
    with sqlfront.Session() as session:
        for format_name in FORMATS:
            out = io.BytesIO()
            assert write_result(session.execute("select * from values (1), (2)"), format_name, out) == 2
            assert bool(out.getvalue()) is (format_name != "none")
            assert (
                write_result(session.execute("create or replace temp view v as select 1"), format_name, out)
                == 0
            )


def test_markdown_and_html_escape_what_would_end_a_cell() -> None:
    with sqlfront.Session() as session:
        query = "select 'a|b\\n<i>&' as `x|y`, 1 as n, null as v"
        assert written(session.execute(query), "markdown") == (
            "| x\\|y | n | v |\n| --- | ---: | --- |\n| a\\|b<br>&lt;i>&amp; | 1 | NULL |\n\n"
        )
        assert "<tr><td>a|b\n&lt;i&gt;&amp;</td><td>1</td><td>-</td></tr>" in written(
            session.execute(query), "html", "-"
        )
