"""The registry of connectors by format, the name after USING in CREATE TABLE."""

from collections.abc import Callable
from typing import Final

from sqlfront_connectors.base import Connector, Table, TableDefinition
from sqlfront_engine.processors.registry import register_processor
from sqlfront_values.errors import DataError, NotSupportedError, OperationalError, ProgrammingError
from sqlfront_values.room import StoppedError

#: The file formats that only Spark reads, each with the package that reads it; None if Spark itself does.
ELSEWHERE: Final = {
    "avro": "spark-avro",
    "binaryfile": None,
    "delta": "delta-spark",
    "hudi": "hudi-spark-bundle",
    "iceberg": "iceberg-spark-runtime",
    "xml": None,
}
_CONNECTORS: Final[dict[str, Callable[[], Connector]]] = {}


def register(name: str, factory: Callable[[], Connector]) -> None:
    """Register the connector of the format ``name``, in place of an earlier one; upper and lower case don't
    matter. ``factory`` makes the connector whenever a table of the format is made."""
    _CONNECTORS[name.lower()] = factory


def formats() -> tuple[str, ...]:
    """Return the names of the registered formats, sorted."""
    return tuple(sorted(_CONNECTORS))


def create(format_name: str, definition: TableDefinition) -> Table:
    """Make the table of ``definition`` by the connector registered for ``format_name`` (upper and lower case
    don't matter). Raises NotSupportedError, which lists the known formats, for an unknown format."""
    check_format(format_name)
    return _CONNECTORS[format_name.lower()]().create(definition)


def check_format(format_name: str) -> None:
    """Raise NotSupportedError (DATA_SOURCE_NOT_FOUND), which lists the known formats, for an unknown
    format."""
    if format_name.lower() not in _CONNECTORS:
        raise NotSupportedError(
            f"Failed to find the data source: {format_name}. Known are {', '.join(formats())}.",
            condition="DATA_SOURCE_NOT_FOUND",
        )


#: Conditions of errors that :func:`path_table` doesn't wrap: they say nothing of the contents of files.
_AS_THEY_ARE: Final = frozenset({"PATH_NOT_FOUND", "UNABLE_TO_ACQUIRE_MEMORY"})


def path_table(format_name: str, definition: TableDefinition) -> Table | None:
    """Return the table for a relation of the form ``format.`path```, such as ``csv.`/data/a.csv```; None if
    the format is ``memory`` or unknown. The path is the location in ``definition``.

    Raises NotSupportedError for a format that only Spark reads (the message names the package that Spark
    needs), ProgrammingError for an empty path. As in Spark, an error that comes from the files, except for a
    missing path or a lack of memory, becomes an OperationalError with the condition
    FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY."""
    name = format_name.lower()
    if name in ELSEWHERE:
        package = ELSEWHERE[name]
        needed = f", with the package {package}" if package else ""
        raise NotSupportedError(f"files of the format {name} are read by a Spark session only{needed}")
    if name == "memory" or name not in _CONNECTORS:
        return None
    if not (definition.location or "").strip():
        raise ProgrammingError("The location name cannot be empty.", condition="INVALID_EMPTY_LOCATION")
    try:
        return create(name, definition)
    except (OperationalError, DataError) as error:
        if isinstance(error, StoppedError) or error.condition in _AS_THEY_ARE:
            raise
        raise OperationalError(
            f"Failed to create plan for direct query on files: {name}. {error.message}",
            condition="FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY",
        ) from error


def _memory() -> Connector:
    from sqlfront_connectors.memory import MemoryConnector  # noqa: PLC0415 - loaded when first used

    return MemoryConnector()


def _files(format_name: str) -> Callable[[], Connector]:
    def make() -> Connector:
        from sqlfront_connectors.files import FileConnector  # noqa: PLC0415 - loaded when first used

        return FileConnector(format_name)

    return make


register("memory", _memory)
for _format in ("parquet", "csv", "json", "orc", "text"):
    register(_format, _files(_format))

register_processor("sqlfront_connectors.memory.scan:MemoryScan")
register_processor("sqlfront_connectors.memory.spread.processors:ShareScan")
register_processor("sqlfront_connectors.memory.spread.processors:StoreShare")
register_processor("sqlfront_connectors.memory.spread.processors:ChangeShare")
register_processor("sqlfront_connectors.memory.spread.processors:MergeShare")
register_processor("sqlfront_connectors.memory.spread.processors:BackupShare")
for _processor in ("MovingRows", "MoveShare", "MoveBackup", "CopyShare", "CopyBackup"):
    register_processor(f"sqlfront_connectors.memory.spread.move_processors:{_processor}")
register_processor("sqlfront_connectors.memory.spread.version_scan:VersionScan")
register_processor("sqlfront_connectors.memory.exchange.service:StagedRows")
register_processor("sqlfront_connectors.files.scan:FileScan")
register_processor("sqlfront_connectors.files.text.text_lines:TextLines")
