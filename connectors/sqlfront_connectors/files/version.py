"""One version of a file table: which files, with which schema. Files that a later version no longer has are
deleted when nobody holds a version with them any more."""

import contextlib
import os
import weakref
from collections.abc import Mapping

import msgspec
import pyarrow as pa

from sqlfront_connectors.files.listing import DataFile
from sqlfront_connectors.files.partition_values import partition_value


class FileVersion(msgspec.Struct, frozen=True, eq=False, weakref=True):
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

    def delete_when_unread(self, paths: tuple[str, ...]) -> None:
        """Delete the files once this version is no longer referenced."""
        weakref.finalize(self, delete_files, paths)


def delete_files(paths: tuple[str, ...]) -> None:
    """Delete files that may already be gone."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
