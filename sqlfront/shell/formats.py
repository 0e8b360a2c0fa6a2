"""Output formats of results."""

import csv
import datetime
import decimal
import json
import math
import sys
import time
from collections.abc import Callable
from typing import Final, TextIO

import pyarrow as pa

from sqlfront.results import boxes
from sqlfront.results.result import Result
from sqlfront_values.arrow.arrays import to_python
from sqlfront_values.errors import InternalError


def print_result(result: Result, format_name: str, out: TextIO | None = None) -> None:
    """Print all rows to ``out`` (default stdout), and for ``table`` and ``vertical`` a line with row count,
    time and lane to stderr."""
    out = out or sys.stdout
    began = time.perf_counter()
    rows = 0
    if len(result.schema):
        rows = _PRINTERS[format_name](result, out)
    out.flush()
    if format_name in ("table", "vertical"):
        _footer(result, rows, result.stats.seconds + time.perf_counter() - began)


def _footer(result: Result, rows: int, seconds: float) -> None:
    stats = result.stats
    took = f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"
    if stats.affected is not None:
        what = f"{stats.affected} row{'' if stats.affected == 1 else 's'} written"
    elif len(result.schema):
        what = f"{rows} row{'' if rows == 1 else 's'}"
    else:
        what = "ok"
    print(f"{what}, {took}, {stats.lane}\n", file=sys.stderr, flush=True)


def _table(result: Result, out: TextIO) -> int:
    rows = _all_cells(result)
    if _is_plan(result):
        out.writelines(f"{text}\n" for (text,) in rows)
    else:
        out.write(boxes.box(result.columns, rows))
    return len(rows)


def _is_plan(result: Result) -> bool:
    """Whether the rows are a plan of EXPLAIN: lines of text, which a box would make unreadable."""
    return result.columns == ["plan"] and result.stats.lane == "command"


def _vertical(result: Result, out: TextIO) -> int:
    rows = _all_cells(result)
    out.write(boxes.vertical(result.columns, rows) if rows else "(0 rows)\n")
    return len(rows)


def _all_cells(result: Result) -> list[tuple[str, ...]]:
    return [row for batch in result.batches() for row in boxes.cells(batch, result.schema, result.settings)]


def _csv(result: Result, out: TextIO) -> int:
    """Write RFC 4180 with a header; null and the empty string are both written as an empty field. Return the
    number of rows."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(result.columns)
    count = 0
    for batch in result.batches():
        nulls = [column.is_null().to_pylist() for column in batch.columns]
        for index, row in enumerate(boxes.cells(batch, result.schema, result.settings)):
            writer.writerow(["" if nulls[position][index] else cell for position, cell in enumerate(row)])
        count += batch.num_rows
    return count


def _json(result: Result, out: TextIO) -> int:
    """Write one array of objects; decimals as texts of the exact numbers, dates and timestamps in ISO form,
    binary as hex, NaN and infinities as texts. Return the number of rows."""
    count = 0
    out.write("[")
    for batch in result.batches():
        columns = [to_python(column) for column in batch.columns]
        for values in zip(*columns, strict=True):
            record = dict(zip(result.columns, map(_json_value, values), strict=True))
            out.write((",\n " if count else "\n ") + json.dumps(record, ensure_ascii=False))
            count += 1
    out.write("\n]\n" if count else "]\n")
    return count


def _json_value(value: object) -> object:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case decimal.Decimal() | datetime.timedelta():
            return str(value)
        case datetime.date():
            return value.isoformat()
        case bytes():
            return value.hex()
        case dict():
            return {str(key): _json_value(item) for key, item in value.items()}
        case list() | tuple():
            return [_json_value(item) for item in value]
        case _:
            raise InternalError(f"a result held a {type(value).__name__}")


def _arrow(result: Result, out: TextIO) -> int:
    """Write an Arrow IPC stream of logical types. Return the number of rows."""
    count = 0
    with pa.ipc.new_stream(out.buffer, result.arrow_schema) as writer:
        for batch in result.batches():
            writer.write_batch(batch)
            count += batch.num_rows
    return count


_PRINTERS: Final[dict[str, Callable[[Result, TextIO], int]]] = {
    "table": _table,
    "vertical": _vertical,
    "csv": _csv,
    "json": _json,
    "arrow": _arrow,
}
#: The names of the formats.
FORMATS: Final = tuple(_PRINTERS)
