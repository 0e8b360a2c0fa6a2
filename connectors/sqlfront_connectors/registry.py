"""Connectors by the name that stands after USING."""

from collections.abc import Callable
from typing import Final

from sqlfront_connectors.base import Connector, Table, TableDefinition
from sqlfront_engine.errors import NotSupportedError
from sqlfront_engine.processors.registry import register_processor

_CONNECTORS: Final[dict[str, Callable[[], Connector]]] = {}


def register(name: str, factory: Callable[[], Connector]) -> None:
    """Add (or replace) the connector of a format; ``factory`` is called when the format is first used."""
    _CONNECTORS[name.lower()] = factory


def formats() -> tuple[str, ...]:
    """The registered formats, sorted."""
    return tuple(sorted(_CONNECTORS))


def create(format_name: str, definition: TableDefinition) -> Table:
    """Make a table of a format; an unknown one is a NotSupportedError that lists what there is."""
    factory = _CONNECTORS.get(format_name.lower())
    if factory is None:
        raise NotSupportedError(
            f"Failed to find the data source: {format_name}. Known are {', '.join(formats())}.",
            condition="DATA_SOURCE_NOT_FOUND",
            sqlstate="42K02",
        )
    return factory().create(definition)


def _memory() -> Connector:
    from sqlfront_connectors.memory import MemoryConnector  # noqa: PLC0415 - loaded when first used

    return MemoryConnector()


def _files(format_name: str) -> Callable[[], Connector]:
    def make() -> Connector:
        from sqlfront_connectors.files import FileConnector  # noqa: PLC0415 - loaded when first used

        return FileConnector(format_name)

    return make


register("memory", _memory)
for _format in ("parquet", "csv", "json"):
    register(_format, _files(_format))

register_processor("sqlfront_connectors.memory.scan:MemoryScan")
register_processor("sqlfront_connectors.memory.share:ShareScan")
register_processor("sqlfront_connectors.memory.share:StoreShare")
register_processor("sqlfront_connectors.memory.share:ChangeShare")
register_processor("sqlfront_connectors.memory.exchange:StagedRows")
register_processor("sqlfront_connectors.files.scan:FileScan")
register_processor("sqlfront_connectors.files.text_lines:TextLines")
