"""One version of a file table: which files, with which schema. Files that later versions no longer have are
deleted when nobody holds a version with them any more."""

import contextlib
import os
from collections.abc import Mapping

import msgspec
import pyarrow as pa

from sqlfront_connectors.files.listing import DataFile
from sqlfront_connectors.files.partition_values import partition_value
from sqlfront_engine.forks import when_forgotten


class FileVersion(msgspec.Struct, frozen=True):
    """``schema`` = ``data_schema`` followed by ``partition_schema`` (logical types)."""

    number: int
    format: str
    files: tuple[DataFile, ...]
    data_schema: pa.Schema
    partition_schema: pa.Schema
    schema: pa.Schema
    options: Mapping[str, str] = msgspec.field(default_factory=dict)

    def partition_values(self, file: DataFile) -> tuple[object, ...]:
        """The file's values of the partition columns, in schema order."""
        raw = {name.lower(): value for name, value in file.partition}
        return tuple(
            partition_value(raw.get(column.name.lower()), column.type) for column in self.partition_schema
        )


def delete_when_unread(file: DataFile, root: str | None = None) -> None:
    """Delete the file once no version of its table is referenced that has it; with ``root`` also its
    directories up to there, as far as they are empty."""
    when_forgotten(file, delete_file, file.path, root)


def delete_file(path: str, root: str | None = None) -> None:
    """Delete a file that may already be gone, and with ``root`` the directories that it leaves empty."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    directory = os.path.dirname(path)
    while root is not None and os.path.commonpath([root, directory]) == root:
        try:
            os.rmdir(directory)
        except OSError:  # something else is in it
            return
        directory = os.path.dirname(directory)
