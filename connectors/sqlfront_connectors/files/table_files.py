"""Tables in another program's catalog whose rows are in files, described for a writer that adds files to
them."""

from collections.abc import Mapping

import msgspec
import pyarrow as pa

from sqlfront_connectors.files.format_options import FOREIGN
from sqlfront_connectors.files.table import FileTable
from sqlfront_connectors.files.version import FileVersion
from sqlfront_engine.file_access import FileAccess


class TableFiles(msgspec.Struct, frozen=True, array_like=True):
    """The description of a table in another program's catalog, whose rows are in files of one directory.
    ``name``: catalog, database and name. ``location``: the absolute path of the directory. ``format``: the
    name of the files' format, such as ``parquet``. ``options``: the options of the format, by name.
    ``schema``: the logical names and types of the columns. ``defaulted``: the names of the columns with a
    DEFAULT. ``partitioned``: the names of the columns whose values are in the names of directories."""

    name: tuple[str, ...]
    location: str
    format: str
    options: Mapping[str, str]
    schema: pa.Schema
    defaulted: tuple[str, ...] = ()
    partitioned: tuple[str, ...] = ()

    def table(self, access: FileAccess) -> FileTable:
        """Return a table by which sqlfront writes files into the directory. The table is not for reading: its
        snapshot has no files. The files that are in the directory are listed only by an overwrite, which
        replaces all of them, as Spark's does. ``access``: the files that may be opened."""
        options = {**self.options, FOREIGN: "true"}
        in_names = pa.schema([self.schema.field(name) for name in self.partitioned])
        in_files = pa.schema([field for field in self.schema if field.name not in self.partitioned])
        version = FileVersion(0, self.format, (), in_files, in_names, self.schema, options)
        return FileTable(self.name[-1], self.location, version, access=access)
