"""Files of text are unpacked, counted and cut into lines step by step."""

import bz2
import gzip
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sqlfront
from sqlfront import Config, OperationalError
from sqlfront_connectors.base import ScanRequest, TableDefinition
from sqlfront_connectors.files import contents
from sqlfront_connectors.files.contents import EXPANSION, content_of, counted, pieces
from sqlfront_connectors.files.json import json_format
from sqlfront_connectors.registry import create
from sqlfront_engine.file_access import EVERYWHERE
from sqlfront_engine.memory import MemoryBudget, OperatorAccount
from sqlfront_engine.processor import END_OF_PIECE, ProcessorContext
from sqlfront_engine.testing import CountingMemory
from sqlfront_values.errors import NotSupportedError

MIB = 1 << 20


def blocks(codec: str, text: bytes, size: int = 256 << 10) -> bytes:
    """The text as Hadoop writes it: in blocks of one part each."""
    found = []
    for start in range(0, len(text), size):
        part = text[start : start + size]
        packed = pa.Codec(codec).compress(part, asbytes=True)
        found.append(struct.pack(">II", len(part), len(packed)) + packed)
    return b"".join(found)


def zstd(text: bytes) -> bytes:
    found = pa.Codec("zstd").compress(text, asbytes=True)
    assert isinstance(found, bytes)
    return found


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "csv": bytes,
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "deflate": zlib.compress,
    "snappy": lambda text: blocks("snappy", text),
    "lz4": lambda text: blocks("lz4_raw", text),
    "zst": zstd,
}


