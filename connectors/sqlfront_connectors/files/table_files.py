"""Tables that another program has, and whose rows are in files: for a writer that adds files to them."""

from collections.abc import Mapping

import msgspec
import pyarrow as pa

from sqlfront_connectors.files.format_options import FOREIGN
from sqlfront_connectors.files.table import FileTable
from sqlfront_connectors.files.version import FileVersion
from sqlfront_engine.file_access import FileAccess


class TableFiles(msgspec.Struct, frozen=True, array_like=True):
    """A table of another program's catalog, whose rows are in files of one directory. ``name``: catalog,
    database and name. ``location``: the absolute path of the directory. ``format``: the format of the files.
    ``options``: the options of the format. ``schema``: the logical names and types of the columns.
    ``defaulted``: the columns with a DEFAULT."""

    name: tuple[str, ...]
    location: str
    format: str
    options: Mapping[str, str]
    schema: pa.Schema
    defaulted: tuple[str, ...] = ()

    def table(self, access: FileAccess) -> FileTable:
        """Return a table for writing files into the directory. The table's snapshot has no files: present
        files are only listed if an overwrite replaces them, all of them as in Spark. ``access``: the files
        that may be opened."""
        options = {**self.options, FOREIGN: "true"}
        version = FileVersion(0, self.format, (), self.schema, pa.schema([]), self.schema, options)
        return FileTable(self.name[-1], self.location, version, access=access)
