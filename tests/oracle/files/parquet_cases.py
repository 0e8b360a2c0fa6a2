"""Parquet files by Arrow's writer with odd options, changed schemas, changed bytes."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from tests.oracle.files import arrow_values, layouts
from tests.oracle.files.cases import FileCase, Way, written_by_spark
from tests.oracle.files.layouts import Layout, Named

_NAMES: Final = ("a", "b", "c", "d e", "é", "A")
#: Types that a declared schema may give a column, whatever the files say.
_DECLARED: Final = (
    *("INT", "BIGINT", "SMALLINT", "TINYINT", "DOUBLE", "FLOAT", "BOOLEAN", "DATE", "TIMESTAMP", "STRING"),
    *("TIMESTAMP_NTZ", "DECIMAL(5,2)", "DECIMAL(20,2)", "DECIMAL(38,10)", "BINARY", "DECIMAL(10,0)"),
)
_WIDENED: Final[tuple[tuple[pa.DataType, ...], ...]] = (
    (pa.int32(), pa.int64()),
    (pa.int8(), pa.int16(), pa.int32()),
    (pa.float32(), pa.float64()),
    (pa.int32(), pa.float64()),
    (pa.int64(), pa.float64(), pa.string()),
    (pa.decimal128(5, 2), pa.decimal128(10, 2), pa.decimal128(10, 4), pa.decimal128(20, 2)),
    (pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")),
    (pa.string(), pa.binary()),
    (pa.int32(), pa.decimal128(10, 0), pa.decimal128(12, 2)),
    (pa.int32(), pa.date32()),
    (pa.list_(pa.int32()), pa.list_(pa.int64()), pa.int32()),
    (
        pa.struct([("x", pa.int32())]),
        pa.struct([("x", pa.int32()), ("y", pa.string())]),
        pa.struct([("y", pa.string())]),
    ),
    (pa.map_(pa.string(), pa.int32()), pa.map_(pa.string(), pa.int64())),
)
_TIMES: Final = (
    *(
        pa.timestamp("s"),
        pa.timestamp("ms"),
        pa.timestamp("us"),
        pa.timestamp("ns"),
        pa.date32(),
        pa.date64(),
    ),
    *(pa.timestamp("ms", "UTC"), pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC")),
    pa.timestamp("us", "America/New_York"),
)
_DECIMALS: Final = tuple(
    pa.decimal128(p, s) for p, s in ((1, 0), (5, 2), (9, 9), (10, 1), (18, 4), (19, 0), (38, 18), (38, 0))
)
_ODD: Final = (
    *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float16(), pa.time32("ms"), pa.time64("us")),
    *(pa.time64("ns"), pa.binary(5), pa.null(), pa.large_string(), pa.large_binary(), pa.duration("us")),
    *(pa.dictionary(pa.int32(), pa.string()), pa.decimal256(50, 3), pa.list_(pa.null())),
    *(pa.list_(pa.int32(), 2), pa.large_list(pa.int64()), pa.uuid(), pa.json_(), pa.bool_()),
)
_Content = tuple[Layout, str | None, str]

#: Options of Spark's own writer. Spark reads garbage from its own uncompressed files of version 2.
_SPARK_OPTIONS: Final[Mapping[str, Sequence[str]]] = {
    "compression": ("snappy", "gzip", "zstd", "lz4_raw"),
    "parquet.writer.version": ("PARQUET_1_0", "PARQUET_2_0"),
    "parquet.enable.dictionary": ("true", "false"),
    "parquet.page.size": ("100", "1000", "1048576"),
    "parquet.page.row.count.limit": ("7", "20000"),
}


def cases(random: random.Random) -> Iterator[FileCase]:
    """Endless cases, the classes of oddity one after the other."""
    while True:
        for oddity, make in _CLASSES.items():
            layout, ddl, query = make(random)
            way = random.choice((Way.VIEW, Way.VIEW, Way.TABLE))
            if not layout.options and ddl is None and random.random() < 0.6:
                way = Way.PATH
            yield FileCase("parquet", layout.files, oddity, layout.options, ddl, way, layout.place, query)
        yield written_by_spark(random, "parquet", _SPARK_OPTIONS)


# ---- files


def _written(random: random.Random, table: pa.Table, **given: Any) -> bytes:
    """The table's bytes, by a writer with random options."""
    options: dict[str, Any] = {
        "version": random.choice(("1.0", "2.4", "2.6", "2.6")),
        "data_page_version": random.choice(("1.0", "1.0", "2.0")),
        "compression": random.choice(("snappy", "none", "gzip", "zstd", "lz4") * 5 + ("brotli",)),
        "use_dictionary": random.random() < 0.6,
        "write_statistics": random.random() < 0.8,
        "store_schema": random.random() < 0.5,
        "row_group_size": random.choice((1, 2, 100, 100)),
        "data_page_size": random.choice((1, 1 << 20)),
        "use_compliant_nested_type": random.random() < 0.7,
        "write_page_index": random.random() < 0.3,
        "store_decimal_as_integer": random.random() < 0.4,
    } | given
    if options["version"] == "1.0":
        options.setdefault("coerce_timestamps", "us")
        options.setdefault("allow_truncated_timestamps", True)
    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


