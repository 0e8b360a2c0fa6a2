"""Extremes of every type, as SQL writes them, and tables of them in Arrow's odd forms."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Final

import pyarrow as pa

import sqlfront

#: Values by type; the names are those of columns.
VALUES: Final[dict[str, tuple[str, ...]]] = {
    "flag": ("true", "false"),
    "byte": ("0Y", "127Y", "-128Y", "1Y"),
    "short": ("0S", "32767S", "-32768S", "-1S"),
    "whole": ("0", "1", "-1", "2147483647", "-2147483648", "7", "65536", "100"),
    "long": ("0L", "1L", "-1L", "9223372036854775807L", "-9223372036854775808L", "4294967296L", "1000L"),
    "single": ("float('NaN')", "float('Infinity')", "-0.0F", "float(3.4028235E38D)", "1.4E-45F", "0.1F"),
    "real": (
        "double('NaN')",
        "double('Infinity')",
        "double('-Infinity')",
        "-0.0D",
        "0.0D",
        "1.7976931348623157E308D",
        "4.9E-324D",
        "0.1D",
        "-2.5D",
        "1E15D",
        "9007199254740993D",
    ),
    "money": ("0BD", "999999999999999999BD", "-999999999999999999BD", "0.01BD", "12.50BD"),
    "wide": (
        "99999999999999999999999999999999999999BD",
        "-99999999999999999999999999999999999999BD",
        "0.00000000000000000000000000000000000001BD",
        "12345678901234567890.123456789BD",
        "0BD",
    ),
    "word": (
        "''",
        "' '",
        "'a'",
        "'aA1é€😀'",
        "'\\0'",
        "'NaN'",
        "'-1'",
        "'2020-02-29'",
        "'9999-12-31 23:59:59.999999'",
        '\'{"a":[1,{"b":null}]}\'',
        "'$.a[0]'",
        "'%_[(\\\\'",
        "'yyyy-MM-dd'",
        "'UTF-8'",
        "'http://a.b:1/c?d=e#f'",
        "'1,2;3:4'",
        "'month'",
        "'#,##0.00'",
        "repeat('ab', 32768)",
    ),
    "text": ("repeat('é😀', 174763)", "repeat('a', 65536)", "'x'"),
    "raw": ("X''", "X'FF'", "X'C0AF80'", "X'00'", "cast(repeat('a', 65536) AS BINARY)"),
    "day": (
        "DATE'0001-01-01'",
        "DATE'9999-12-31'",
        "DATE'1970-01-01'",
        "DATE'1582-10-10'",
        "DATE'2020-02-29'",
        "date_add(DATE'9999-12-31', 2000000)",
        "date_sub(DATE'0001-01-01', 800000)",
    ),
    "moment": (
        "TIMESTAMP'0001-01-01 00:00:00'",
        "TIMESTAMP'9999-12-31 23:59:59.999999'",
        "TIMESTAMP'1970-01-01 00:00:00'",
        "timestamp_micros(9223372036854775807L)",
        "timestamp_micros(-9223372036854775808L)",
    ),
    "local": (
        "TIMESTAMP_NTZ'0001-01-01 00:00:00'",
        "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'",
        "TIMESTAMP_NTZ'2020-02-29 12:00:00.5'",
    ),
    "span": ("INTERVAL '106751991' DAY", "INTERVAL '-106751991' DAY", "INTERVAL '0.000001' SECOND"),
    "months": ("INTERVAL '178956970-7' YEAR TO MONTH", "INTERVAL '-178956970' YEAR", "INTERVAL '1' MONTH"),
    "wholes": (
        "array(1, NULL, 2147483647)",
        "array()",
        "array(-2147483648)",
        "sequence(1, 5000)",
        "array(CAST(NULL AS INT))",
    ),
    "words": ("array('a', NULL, '')", "array('é😀', 'b')", "array(repeat('a', 65536))"),
    "reals": ("array(0.0D, -0.0D, double('NaN'))", "array(double('NaN'), NULL, 1D)"),
    "nested": ("array(array(1, NULL), NULL, array())", "array(array(2147483647))"),
    "deep": ("array(array(array(array(array(array(array(array(1))))))))",),
    "voids": ("array(NULL)", "CASE WHEN 1 = 1 THEN array(NULL) END", "array()"),
    "structs": ("array(named_struct('a', 1, 'b', 'x'), NULL)", "array(named_struct('a', 2, 'b', NULL))"),
    "pairs": ("map('a', 1, 'b', NULL)", "map('', 2147483647)"),
    "ratios": ("map(-0.0D, 1)", "map(double('NaN'), NULL)"),
    "record": ("named_struct('a', 1, 'b', 'x')", "named_struct('a', NULL, 'b', repeat('a', 65536))"),
    "void": ("NULL",),
}
#: Types that no registered column has.
_LITERAL_ONLY: Final = frozenset({"void", "text"})
#: Rows of a table; prime, so that columns of different lengths meet in every combination.
ROWS: Final = 29
#: Bytes that are no UTF-8.
BROKEN: Final = (b"\xff", b"a\xc0\xaf", b"\xed\xa0\x80", b"\xe2\x82", b"ok", b"")


def column(kind: str, copy: int) -> str:
    """The name of one of the two columns of a type."""
    return f"{kind}_{copy}"


def tables(connection: sqlfront.Connection, seed: int) -> Mapping[str, pa.Table]:
    """Tables of the same columns, two of each type, in random order of the extremes, with nulls: as they are
    made, sliced, dictionary-encoded, without rows, and of nulls only."""
    chance = random.Random(seed)
    columns: dict[str, pa.ChunkedArray] = {}
    for kind, values in VALUES.items():
        if kind in _LITERAL_ONLY:
            continue
        for copy in (0, 1):
            order = [chance.choice((*values, "NULL")) for _ in range(ROWS)]
            rows = " UNION ALL ".join(f"SELECT {value} AS v" for value in (*order, values[0]))
            found = connection.cursor().execute(rows).fetch_arrow_table()
            columns[column(kind, copy)] = found.column(0).slice(0, ROWS)
    made = pa.table(columns).combine_chunks()
    return {
        "made": made,
        "sliced": _sliced(made),
        "encoded": pa.table([_encoded(item) for item in made.columns], made.column_names),
        "chunked": pa.concat_tables([made.slice(0, 3), made.slice(3, 0), made.slice(3)]),
        "empty": made.slice(0, 0),
        "nothing": pa.table([pa.nulls(ROWS, item.type) for item in made.columns], made.column_names),
    }


def _sliced(table: pa.Table) -> pa.Table:
    """The same rows, between others in the buffers."""
    return pa.concat_tables([table, table, table]).combine_chunks().slice(ROWS, ROWS)


def _encoded(item: pa.ChunkedArray) -> pa.ChunkedArray:
    return item.dictionary_encode() if pa.types.is_string(item.type) else item


def broken(made: pa.Table) -> pa.Table:
    """Some rows with strings that are no UTF-8, as a user's Arrow data may hold them."""
    texts = pa.array(BROKEN, pa.binary()).view(pa.string())
    rows = made.slice(0, len(BROKEN))
    return rows.set_column(rows.column_names.index("word_0"), "word_0", texts)
