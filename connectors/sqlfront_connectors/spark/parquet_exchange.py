"""Exchange of rows between this process and Spark by Parquet files in a directory that both can read and
write.

To Spark: this process writes the rows once, and Spark reads them with a given schema, which is quicker than
``createDataFrame`` at every size. From Spark: Spark writes files, and this process streams the files in the
order of Spark's partitions, so that at most one row group is in memory. Columns of the files are named by
numbers, since names may repeat and may have any character.
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
from sqlfront_values.types import holds_variant

if TYPE_CHECKING:
    import pyarrow.parquet as pq
else:
    pq = lazy_module("pyarrow.parquet")

#: Rows read at a time: those of the engine's batches.
_ROWS: Final = 65_536


class ParquetExchange:
    """A directory for files of exchanged rows, made on first use. :meth:`close`, or the garbage collection of
    this object, removes the directory with all its files."""

    def __init__(self, parent: str | None = None) -> None:
        """``parent``: the parent of the directory, None = the system's directory for temporary files."""
        self._parent = parent
        self._path: str | None = None
        self._finalizer: weakref.finalize[..., object] | None = None

    def place(self) -> str:
        """Return a path in the directory that no file has yet."""
        if self._path is None:
            self._path = tempfile.mkdtemp(prefix="sqlfront-spark-", dir=self._parent)
            self._finalizer = when_forgotten(self, shutil.rmtree, self._path, True)
        return os.path.join(self._path, uuid4().hex)

    def close(self) -> None:
        """Remove the directory."""
        if self._finalizer is not None:
            self._finalizer()


def fits(schema: pa.Schema) -> bool:
    """Return whether a Parquet file can hold rows of the schema: False if the schema, or a struct in it, has
    no column, or if it has variants, which Spark stores in several forms."""
    return bool(schema) and not any(_has_empty_struct(kind) or holds_variant(kind) for kind in schema.types)


def _has_empty_struct(data_type: pa.DataType) -> bool:
    if not pa.types.is_nested(data_type):
        return False
    inner = [data_type.field(index).type for index in range(data_type.num_fields)]
    return not inner or any(map(_has_empty_struct, inner))


def write(path: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """Write the batches, in physical form and of the logical ``schema``, to one Parquet file at ``path``. The
    file's columns are named ``c0``, ``c1`` and so on, and each has the
    :func:`~sqlfront_connectors.spark.types.file_type` of its logical type."""
    form = pa.schema([(f"c{ordinal}", file_type(kind)) for ordinal, kind in enumerate(schema.types)])
    with pq.ParquetWriter(path, form, store_decimal_as_integer=True) as writer:
        for batch in batches:
            columns = [to_file(column, kind) for column, kind in zip(batch.columns, form.types, strict=True)]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=form))


class WrittenRows:
    """An iterator over the rows that Spark writes to a directory as Parquet files: batches in physical form,
    in the order of Spark's partitions. The directory is removed when all rows have been read, or when this
    object is garbage-collected."""

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
