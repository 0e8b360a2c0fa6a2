"""Exchange of rows between this process and Spark, as Parquet files in a directory that both see.

In: the rows are written once and read by Spark with their schema given, which is quicker than
``createDataFrame`` at every size. Out: Spark writes, and this process streams the files in the order of
Spark's partitions, so that at most a row group is in memory. Columns are numbered in the files: names may
repeat, and may hold any character.
"""

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import pyarrow as pa

from sqlfront_connectors.spark.types import file_type, physical_batch, to_file
from sqlfront_engine.forks import when_forgotten
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    import pyarrow.parquet as pq
else:
    pq = lazy_module("pyarrow.parquet")

#: Rows read at a time: those of the engine's batches.
_ROWS: Final = 65_536


class ParquetExchange:
    """A directory for exchange files, made on first use. The directory is removed with all files in it by
    :meth:`close`, or when the exchange is forgotten."""

    def __init__(self, parent: str | None = None) -> None:
        """``parent``: the parent of the directory, None = the system's directory for temporary files."""
        self._parent = parent
        self._path: str | None = None
        self._finalizer: weakref.finalize[..., object] | None = None

    def place(self) -> str:
        """Return an unused path in the directory."""
        if self._path is None:
            self._path = tempfile.mkdtemp(prefix="sqlfront-spark-", dir=self._parent)
            self._finalizer = when_forgotten(self, shutil.rmtree, self._path, True)
        return os.path.join(self._path, uuid4().hex)

    def close(self) -> None:
        """Remove the directory."""
        if self._finalizer is not None:
            self._finalizer()


def fits(schema: pa.Schema) -> bool:
    """Return whether Parquet can hold rows of the schema: not if the schema, or a struct in it, has no
    column."""
    return bool(schema) and not any(map(_has_empty_struct, schema.types))


def _has_empty_struct(data_type: pa.DataType) -> bool:
    if not pa.types.is_nested(data_type):
        return False
    inner = [data_type.field(index).type for index in range(data_type.num_fields)]
    return not inner or any(map(_has_empty_struct, inner))


def write(path: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """Write the batches, in physical form and of the logical ``schema``, to one Parquet file at ``path``:
    columns are numbered and have their :func:`~sqlfront_connectors.spark.types.file_type`."""
    form = pa.schema([(f"c{ordinal}", file_type(kind)) for ordinal, kind in enumerate(schema.types)])
    with pq.ParquetWriter(path, form, store_decimal_as_integer=True) as writer:
        for batch in batches:
            columns = [to_file(column, kind) for column, kind in zip(batch.columns, form.types, strict=True)]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=form))


class WrittenRows:
    """The rows that Spark wrote to a directory, in physical form and in the order of its partitions. The
    directory is removed when all rows have been read, or the object is gone."""

    def __init__(self, directory: str, schema: pa.Schema) -> None:
        self._finalizer = when_forgotten(self, shutil.rmtree, directory, True)
        self._rows = _read(directory, schema)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        try:
            return next(self._rows)
        except StopIteration:
            self._finalizer()
            raise


def _read(directory: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for name in sorted(os.listdir(directory)):
        if name.startswith("part-"):
            with pq.ParquetFile(os.path.join(directory, name), coerce_int96_timestamp_unit="us") as file:
                for batch in file.iter_batches(_ROWS):
                    yield physical_batch(batch, schema)
