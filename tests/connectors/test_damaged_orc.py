"""Damaged ORC files: what Arrow would believe, or die of, is refused before Arrow is asked."""

import contextlib
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import orc

from sqlfront.config import Config
from sqlfront.session import Session
from sqlfront_connectors.files.orc.footer import DATA, LENGTH, NULLS, SECOND, OrcStream, description
from sqlfront_connectors.files.orc.runs import check_byte_runs, check_range, total_length
from sqlfront_connectors.files.orc.streams import check_streams
from sqlfront_connectors.files.varints import MalformedData
from sqlfront_values.errors import Error, NotSupportedError, OperationalError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.orc"


@pytest.fixture
def session() -> Iterator[Session]:
    with Session(Config()) as session:
        yield session


def read(session: Session, path: Path, columns: str = "*") -> list[tuple[object, ...]]:
    return [tuple(row) for row in session.execute(f"SELECT {columns} FROM orc.`{path}`").collect()]


def write(
    path: Path, column: pa.Array, compression: str = "uncompressed", version: str = "0.12"
) -> dict[int, OrcStream]:
    """A file of one column; gives the streams of its values by their kinds."""
    table = pa.table({"a": column})
    orc.write_table(
        table, path, compression=compression, file_version=version, dictionary_key_size_threshold=0.0
    )
    return {stream.kind: stream for stream in description(str(path)).stripes[0].streams if stream.column}


def change(path: Path, place: int, before: bytes, after: bytes) -> None:
    content = bytearray(path.read_bytes())
    assert content[place : place + len(before)] == before
    content[place : place + len(before)] = after
    path.write_bytes(bytes(content))


def replace(path: Path, before: bytes, after: bytes) -> None:
    content = path.read_bytes()
    assert content.count(before) == 1
    path.write_bytes(content.replace(before, after))


def test_a_run_of_nulls_that_is_longer_than_its_stream_is_refused(session: Session, path: Path) -> None:
    """Spark reads the whole run, Arrow as many of its values as there are rows."""
    streams = write(path, pa.array([None, None, None], pa.int16()))
    change(path, streams[NULLS].start, b"\xff\x00", b"\xdf\x00")

    with pytest.raises(NotSupportedError, match="damaged rows: a run is longer than its stream"):
        read(session, path)


@pytest.mark.parametrize(("kind", "version"), [(pa.int8(), "0.12"), (pa.int32(), "0.11")])
def test_a_run_of_values_that_is_longer_than_its_stream_is_refused(
    session: Session, path: Path, kind: pa.DataType, version: str
) -> None:
    streams = write(path, pa.array([1, 70, 3], kind), version=version)
    change(path, streams[DATA].start, b"\xfd", b"\xf9")

    with pytest.raises(NotSupportedError, match="damaged rows: a run is longer than its stream"):
        read(session, path)


@pytest.mark.parametrize("compression", ["zlib", "snappy", "zstd", "lz4"])
def test_a_chunk_that_is_longer_than_its_stream_is_refused(
    session: Session, path: Path, compression: str
) -> None:
    streams = write(path, pa.array([1, 70, 3], pa.float64()), compression)
    place = streams[DATA].start + 1
    change(path, place, path.read_bytes()[place : place + 1], b"\x40")

    with pytest.raises(NotSupportedError, match="damaged rows: a chunk is longer than its stream"):
        read(session, path)


def test_lengths_below_0_are_refused(session: Session, path: Path) -> None:
    """Arrow would give bytes of the process' memory, or end the process."""
    streams = write(path, pa.array(["x" * 200] * 512))
    # A run of 512 lengths from 200 on, the next one 0 more; the same from 300 on, the next one 1 less.
    change(path, streams[LENGTH].start, b"\xc1\xff\xc8\x01\x00", b"\xc1\xff\xac\x02\x01")

    with pytest.raises(NotSupportedError, match="damaged rows: a length is below 0"):
        read(session, path)


def test_no_changed_byte_of_lengths_ends_the_process(session: Session, path: Path) -> None:
    chosen = random.Random(1)
    column = pa.array([b"x" * chosen.choice((0, 1, 40, 3000)) for _ in range(300)])
    stream = write(path, column, "zlib")[LENGTH]
    content = path.read_bytes()
    for place in range(stream.start, stream.start + stream.size):
        changed = bytearray(content)
        changed[place] ^= 1 << chosen.randrange(8)
        path.write_bytes(bytes(changed))
        with contextlib.suppress(Error):
            read(session, path)