def _table(random: random.Random, kinds: Sequence[pa.DataType], rows: int | None = None) -> pa.Table:
    length = random.choice((0, 1, 2, 3, 5)) if rows is None else rows
    names = _NAMES[: len(kinds)]
    nulls = random.choice((0.0, 0.2, 0.2, 1.0))
    arrays = [arrow_values.array(random, kind, length, nulls) for kind in kinds]
    fields = [
        pa.field(name, kind, random.random() < 0.9 or nulls > 0)
        for name, kind in zip(names, kinds, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _one(content: bytes) -> Layout:
    return Layout((("a.parquet", content),))


def _several(contents: Sequence[bytes]) -> Named:
    return tuple((f"{number}.parquet", content) for number, content in enumerate(contents))


def _small(random: random.Random, count: int) -> list[bytes]:
    """Files of a column or two, all alike."""
    kinds = random.choice(([pa.int32()], [pa.int64(), pa.string()], [pa.string()]))
    return [_written(random, _table(random, kinds, random.choice((1, 2)))) for _ in range(count)]


_ALL: Final = "SELECT * FROM {source}"


def _plain(random: random.Random) -> _Content:
    """Columns of plain types, by writers with all kinds of options."""
    kinds = random.choices(arrow_values.PLAIN, k=random.randint(1, 4))
    query = random.choice((_ALL, _ALL, _ALL, "SELECT count(*) FROM {source}", "SELECT a FROM {source}"))
    return _one(_written(random, _table(random, kinds))), None, query


def _nested(random: random.Random) -> _Content:
    """Lists, maps and structs."""
    kinds = [arrow_values.nested(random, arrow_values.PLAIN, 3) for _ in range(random.randint(1, 2))]
    return _one(_written(random, _table(random, kinds))), None, _ALL


def _letters(random: random.Random) -> _Content:
    """Names that differ by case alone, odd names, names asked for in another case."""
    names = random.sample(
        ("a", "A", "b", "B", "a.b", "é", "É", "", " ", "c d", "ab", "aB"), random.randint(1, 4)
    )
    arrays = [arrow_values.array(random, pa.int32(), 2) for _ in names]
    table = pa.table(dict(zip(names, arrays, strict=True)))
    if random.random() < 0.3:
        table = pa.table({"s": pa.StructArray.from_arrays(arrays, names=names)})
    ddl = random.choice((None, None, "a INT", "A INT, b INT", "B INT, Ab INT", "s STRUCT<a: INT, B: INT>"))
    query = random.choice(
        (_ALL, _ALL, "SELECT A FROM {source}", "SELECT s.A FROM {source}", "SELECT count(*) FROM {source}")
    )
    return _one(_written(random, table)), ddl, query


def _changed(random: random.Random) -> _Content:
    """Files of one table whose columns have other types, or are missing."""
    layout, kinds = _of_changed_types(random)
    ddl = None
    if random.random() < 0.3:
        ddl = ", ".join(f"{name} {random.choice(_DECLARED)}" for name in "ab"[: len(kinds)])
    return layout, ddl, random.choice((_ALL, _ALL, _ALL, "SELECT b FROM {source}"))


def _of_changed_types(random: random.Random) -> tuple[Layout, list[tuple[pa.DataType, ...]]]:
    kinds = [random.choice(_WIDENED) for _ in range(random.choice((1, 2)))]
    contents = []
    for _ in range(random.choice((2, 2, 3))):
        table = _table(random, [random.choice(each) for each in kinds], random.choice((0, 1, 2)))
        if random.random() < 0.3 and table.num_columns > 1:
            table = table.select(random.choice(([0], [1], [1, 0])))
        contents.append(_written(random, table))
    return Layout(_several(contents)), kinds


def _merged(random: random.Random) -> _Content:
    """The same with mergeSchema, and columns that have grown in number."""
    layout, _ = _of_changed_types(random)
    if random.random() < 0.75:
        tables = [_signed(random, table) for table in arrow_values.evolved(random, 0.4)]
        contents = [_written(random, table) for table in tables]
        layout = Layout(_several(contents))
        if random.random() < 0.3:
            layout = layouts.partitions(random, contents, ".parquet")
    options = {"mergeSchema": random.choice(("true", "TRUE", "true", "true", "true", "true", "false", "yes"))}
    query = random.choice((_ALL, _ALL, _ALL, "SELECT count(*) FROM {source}", "SELECT b FROM {source}"))
    return Layout(layout.files, layout.place, options), None, query


def _signed(random: random.Random, table: pa.Table) -> pa.Table:
    """The table, perhaps with the schema that Spark leaves in the files that it writes."""
    names = {pa.int32(): "integer", pa.int64(): "long", pa.string(): "string", pa.date32(): "date"}
    if random.random() < 0.8 or any(field.type not in names for field in table.schema):
        return table
    fields = [
        {"name": field.name, "type": names[field.type], "nullable": True, "metadata": {}}
        for field in table.schema
    ]
    if random.random() < 0.3:
        fields[0]["type"] = random.choice(("long", "string", "integer"))
    written = json.dumps({"type": "struct", "fields": fields})
    return table.replace_schema_metadata({"org.apache.spark.sql.parquet.row.metadata": written})


def _times(random: random.Random) -> _Content:
    """Dates and timestamps of all units, with and without zone, INT96."""
    kinds = random.choices(_TIMES, k=random.randint(1, 3))
    given: dict[str, Any] = {}
    if random.random() < 0.3:
        given["use_deprecated_int96_timestamps"] = True
    elif random.random() < 0.3:
        given |= {"coerce_timestamps": random.choice(("ms", "us")), "allow_truncated_timestamps": True}
    ddl = None
    if random.random() < 0.2:
        ddl = ", ".join(
            f"{name} {random.choice(('TIMESTAMP', 'TIMESTAMP_NTZ', 'DATE'))}" for name in "abc"[: len(kinds)]
        )
    return _one(_written(random, _table(random, kinds), **given)), ddl, _ALL


def _decimals(random: random.Random) -> _Content:
    """Decimals in all of their physical forms, and declared ones."""
    kinds = random.choices(_DECIMALS, k=random.randint(1, 3))
    ddl = None
    if random.random() < 0.4:
        precisions = [(random.choice((5, 10, 20, 38)), random.choice((0, 2, 4))) for _ in kinds]
        ddl = ", ".join(f"{name} DECIMAL({p},{s})" for name, (p, s) in zip("abc", precisions, strict=False))
    return _one(_written(random, _table(random, kinds))), ddl, _ALL


def _odd(random: random.Random) -> _Content:
    """Types that Spark reads in its own way, or not at all."""
    kind = random.choice(_ODD)
    length = random.choice((0, 1, 3))
    if kind in (pa.uuid(), pa.json_()):
        storage = [random.randbytes(16) if kind == pa.uuid() else '{"a": 1}' for _ in range(length)]
        array = pa.ExtensionArray.from_storage(kind, pa.array(storage, kind.storage_type))
    elif pa.types.is_time(kind) or pa.types.is_duration(kind):
        array = pa.array(
            [random.randint(0, 86_399) for _ in range(length)],
            pa.int32() if kind.bit_width == 32 else pa.int64(),
        ).cast(kind)
    elif pa.types.is_dictionary(kind):
        array = arrow_values.array(random, pa.string(), length).dictionary_encode()
    elif pa.types.is_decimal256(kind):
        array = pa.array([None] * length, kind)
    elif pa.types.is_null(kind) or kind == pa.list_(pa.null()):
        array = pa.array(
            [random.choice((None, {} if kind == pa.struct([]) else None)) for _ in range(length)], kind
        )
    elif pa.types.is_fixed_size_list(kind):
        array = pa.array([[1, 2]] * length, kind)
    elif pa.types.is_large_list(kind):
        array = pa.array([[1], None, []][:length], kind)
    else:
        array = arrow_values.array(random, kind, length)
    table = pa.table({"a": pa.array(range(length), pa.int32()), "b": array})
    if random.random() < 0.1:
        table = table.select(["b"])
    given = (
        {"version": random.choice(("1.0", "2.6"))}
        if pa.types.is_unsigned_integer(kind)
        else {"version": "2.6"}
    )
    query = random.choice((_ALL, _ALL, _ALL, "SELECT a FROM {source}", "SELECT count(*) FROM {source}"))
    return _one(_written(random, table, **given)), None, query


def _declared(random: random.Random) -> _Content:
    """A declared schema over files of other types."""
    kinds = random.choices((*arrow_values.PLAIN, *_TIMES[:4]), k=random.randint(1, 3))
    names = random.choice(("abc", "abc", "acb", "Abx"))
    ddl = ", ".join(f"{name} {random.choice(_DECLARED)}" for name in names[: random.randint(1, 3)])
    return _one(_written(random, _table(random, kinds))), ddl, _ALL


def _empty(random: random.Random) -> _Content:
    """Files without rows, row groups, columns or bytes."""
    contents = []
    for _ in range(random.choice((1, 1, 2))):
        kinds = random.choices(arrow_values.PLAIN, k=random.choice((0, 1, 2)))
        content = _written(random, _table(random, kinds, random.choice((0, 0, 2))))
        contents.append(random.choice((content, content, content, b"", b"PAR1", b"PAR1PAR1")))
    ddl = random.choice((None, None, None, "a INT", "zz STRING"))
    return Layout(_several(contents)), ddl, random.choice((_ALL, "SELECT count(*) FROM {source}"))


def _mutated(random: random.Random) -> _Content:
    """Files with changed, missing or additional bytes."""
    content = bytearray(
        _written(random, _table(random, random.choices(arrow_values.PLAIN, k=2), 3), compression="none")
    )
    match random.choice(("cut", "tail", "flip", "flip", "magic", "foreign", "length")):
        case "cut":
            del content[random.randrange(len(content)) :]
        case "tail":
            content += random.randbytes(random.choice((1, 8)))
        case "flip":
            for _ in range(random.choice((1, 2))):
                content[random.randrange(len(content))] ^= 1 << random.randrange(8)
        case "magic":
            content[-4:] = random.choice((b"PARE", b"PAR2", b"ORC\0"))
        case "foreign":
            content = bytearray(random.choice((b"a,b\n1,2\n", b"{}", b"ORC", b"\0" * 20, b"PAR1" * 4)))
        case _:
            content[-8:-4] = random.choice(
                (b"\xff\xff\xff\x7f", b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x01\0\0\0")
            )
    ddl = random.choice((None, None, "a INT, b STRING"))
    return _one(bytes(content)), ddl, _ALL


def _filtered(random: random.Random) -> _Content:
    """Queries whose filters leave out row groups by their statistics."""
    kind = random.choice(
        (
            pa.float64(),
            pa.float32(),
            pa.int32(),
            pa.string(),
            pa.date32(),
            pa.decimal128(5, 2),
            pa.binary(),
            pa.bool_(),
            pa.timestamp("us", "UTC"),
            pa.uint32(),
            pa.int8(),
        )
    )
    table = _table(random, [kind, pa.int32()], random.choice((3, 6)))
    literal = {
        "double": ("double('NaN')", "0.0D", "-0.0D", "1.5D", "double('Infinity')"),
        "float": ("float('NaN')", "0.0F", "-0.0F", "1"),
        "string": ("''", "'a'", "'é'", "'b'"),
        "date32[day]": ("date'1970-01-01'", "date'2024-01-01'", "date'0001-01-01'"),
        "decimal128(5, 2)": ("0", "1.5BD", "-999.99BD"),
        "binary": ("X''", "X'61FF'", "X'FF'"),
        "bool": ("true", "false"),
        "timestamp[us, tz=UTC]": ("timestamp'1970-01-01 00:00:00'", "timestamp'2024-01-01'"),
    }.get(str(kind), ("0", "1", "7", "127", "4294967295", "-128"))
    operator = random.choice(("=", "<", "<=", ">", ">=", "<>", "<=>", "IN", "IS NULL", "IS NOT NULL"))
    chosen = random.choice(literal)
    operand = (
        ""
        if operator.startswith("IS")
        else f"({chosen}, {random.choice(literal)})"
        if operator == "IN"
        else chosen
    )
    negated = random.choice(("", "", "NOT "))
    query = f"SELECT * FROM {{source}} WHERE {negated}(a {operator} {operand})"
    return (
        _one(_written(random, table, write_statistics=True, row_group_size=random.choice((1, 2)))),
        None,
        query,
    )


def _laid(
    layout: Callable[[random.Random, Sequence[bytes], str], Layout],
) -> Callable[[random.Random], _Content]:
    def make(random: random.Random) -> _Content:
        found = layout(random, _small(random, random.choice((1, 2, 3))), ".parquet")
        ddl = None
        if found.columns:
            ddl = ", ".join(
                ("a BIGINT", *found.columns) if random.random() < 0.7 else (*found.columns, "a INT")
            )
        query = random.choice((_ALL, _ALL, _ALL, "SELECT count(*) FROM {source}"))
        return found, ddl, query

    return make


_CLASSES: Final[Mapping[str, Callable[[random.Random], _Content]]] = {
    "plain": _plain,
    "nested": _nested,
    "letter case": _letters,
    "changed types": _changed,
    "merged schemas": _merged,
    "times": _times,
    "decimals": _decimals,
    "odd types": _odd,
    "declared schema": _declared,
    "empty": _empty,
    "mutated": _mutated,
    "filtered": _filtered,
    "partitions": _laid(layouts.partitions),
    "globs": _laid(layouts.globs),
    "folders": _laid(layouts.folders),
}
