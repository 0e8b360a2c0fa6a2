"""Parquet files: schema, row groups with their statistics, reading, writing."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from sqlfront_connectors.bounds import Bounds, may_match
from sqlfront_connectors.files.failures import reading
from sqlfront_connectors.forms import logical_type
from sqlfront_engine.expressions import Expr
from sqlfront_engine.processor import BATCH_ROWS
from sqlfront_engine.types import TIMESTAMP, is_string

if TYPE_CHECKING:
    import pyarrow.parquet as pq

#: A string column chunk of fewer bytes a value is read as a dictionary.
_DICTIONARY_BYTES = 1.5


def open_file(path: str, dictionaries: Sequence[str] = ()) -> "pq.ParquetFile":
    """The file, or an OperationalError that names it."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - loaded when a Parquet file is read

    with reading(path):
        return pq.ParquetFile(path, read_dictionary=list(dictionaries))


def infer_schema(paths: Sequence[str], options: Mapping[str, str]) -> pa.Schema:
    """The logical schema of the first file, as Spark takes it (``mergeSchema`` is off by default)."""
    file = open_file(paths[0])
    fields = []
    for field in file.schema_arrow:
        kind = logical_type(field.type, field.name)
        if pa.types.is_timestamp(field.type) and _is_int96(file, field.name):
            kind = TIMESTAMP
        fields.append(pa.field(field.name, kind))
    return pa.schema(fields)


def _is_int96(file: "pq.ParquetFile", name: str) -> bool:
    """Hive and old Spark wrote TIMESTAMP (an instant) as INT96."""
    columns = [file.schema.column(index) for index in range(len(file.schema))]
    return any(column.path == name and column.physical_type == "INT96" for column in columns)


def row_count(path: str) -> int:
    """Rows of a file, by its footer."""
    return int(open_file(path).metadata.num_rows)


class ParquetReader:
    """Reads the row groups of one file that may hold matching rows."""

    def __init__(
        self, path: str, names: tuple[str, ...], schema: pa.Schema, filters: tuple[Expr, ...]
    ) -> None:
        """``names`` are the wanted columns; ``schema`` is the table's, over which ``filters`` are."""
        self._path = path
        plain = open_file(path)
        self._metadata = plain.metadata
        self._leaves = _top_level_leaves(plain.schema_arrow)
        present = {name.lower(): name for name in plain.schema_arrow.names}
        self._names = [present[name.lower()] for name in names if name.lower() in present]
        strings = [
            name for name in self._names if is_string(logical_type(plain.schema_arrow.field(name).type))
        ]
        dictionaries = [name for name in strings if self._has_few_values(name)]
        self._file = open_file(path, dictionaries) if dictionaries else plain
        self._schema = schema
        self._filters = filters

    @property
    def row_group_count(self) -> int:
        """The number of all row groups."""
        return int(self._metadata.num_row_groups)

    def row_groups(self) -> list[int]:
        """Numbers of the row groups that the filters leave."""
        return [number for number in range(self._metadata.num_row_groups) if self._may_match(number)]

    def _may_match(self, row_group: int) -> bool:
        return all(may_match(condition, partial(self._bounds, row_group)) for condition in self._filters)

    def read(self, row_group: int) -> Iterator[pa.RecordBatch]:
        """Batches of the wanted columns that the file has, under their names in the file."""
        with reading(self._path):
            yield from self._file.iter_batches(
                BATCH_ROWS, row_groups=[row_group], columns=self._names, use_threads=False
            )

    def _has_few_values(self, name: str) -> bool:
        index = self._leaves.get(name.lower())
        if index is None or not self._metadata.num_row_groups:
            return False
        chunk = self._metadata.row_group(0).column(index)
        return (
            chunk.has_dictionary_page and chunk.total_uncompressed_size < _DICTIONARY_BYTES * chunk.num_values
        )

    def _bounds(self, row_group: int, ordinal: int) -> Bounds | None:
        if ordinal >= len(self._schema):
            return None
        field = self._schema.field(ordinal)
        index = self._leaves.get(field.name.lower())
        if index is None or pa.types.is_timestamp(field.type):
            return None
        chunk = self._metadata.row_group(row_group).column(index)
        statistics = chunk.statistics
        if statistics is None:
            return None
        nulls = statistics.null_count if statistics.has_null_count else None
        if not statistics.has_min_max:
            return Bounds(nulls=nulls, rows=chunk.num_values)
        return Bounds(statistics.min, statistics.max, nulls, chunk.num_values)


def _top_level_leaves(schema: pa.Schema) -> dict[str, int]:
    """The numbers of the column chunks of columns that aren't nested, by lower-case name. (By their paths a
    column ``a.b`` and a field ``b`` of a column ``a`` couldn't be told apart.)"""
    numbers: dict[str, int] = {}
    number = 0
    for field in schema:
        if not pa.types.is_nested(field.type):
            numbers[field.name.lower()] = number
        number += _leaf_count(field.type)
    return numbers


def _leaf_count(data_type: pa.DataType) -> int:
    """How many column chunks a column of the type has."""
    if not pa.types.is_nested(data_type):
        return 1
    return sum(_leaf_count(data_type.field(index).type) for index in range(data_type.num_fields))


def write(path: str, batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> None:
    """Write the batches (of the given schema) to a new file, snappy as Spark does."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - loaded when a Parquet file is written

    with pq.ParquetWriter(path, schema, compression="snappy", version="2.6") as writer:
        for batch in batches:
            writer.write_batch(batch)