@pytest.mark.parametrize("version", ["0.11", "0.12"])
@pytest.mark.parametrize("seed", range(12))
def test_streams_as_a_writer_makes_them_are_whole(path: Path, version: str, seed: int) -> None:
    chosen = random.Random(seed)
    rows, most = chosen.choice((1, 5, 700, 3000)), chosen.choice((1, 3, 60, 400))
    lengths = (
        [chosen.randrange(most + 1) for _ in range(rows)],
        [row * most // rows for row in range(rows)],
        [(rows - row) * most // rows for row in range(rows)],
        [most] * rows,
        [5000 if chosen.random() < 0.01 else chosen.randrange(4) for _ in range(rows)],
    )
    table = pa.table(
        {str(place): pa.array(["x" * length for length in column]) for place, column in enumerate(lengths)}
        | {
            "lists": pa.array(
                [[True, None] * chosen.randrange(3) for _ in range(rows)], pa.list_(pa.bool_())
            ),
            "bytes": pa.array([chosen.choice((None, 1, row % 100)) for row in range(rows)], pa.int8()),
            "integers": pa.array([chosen.choice((None, row, -(2**62), 1)) for row in range(rows)]),
            "falling": pa.array([10 - row for row in range(rows)]),
            "decimals": pa.array(list(range(rows)), pa.int32()).cast(pa.decimal128(12, 2)),
        }
    )
    orc.write_table(table, path, compression=chosen.choice(("zlib", "uncompressed")), file_version=version)
    described = description(str(path))

    assert described.fault is None
    for stripe in range(len(described.stripes)):
        check_streams(str(path), described, stripe, frozenset(range(table.num_columns)))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x5f\x00", "a run is longer"),
        (b"\xc0\x00\x05\x00", "has no step"),
        (b"\xc0\x05\x02\x01", "a length is below 0"),
        (b"\xc2\x02\x02\x01\x80", "a length is below 0"),
        (b"\x80\x00\x00\x01\x81\x00\x00", "a length is below 0"),
    ],
)
def test_lengths_that_are_none(data: bytes, words: str) -> None:
    with pytest.raises(MalformedData, match=words):
        total_length(data, is_second=True)


@pytest.mark.parametrize("version", ["0.11", "0.12"])
def test_the_sum_of_lengths_is_found(path: Path, version: str) -> None:
    chosen = random.Random(3)
    lengths = [
        *(5 for _ in range(300)),
        *range(600),
        *(chosen.randrange(90) for _ in range(1000)),
        *(1000 if chosen.random() < 0.02 else chosen.randrange(8) for _ in range(2000)),
        *sorted((chosen.randrange(900) for _ in range(512)), reverse=True),
        *(7, 7, 7, 9),
    ]
    stream = write(path, pa.array(["x" * length for length in lengths]), version=version)[LENGTH]
    data = path.read_bytes()[stream.start : stream.start + stream.size]

    assert total_length(data, is_second=version == "0.12", exact=True) == sum(lengths)
    assert total_length(data, is_second=version == "0.12") >= sum(lengths)


def test_bytes_that_end_within_a_run() -> None:
    with pytest.raises(MalformedData, match="a run is longer"):
        check_byte_runs(b"\x61")


@pytest.mark.parametrize("version", ["0.11", "0.12"])
@pytest.mark.parametrize("rows", [2, 700])
def test_decimals_with_other_digits_behind_the_point_are_refused(
    session: Session, path: Path, version: str, rows: int
) -> None:
    """Spark rounds numbers with more digits than their column has, Arrow cuts them."""
    streams = write(path, pa.array([Decimal("1.23")] * rows, pa.decimal128(9, 2)), version=version)
    assert read(session, path)[-1] == (Decimal("1.23"),)
    content = bytearray(path.read_bytes())
    last = streams[SECOND].start + streams[SECOND].size - 1
    content[last] ^= 2
    path.write_bytes(bytes(content))

    with pytest.raises(NotSupportedError, match="damaged rows"):
        read(session, path)


