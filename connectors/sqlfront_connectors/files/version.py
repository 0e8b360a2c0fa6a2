"""A version of a file table, with its files and schema."""

from collections.abc import Mapping

import msgspec
import pyarrow as pa

from sqlfront_connectors.files.locations.listing import DataFile
from sqlfront_connectors.files.locations.listing_options import EVERY_FILE, ListingOptions
from sqlfront_connectors.files.locations.partition_directories import RawPartition
from sqlfront_connectors.files.locations.partition_values import partition_value


class FileVersion(msgspec.Struct, frozen=True):
    """A version of a file table. ``number``: grows with each version. ``files``: the files that have the
    rows. ``data_schema``: the columns in the files. ``partition_schema``: the columns in the names of
    directories. ``schema``: all columns with logical types, the data columns first; a partition column that
    the files have as well is where the file's column would be.

    ``options``: the options of the format. ``known``: the registered partitions, the only ones whose files
    are listed; None = all partition directories. ``listing``: the options that choose the files.
    """

    number: int
    format: str
    files: tuple[DataFile, ...]
    data_schema: pa.Schema
    partition_schema: pa.Schema
    schema: pa.Schema
    options: Mapping[str, str] = msgspec.field(default_factory=dict)
    listing: ListingOptions = EVERY_FILE
    known: tuple[RawPartition, ...] | None = None

    @property
    def data_ordinals(self) -> tuple[int, ...]:
        """The ordinals, among all columns of the table, of the columns that the files have."""
        return tuple(self.schema.get_field_index(name) for name in self.data_schema.names)

    @property
    def partition_ordinals(self) -> tuple[int, ...]:
        """The ordinals in ``schema`` of the columns of ``partition_schema``."""
        return tuple(self.schema.get_field_index(name) for name in self.partition_schema.names)

    def partition_values(self, file: DataFile, time_zone: str) -> Mapping[int, object]:
        """Return the values of the partition columns for the file's rows, as Python values by the columns'
        ordinals in ``schema``. ``time_zone``: the time zone of times that state none. Raises OperationalError
        (INVALID_PARTITION_VALUE) for a directory's text that doesn't fit the column's type."""
        raw = {name.lower(): value for name, value in file.partition}
        return {
            ordinal: partition_value(raw.get(column.name.lower()), column.type, column.name, time_zone)
            for ordinal, column in zip(self.partition_ordinals, self.partition_schema, strict=True)
        }