@pytest.mark.parametrize("ending", PACKED)
def test_what_is_unpacked_is_charged_until_it_is_given_back(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    text = b"123,abc\n" * (MIB + 5)
    path.write_bytes(PACKED[ending](text))
    memory = CountingMemory()

    with counted(memory) as charges:
        assert content_of(str(path), EVERYWHERE, charges) == text
        assert memory.held == len(text) * EXPANSION
    assert memory.held == 0


@pytest.mark.parametrize("ending", PACKED)
def test_nothing_is_unpacked_beyond_the_limit(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    path.write_bytes(PACKED[ending](b"1,2\n" * MIB))
    account = OperatorAccount(MemoryBudget("the query", 10 * MIB), "scan")

    with pytest.raises(OperationalError, match=r"scan needs .* its limit of 10 MiB") as caught:
        content_of(str(path), EVERYWHERE, account)
    assert caught.value.condition == "UNABLE_TO_ACQUIRE_MEMORY"
    assert account.held <= 10 * MIB


@pytest.mark.parametrize("ending", [ending for ending in PACKED if ending != "csv"])
def test_a_packed_file_that_ends_early_is_an_error(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    path.write_bytes(PACKED[ending](bytes(range(256)) * 4000)[:-9])

    with pytest.raises(OperationalError if ending == "gz" else NotSupportedError):
        content_of(str(path), EVERYWHERE, CountingMemory())


@pytest.mark.parametrize("ending", ["snappy", "lz4"])
def test_a_part_that_says_it_is_huge_is_refused(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    huge = 2**32 - 1
    for said in (struct.pack(">II", huge, 6) + b"\xff\xff\xff\xff\x0f\x00", struct.pack(">II", huge, huge)):
        path.write_bytes(said)

        with pytest.raises(NotSupportedError, match="can't be read to the end"):
            content_of(str(path), EVERYWHERE, CountingMemory())


def split(content: bytes, end: bytes) -> list[bytes]:
    """The lines; behind the last end there is none."""
    lines = content.split(end)
    return lines if lines[-1] else lines[:-1]


@given(
    st.lists(st.sampled_from([b"a", b"b", b"\n", b"\r", b"\r\n", b"||", b"|"])).map(b"".join),
    st.sampled_from([b"\n", b"||", b"a|", b"aba", b"aa"]),
)
def test_lines_are_the_same_in_pieces(content: bytes, end: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contents, "PIECE", 3)
        found = list(pieces(content, end))

    assert b"".join(found) == content
    if end == b"\n":
        assert [line for piece in found for line in piece.splitlines()] == content.splitlines()
    else:
        assert [line for piece in found for line in split(piece, end)] == split(content, end)


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        ("CREATE TEMPORARY VIEW v USING csv OPTIONS (path '{}', inferSchema 'true')", b"1,2\n"),
        ("CREATE TEMPORARY VIEW v USING json OPTIONS (path '{}')", b'{"a":1}\n'),
        ("CREATE TEMPORARY VIEW v (a INT) USING csv OPTIONS (path '{}'); SELECT a FROM v", b"1,2\n"),
        ("CREATE TEMPORARY VIEW v (a INT) USING json OPTIONS (path '{}'); SELECT a FROM v", b'{"a":1}\n'),
        ("CREATE TEMPORARY VIEW v USING text OPTIONS (path '{}'); SELECT * FROM v", b"ab\n"),
    ],
)
def test_a_small_file_with_a_huge_text_is_refused(tmp_path: Path, statement: str, line: bytes) -> None:
    path = tmp_path / "a.gz"
    with gzip.open(path, "wb", 1) as file:
        for _ in range(64):
            file.write(line * (MIB // len(line)))

    with sqlfront.connect(config=Config(memory_limit=100 * MIB, workers=1)) as connection:
        cursor = connection.cursor()
        *first, last = statement.format(path).split("; ")
        for one in first:
            cursor.execute(one)
        with pytest.raises(OperationalError, match="limit of 100 MiB"):
            cursor.execute(last).fetchmany()
        # The refused ones hold nothing.
        path.write_bytes(gzip.compress(line))
        cursor.execute(statement.format(path).split("; ")[0].replace("VIEW v", "VIEW w"))
        assert cursor.execute("SELECT count(*) FROM w").fetchone() == (1,)


def test_a_header_is_read_from_the_beginning_of_a_large_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(b"name,number\n")
        for _ in range(64):
            file.write(b"1,2\n" * (MIB // 4))

    with sqlfront.connect(config=Config(memory_limit=100 * MIB, workers=1)) as connection:
        cursor = connection.cursor()
        cursor.execute(f"CREATE TEMPORARY VIEW v USING csv OPTIONS (path '{path}', header 'true')")
        assert [row[0] for row in cursor.execute("DESCRIBE v").fetchall()] == ["name", "number"]


def test_the_places_of_quotes_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'"1","2"\n' * (2 * MIB))

    with sqlfront.connect(config=Config(memory_limit=100 * MIB, workers=1)) as connection:
        cursor = connection.cursor()
        cursor.execute(f"CREATE TEMPORARY VIEW v (a INT, b INT) USING csv OPTIONS (path '{path}')")
        with pytest.raises(OperationalError, match="limit of 100 MiB"):
            cursor.execute("SELECT sum(a) FROM v").fetchall()


def test_the_rows_of_one_record_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"[" + b",".join([b'{"a":1}'] * 100_000) + b"]")

    with sqlfront.connect(config=Config(memory_limit=10 * MIB, workers=1)) as connection:
        cursor = connection.cursor()
        view = f"CREATE TEMPORARY VIEW v (a INT) USING json OPTIONS (path '{path}', multiLine 'true')"
        cursor.execute(view)
        with pytest.raises(OperationalError, match="limit of 10 MiB"):
            cursor.execute("SELECT sum(a) FROM v").fetchall()


def test_a_quote_that_nobody_closes_is_collected_in_linear_time(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    text = "a,b\n" * MIB
    path.write_text('"' + text)

    with sqlfront.connect() as connection:
        view = f"CREATE TEMPORARY VIEW v (a STRING) USING csv OPTIONS (path '{path}', multiLine 'true')"
        connection.execute(view)
        assert connection.execute("SELECT length(a) FROM v", timeout=60).fetchone() == (len(text),)


def test_a_quote_that_nobody_closes_is_ended_by_a_timeout(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('"' + "a,b\n" * (4 * MIB))

    with sqlfront.connect() as connection:
        view = f"CREATE TEMPORARY VIEW v (a STRING) USING csv OPTIONS (path '{path}', multiLine 'true')"
        connection.execute(view)
        with pytest.raises(OperationalError, match=r"0\.2 s"):
            connection.execute("SELECT length(a) FROM v", timeout=0.2).fetchall()


def test_records_with_many_names_are_read_a_few_rows_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    path.write_text("".join(f'{{"k{number}":{number}}}\n' for number in range(1000)))
    monkeypatch.setattr(json_format, "MOST_AT_ONCE", 8 * 1000 * 100)
    made = create("json", TableDefinition("t", location=str(path)))
    scan = made.snapshot().scan(ScanRequest(tuple(range(1000)))).source

    batches = [
        step
        for step in scan.run(ProcessorContext("scan", CountingMemory()))
        if isinstance(step, pa.RecordBatch) and step is not END_OF_PIECE
    ]
    assert sum(batch.num_rows for batch in batches) == 1000
    assert max(batch.num_rows for batch in batches) <= 100
    assert sum(pc.sum(column).as_py() or 0 for batch in batches for column in batch.columns) == 499_500


def test_the_search_for_columns_is_ended_by_a_timeout(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"{'a':1}\n" * (4 * MIB))

    with sqlfront.connect() as connection, pytest.raises(OperationalError, match=r"0\.5 s"):
        connection.execute(f"SELECT * FROM json.`{path}`", timeout=0.5)
