"""The connector of memory tables: CREATE TABLE ... USING memory."""

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from sqlfront_connectors.base import Partitioning, TableDefinition
from sqlfront_connectors.memory.keyed_table import KeyedTable
from sqlfront_connectors.memory.table import MemoryTable
from sqlfront_values.errors import ProgrammingError
from sqlfront_values.partitioning.partitions import DEFAULT_PARTITIONS
from sqlfront_values.types import is_variant

#: A maker of empty memory tables of a name, schema, partitioning and number of backups.
MakeTable = Callable[[str, pa.Schema, Partitioning | None, int], KeyedTable]

#: The option of the number of backups, and its values.
_BACKUPS: Final = "backups"
_COUNTS: Final = ("0", "1", "2")


class MemoryConnector:
    """The connector of ``USING memory [CLUSTERED BY (k, ...) [INTO n BUCKETS]] [OPTIONS (backups n)]``.
    ``make``: the function that makes a table, given a name, a schema, a partitioning and the number of
    backups; the default makes a table whose rows are in this process. ``backups``: the number of backups, 0
    to 2, of a table for which the option isn't given."""

    format = "memory"

    def __init__(self, make: MakeTable = MemoryTable, backups: int = 0) -> None:
        self._make, self._default = make, backups

    def create(self, definition: TableDefinition) -> KeyedTable:
        """Make an empty table. Raises ProgrammingError for a definition without columns, with LOCATION
        or PARTITIONED BY, with another option than ``backups``, or with CLUSTERED BY of an unknown column or
        of a column of a nested type.
        """
        if definition.schema is None:
            raise ProgrammingError(f"table {definition.name}: USING memory needs columns or AS SELECT")
        if definition.location is not None:
            raise ProgrammingError(f"table {definition.name}: USING memory takes no LOCATION")
        backups = _backups(definition)
        if definition.partitioned_by:
            raise ProgrammingError(
                f"table {definition.name}: memory tables are placed by CLUSTERED BY, not PARTITIONED BY"
            )
        wanted = self._default if backups is None else backups
        return self._make(definition.name, definition.schema, partitioning_of(definition), wanted)


def _backups(definition: TableDefinition) -> int | None:
    """Return the value of the option ``backups``; None if it isn't given. Raises ProgrammingError for any
    other option, and for another value than 0, 1 or 2."""
    options = {name.lower(): value for name, value in definition.options.items()}
    unknown = sorted(options.keys() - {_BACKUPS})
    if unknown:
        raise ProgrammingError(
            f"table {definition.name}: USING memory takes no option {unknown[0]}; its option is {_BACKUPS}"
        )
    value = options.get(_BACKUPS)
    if value is not None and value not in _COUNTS:
        raise ProgrammingError(f"table {definition.name}: {_BACKUPS} must be 0, 1 or 2, not {value!r}")
    return None if value is None else int(value)


def partitioning_of(definition: TableDefinition) -> Partitioning | None:
    """Return the partitioning that CLUSTERED BY states; None without CLUSTERED BY. Without INTO n BUCKETS the
    number of partitions is DEFAULT_PARTITIONS. Raises ProgrammingError for an unknown column and for a column
    of a nested type."""
    if not definition.clustered_by:
        return None
    assert definition.schema is not None
    names = [name.lower() for name in definition.schema.names]
    missing = [name for name in definition.clustered_by if name.lower() not in names]
    if missing:
        raise ProgrammingError(
            f"table {definition.name}: CLUSTERED BY names no column `{missing[0]}`; "
            f"its columns are {', '.join(definition.schema.names)}"
        )
    columns = tuple(names.index(name.lower()) for name in definition.clustered_by)
    for field in map(definition.schema.field, columns):
        if pa.types.is_nested(field.type) or is_variant(field.type):
            raise ProgrammingError(f"table {definition.name}: `{field.name}` can't be a clustering key")
    return Partitioning(columns, definition.buckets or DEFAULT_PARTITIONS)
