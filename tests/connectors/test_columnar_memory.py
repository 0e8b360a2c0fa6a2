"""What a small file of Parquet or ORC may unpack to is bounded, or charged before it is made."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

import sqlfront
from sqlfront import Config, Cursor, OperationalError
from sqlfront_connectors.base import ScanRequest, TableDefinition
from sqlfront_connectors.registry import create
from sqlfront_engine.processor import END_OF_PIECE, ProcessorContext
from sqlfront_engine.testing import CountingMemory
from sqlfront_values.room import MOST_AT_ONCE

MIB = 1 << 20


@pytest.fixture
def cursor() -> Iterator[Cursor]:
    with sqlfront.connect(config=Config(memory_limit=100 * MIB, workers=1)) as connection:
        yield connection.cursor()


@pytest.mark.parametrize("column", ["texts", "bytes", "lists", "structs"])
def test_a_stripe_of_orc_is_charged_before_it_is_read(tmp_path: Path, cursor: Cursor, column: str) -> None:
    text = pa.scalar("x" * 1000)
    values = {
        "texts": text,
        "bytes": text.cast(pa.binary()),
        "lists": pa.scalar([text], pa.list_(pa.string())),
        "structs": pa.scalar({"a": text, "b": 1}, pa.struct([("a", pa.string()), ("b", pa.int64())])),
    }
    numbers = pa.array(range(200_000), pa.int32())
    table = pa.table({column: pa.repeat(values[column], 200_000), "number": numbers})
    orc.write_table(table, tmp_path / "a.orc", compression="zlib", stripe_size=1 << 30)
    files = f"orc.`{tmp_path / 'a.orc'}`"

    with pytest.raises(OperationalError, match=r"19\d\.\d MiB more memory.*limit of 100 MiB"):
        cursor.execute(f"SELECT count({column}) FROM {files}").fetchall()
    assert cursor.execute(f"SELECT sum(number) FROM {files}").fetchone() == (19_999_900_000,)


def test_what_orc_has_charged_is_given_back(tmp_path: Path) -> None:
    table = pa.table({"a": ["x" * 100] * 100_000})
    with orc.ORCWriter(tmp_path / "a.orc", stripe_size=1 << 16, batch_size=1024) as writer:
        for _ in range(3):
            writer.write(table)
    made = create("orc", TableDefinition("t", location=str(tmp_path)))
    memory = CountingMemory()

    rows = 0
    for columns in ((0,), ()):
        scan = made.snapshot().scan(ScanRequest(columns)).source
        for step in scan.run(ProcessorContext("scan", memory)):
            rows += step.num_rows if isinstance(step, pa.RecordBatch) and step is not END_OF_PIECE else 0
        assert memory.held == 0
    assert rows == 2 * 300_000
    assert memory.peak >= 100 * 1024


@pytest.mark.parametrize("kind", [pa.string(), pa.binary()])
def test_a_long_text_of_a_dictionary_makes_short_batches(tmp_path: Path, kind: pa.DataType) -> None:
    texts = pa.array(["y", "x" * MIB], kind)
    rows = pa.DictionaryArray.from_arrays(pa.array([0] + [1] * 999, pa.int32()), texts)
    table = pa.table({"a": rows, "a.b": rows, "number": range(1000)})
    pq.write_table(table, tmp_path / "a.parquet", dictionary_pagesize_limit=1 << 30, store_schema=False)
    made = create("parquet", TableDefinition("t", location=str(tmp_path)))
    scan = made.snapshot().scan(ScanRequest((0, 2))).source

    lengths = []
    for step in scan.run(ProcessorContext("scan", CountingMemory())):
        if isinstance(step, pa.RecordBatch) and step is not END_OF_PIECE:
            assert step.nbytes <= MOST_AT_ONCE + MIB
            lengths += [len(text) for text in step.column(0).to_pylist()]
    assert lengths == [1] + [MIB] * 999


def test_a_row_group_with_nested_columns_is_charged_before_it_is_read(tmp_path: Path, cursor: Cursor) -> None:
    table = pa.table({"a": [["x" * 1000]] * 150_000, "b": [1] * 150_000})
    pq.write_table(table, tmp_path / "a.parquet", use_dictionary=False, compression="zstd")
    files = f"parquet.`{tmp_path / 'a.parquet'}`"

    with pytest.raises(OperationalError, match="limit of 100 MiB"):
        cursor.execute(f"SELECT count(a) FROM {files}").fetchall()
    assert cursor.execute(f"SELECT sum(b) FROM {files}").fetchone() == (150_000,)
