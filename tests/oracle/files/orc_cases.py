"""ORC files by Arrow's writer, changed schemas, changed bytes."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa
from pyarrow import orc

from sqlfront_values.types import ddl
from tests.oracle.files import arrow_values, layouts
from tests.oracle.files.cases import FileCase, Way, written_by_spark
from tests.oracle.files.layouts import Layout

_NAMES: Final = ("a", "b", "c", "d e", "é")
_DECLARED: Final = (
    "INT",
    "BIGINT",
    "SMALLINT",
    "DOUBLE",
    "FLOAT",
    "STRING",
    "DATE",
    "DECIMAL(10,2)",
    "BOOLEAN",
)
_MOMENTS: Final = (
    *(pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.timestamp("ms"), pa.timestamp("ms", "UTC")),
    pa.timestamp("us", "America/New_York"),
)
#: Since 1970: around ORC's own epoch, a change of the clock, the end of 32 bits, and in 2222.
_SECONDS: Final = (0, 1, 1_420_070_399, 1_420_070_400, 1_615_705_200, 1 << 31, 7_952_342_400)
_ALL: Final = "SELECT * FROM {source}"
_COUNT: Final = "SELECT count(*) FROM {source}"
_Content = tuple[Layout, str | None, str]

#: Options of Spark's own writer.
_SPARK_OPTIONS: Final[Mapping[str, Sequence[str]]] = {
    "orc.compress": ("NONE", "ZLIB", "SNAPPY", "ZSTD", "LZ4"),
    "orc.write.format": ("0.11", "0.12"),
    "orc.dictionary.key.threshold": ("0", "0.8", "1"),
    "orc.row.index.stride": ("1000", "10000", "0"),
}


def cases(random: random.Random) -> Iterator[FileCase]:
    """Endless cases, the classes of oddity one after the other."""
    while True:
        for oddity, make in _CLASSES.items():
            layout, declared, query = make(random)
            way = random.choice((Way.VIEW, Way.VIEW, Way.TABLE))
            if not layout.options and declared is None and random.random() < 0.6:
                way = Way.PATH
            yield FileCase("orc", layout.files, oddity, layout.options, declared, way, layout.place, query)
        yield written_by_spark(random, "orc", _SPARK_OPTIONS)


def _written(random: random.Random, table: pa.Table) -> bytes:
    out = io.BytesIO()
    orc.write_table(
        table,
        out,
        compression=random.choice(("uncompressed", "zlib", "snappy", "zstd", "lz4")),
        file_version=random.choice(("0.11", "0.12", "0.12")),
        stripe_size=random.choice((1024, 64 << 20)),
        dictionary_key_size_threshold=random.choice((0.0, 1.0)),
    )
    return out.getvalue()


def _table(random: random.Random, kinds: Sequence[pa.DataType], rows: int | None = None) -> pa.Table:
    length = random.choice((0, 1, 2, 3, 5)) if rows is None else rows
    nulls = random.choice((0.0, 0.2, 0.2, 1.0))
    arrays = [arrow_values.array(random, kind, length, nulls) for kind in kinds]
    return pa.table(dict(zip(_NAMES, arrays, strict=False)))


def _one(content: bytes) -> Layout:
    return Layout((("a.orc", content),))


def _plain(random: random.Random) -> _Content:
    """Columns of plain types."""
    kinds = random.choices(arrow_values.PLAIN, k=random.randint(1, 4))
    return _one(_written(random, _table(random, kinds))), None, random.choice((_ALL, _ALL, _ALL, _COUNT))


def _nested(random: random.Random) -> _Content:
    """Lists, maps and structs."""
    kinds = [arrow_values.nested(random, arrow_values.PLAIN, 3) for _ in range(random.randint(1, 2))]
    return _one(_written(random, _table(random, kinds))), None, _ALL


def _letters(random: random.Random) -> _Content:
    """Names that differ by case alone, odd names."""
    names = random.sample(("a", "A", "b", "B", "a b", "é", "É", "ab", "_col0", "a.b"), random.randint(1, 3))
    if random.random() < 0.1:
        names[0] = random.choice(("a`b", "`a`", "`", ""))
    table = pa.table({name: arrow_values.array(random, pa.int32(), 2) for name in names})
    declared = random.choice((None, None, "a INT", "A INT, b INT"))
    return _one(_written(random, table)), declared, random.choice((_ALL, _ALL, _COUNT))


def _changed(random: random.Random) -> _Content:
    """Files of one table with other columns."""
    contents = []
    kind = random.choice(arrow_values.PLAIN)
    for _ in range(2):
        other = kind if random.random() < 0.85 else random.choice(arrow_values.PLAIN)
        width = 2 if random.random() < 0.85 else 1
        table = _table(random, [other, pa.string()][:width], random.choice((0, 1, 2)))
        contents.append(_written(random, table))
    files = tuple((f"{number}.orc", content) for number, content in enumerate(contents))
    return Layout(files), None, _ALL


def _times(random: random.Random) -> _Content:
    """Timestamps with and without a zone, mostly in years that all readers know, and dates."""
    arrays = []
    for kind in random.choices((*_MOMENTS, *_MOMENTS, pa.date32()), k=random.randint(1, 3)):
        if random.random() < 0.1 or pa.types.is_date(kind):
            arrays.append(arrow_values.array(random, kind, 3))
            continue
        per_second = 1_000_000 if kind.unit == "us" else 1000
        sign = -1 if random.random() < 0.1 else 1
        moments = [
            sign * (random.choice(_SECONDS) * per_second + random.choice((0, 0, 1, 999))) for _ in range(3)
        ]
        some = [None if random.random() < 0.2 else moment for moment in moments]
        arrays.append(pa.array(some, pa.int64()).cast(pa.timestamp(kind.unit)).cast(kind))
    table = pa.table(dict(zip(_NAMES, arrays, strict=False)))
    where = random.choice(("", "", "", " WHERE a > TIMESTAMP'2000-01-01'", " WHERE a IS NULL"))
    return _one(_written(random, table)), None, f"{_ALL}{where}"


def _merged(random: random.Random) -> _Content:
    """Files of one table with mergeSchema, whose columns have grown in number."""
    contents = [_written(random, table) for table in arrow_values.evolved(random, 0.15)]
    layout = Layout(tuple((f"{number}.orc", content) for number, content in enumerate(contents)))
    if random.random() < 0.3:
        layout = layouts.partitions(random, contents, ".orc")
    options = {"mergeSchema": random.choice(("true", "TRUE", "true", "true", "true", "true", "false", "yes"))}
    query = random.choice((_ALL, _ALL, _ALL, _COUNT, "SELECT b FROM {source}"))
    return Layout(layout.files, layout.place, options), None, query


def _declared(random: random.Random) -> _Content:
    """A declared schema over files of other types."""
    kinds = random.choices(arrow_values.PLAIN, k=random.randint(1, 3))
    table = _table(random, kinds)
    types = [ddl(kind).upper() for kind in kinds]
    if random.random() < 0.3:
        types = [random.choice(_DECLARED) for _ in kinds]
    names = random.choice(("abc", "abc", "acb", "Abx"))
    return _one(_written(random, table)), ", ".join(map(" ".join, zip(names, types, strict=False))), _ALL


def _empty(random: random.Random) -> _Content:
    """Files without rows or bytes."""
    content = _written(
        random, _table(random, random.choices(arrow_values.PLAIN, k=2), random.choice((0, 0, 2)))
    )
    other = random.choice((content, b"", b"ORC"))
    files = (("0.orc", other), ("1.orc", content))[: random.choice((1, 2))]
    return Layout(files), random.choice((None, None, "zz STRING")), random.choice((_ALL, _COUNT))


def _mutated(random: random.Random) -> _Content:
    """Files with changed, missing or foreign bytes."""
    content = bytearray(_written(random, _table(random, random.choices(arrow_values.PLAIN, k=2), 3)))
    match random.choice(("cut", "cut", "flip", "flip", "magic", "foreign", "foreign")):
        case "cut":
            del content[random.randrange(len(content)) :]
        case "flip":
            for _ in range(random.choice((1, 2))):
                content[random.randrange(len(content))] ^= 1 << random.randrange(8)
        case "foreign":
            content = bytearray(random.choice((b"a,b\n1,2\n", b"PAR1" * 4, b"\0" * 30, b"ORC" * 9)))
        case _:
            content[-1] = random.choice((0, 255, 7))
    return _one(bytes(content)), None, _ALL


def _filtered(random: random.Random) -> _Content:
    """Queries with filters."""
    kind = random.choice((pa.float64(), pa.int32(), pa.string()))
    literal = {"double": "double('NaN')", "int32": "7", "string": "'a'"}[str(kind)]
    operator = random.choice(("=", "<", ">=", "<>", "<=>"))
    query = f"SELECT * FROM {{source}} WHERE a {operator} {literal}"
    return _one(_written(random, _table(random, [kind, pa.int32()], 5))), None, query


def _laid(
    layout: Callable[[random.Random, Sequence[bytes], str], Layout],
) -> Callable[[random.Random], _Content]:
    def make(random: random.Random) -> _Content:
        kinds = random.choice(([pa.int32()], [pa.int64(), pa.string()]))
        contents = [_written(random, _table(random, kinds, 1)) for _ in range(random.choice((1, 2, 3)))]
        return layout(random, contents, ".orc"), None, random.choice((_ALL, _ALL, _ALL, _COUNT))

    return make


_CLASSES: Final[Mapping[str, Callable[[random.Random], _Content]]] = {
    "plain": _plain,
    "nested": _nested,
    "letter case": _letters,
    "changed columns": _changed,
    "merged schemas": _merged,
    "times": _times,
    "declared schema": _declared,
    "empty": _empty,
    "mutated": _mutated,
    "filtered": _filtered,
    "partitions": _laid(layouts.partitions),
    "globs": _laid(layouts.globs),
    "folders": _laid(layouts.folders),
}
