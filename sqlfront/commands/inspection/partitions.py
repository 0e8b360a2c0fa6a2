"""SHOW PARTITIONS: the partition directories of a table over files."""

from collections.abc import Iterable, Mapping
from typing import Final

import pyarrow as pa

from sqlfront.commands.inspection.names import relation
from sqlfront.commands.run import CommandOutcome, StatementRun, origin_of, shown
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.files.locations.partition_directories import NULL_DIRECTORY, RawPartition, escape
from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_planner.catalog import DEFAULT_CATALOG, DEFAULT_DATABASE, Entry, ViewEntry
from sqlfront_planner.statements.structs import ShowPartitions
from sqlfront_values.errors import spark_error
from sqlfront_values.types import STRING

_PARTITIONS: Final = pa.schema([("partition", STRING)])


def show_partitions(run: StatementRun, statement: ShowPartitions) -> CommandOutcome:
    """SHOW PARTITIONS: show the table's partitions as ``column=value/...``, sorted; with PARTITION (...),
    only the partitions with the given values. Raises EXPECT_TABLE_NOT_VIEW for a view,
    INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY for a table without partition columns,
    PARTITIONS_NOT_FOUND for a column that is no partition column."""
    entry = relation(run, statement.name)
    table = _partitioned(entry)
    columns = [name.lower() for name in table.partition_columns]
    unknown = [name for name in statement.values if name.lower() not in columns]
    if unknown:
        raise spark_error(
            "PARTITIONS_NOT_FOUND",
            f"The partition(s) {', '.join(quoted((name,)) for name in unknown)} cannot be found in table "
            f"{_whole(entry)}.",
        )
    wanted = {name.lower(): escape(value) for name, value in statement.values.items()}
    found = (_text(partition) for partition in _partitions(table) if _has(partition, wanted))
    return shown(_PARTITIONS, [(text,) for text in sorted(found)])


def _partitioned(entry: Entry) -> FileTable:
    """Return the entry's table over files. Raises EXPECT_TABLE_NOT_VIEW for a view,
    INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY for a table without partition columns."""
    origin = origin_of(entry)
    if entry.temporary or isinstance(origin, ViewEntry):
        raise spark_error(
            "EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE",
            f"'SHOW PARTITIONS' expects a table but {_whole(entry)} is a view.",
        )
    if not isinstance(origin.table, FileTable) or not origin.table.partition_columns:
        raise spark_error(
            "INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY",
            f"The partition command is invalid. Table {_whole(entry)} is not partitioned.",
        )
    return origin.table


def _partitions(table: FileTable) -> Iterable[RawPartition]:
    """Return the table's recorded partitions; without a record, the partitions that its files belong to."""
    version = table.version
    known = version.known
    return dict.fromkeys(file.partition for file in version.files) if known is None else known


def _has(partition: RawPartition, wanted: Mapping[str, str]) -> bool:
    raw = {name.lower(): value for name, value in partition}
    return all(raw.get(name) == value for name, value in wanted.items())


def _text(partition: RawPartition) -> str:
    return "/".join(
        f"{escape(name)}={NULL_DIRECTORY if value is None else value}" for name, value in partition
    )


def _whole(entry: Entry) -> str:
    return quoted(entry.parts if entry.temporary else (DEFAULT_CATALOG, DEFAULT_DATABASE, entry.name.lower()))