@pytest.mark.parametrize("version", ["0.11", "0.12"])
@pytest.mark.parametrize("seed", range(40))
def test_the_range_of_a_stream_of_integers_is_that_of_its_values(path: Path, version: str, seed: int) -> None:
    chosen = random.Random(seed)
    values: list[int] = []
    while len(values) < 1500:
        count, first = chosen.choice((1, 2, 5, 300)), chosen.choice((0, 3, 200, 1 << 40))
        match chosen.choice(("equal", "steps", "random", "outliers")):
            case "equal":
                values += [first] * count
            case "steps":
                values += range(first, first + 7 * count, 7)
            case "random":
                values += [chosen.randrange(first + 1) for _ in range(count)]
            case _:
                values += [chosen.randrange(9) + first * (chosen.random() < 0.02) for _ in range(count)]
    is_second, greatest = version == "0.12", max(values)
    stream = write(path, pa.array(values, pa.int64()), version=version)[DATA]
    content = path.read_bytes()[stream.start :][: stream.size]

    check_range(content, greatest, is_second=is_second)
    with pytest.raises(MalformedData, match=f"and {greatest}, not between 0 and {greatest - 1}"):
        check_range(content, greatest - 1, is_second=is_second)

    place = chosen.randrange(len(values))
    values[place] = -1 - values[place]
    stream = write(path, pa.array(values, pa.int64()), version=version)[DATA]
    with pytest.raises(MalformedData, match="are between -"):
        check_range(path.read_bytes()[stream.start :][: stream.size], greatest, is_second=is_second)


@pytest.mark.parametrize("name", ["", "`", "``", "`a`", "a`b"])
def test_names_that_spark_reads_otherwise_are_refused(session: Session, path: Path, name: str) -> None:
    orc.write_table(pa.table({name: [1], "b": [2]}), path)

    with pytest.raises(NotSupportedError, match="name is empty, or has backticks"):
        read(session, path)


def test_texts_that_are_no_utf_8_are_refused(session: Session, path: Path) -> None:
    streams = write(path, pa.array(["abc"]))
    change(path, streams[DATA].start, b"abc", b"a\xffc")

    with pytest.raises(NotSupportedError, match="Arrow can't read: Invalid UTF8"):
        read(session, path)


def test_rows_without_columns_are_counted_by_the_footer(session: Session, path: Path) -> None:
    streams = write(path, pa.array([1, 70, 3], pa.int8()))
    change(path, streams[DATA].start, b"\xfd", b"\xf9")

    assert read(session, path, "count(*)") == [(3,)]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        # Of the postscript: the version. Of the footer: a type's kind, a decimal's digits, a column's name.
        (b'"\x02\x00\x0c', b'"\x02\x00\x08', r"the version is \[0, 8\]"),
        (b'"\x08\x08\x0e', b'"\x08\x38\x0e', "a type is of the kind 0"),
        (b"\x28\x05\x30\x02", b"\x38\x05\x30\x02", "a decimal has 0 digits"),
        (b"\x1a\x01a", b"\x1a\x01\xff", "can't decode byte"),
        # Of a stripe's footer: a stream's column, its kind, its length, and what is after an encoding.
        (
            b"\x0a\x06\x08\x01\x10\x01",
            b"\x0a\x06\x08\x01\x50\x01",
            "the kind, the column or the length is gone",
        ),
        (b"\x0a\x06\x08\x01\x10\x01", b"\x0a\x06\x08\x41\x10\x01", "has a stream of the kind 65"),
        (b"\x0a\x06\x08\x01\x10\x01", b"\x0a\x06\x08\x06\x10\x01", "a stream stands twice"),
        (
            b"\x0a\x06\x08\x05\x10\x01\x18\x02",
            b"\x0a\x06\x08\x05\x10\x01\x18\x03",
            "not as long as the stripe",
        ),
        (b"\x12\x04\x08\x02\x10\x00", b"\x12\x04\x08\x02\x11\x00", "ends too early"),
    ],
)
def test_what_spark_does_not_read_of_footers_is_refused(
    session: Session, path: Path, before: bytes, after: bytes, words: str
) -> None:
    write(path, pa.array([Decimal("1.50"), None, Decimal("7.25"), Decimal("7.25")], pa.decimal128(5, 2)))
    replace(path, before, after)

    with pytest.raises(NotSupportedError, match=words):
        read(session, path)


def test_a_file_that_is_none_of_orc_s_is_an_error(session: Session, path: Path) -> None:
    write(path, pa.array([1]))
    path.write_bytes(path.read_bytes()[:-1] + b"\0")

    with pytest.raises(OperationalError, match="Could not read footer"):
        read(session, path)


def test_footers_are_decoded_once(path: Path) -> None:
    write(path, pa.array([1]))
    first = description(str(path))
    assert description(str(path)) is first

    change(path, path.read_bytes().index(b"\x1a\x03GMT"), b"\x1a\x03GMT", b"\x1a\x03EST")
    assert description(str(path)) is not first


def test_maps_have_more_different_keys_than_rows(session: Session, path: Path) -> None:
    keys = pa.array([[("x", 1), ("y", None)]], pa.map_(pa.string(), pa.int32()))
    orc.write_table(pa.table({"a": keys}), path, dictionary_key_size_threshold=1.0)

    assert read(session, path) == [({"x": 1, "y": None},)]
