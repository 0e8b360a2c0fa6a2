"""Directories that a query's rows overwrite: INSERT OVERWRITE DIRECTORY."""

import os
from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from sqlfront_connectors.files.file_write import WRITTEN, FileWrite
from sqlfront_connectors.files.format_options import check_options
from sqlfront_connectors.files.json.json_format import check_writable
from sqlfront_connectors.files.locations.listing import DataFile
from sqlfront_connectors.files.locations.partition_values import column_exists
from sqlfront_connectors.files.locations.paths import local_path
from sqlfront_connectors.files.replacement import Replacement, begin_replacement
from sqlfront_connectors.files.schemas.variant_columns import check_variants, unsupported_type
from sqlfront_connectors.files.version import FileVersion
from sqlfront_engine.file_access import FileAccess
from sqlfront_values.errors import NotSupportedError, OperationalError
from sqlfront_values.functions.csv.settings import csv_settings
from sqlfront_values.types import VOID, ddl, is_interval, is_time

#: The empty file that says that all parts are there.
_SUCCESS: Final = "_SUCCESS"
#: Spark's names of the formats in messages.
_SHOWN: Final = {"csv": "CSV", "json": "JSON", "parquet": "Parquet"}


def absolute_path(location: str) -> str:
    """Return the absolute path of a location, which is a path or a ``file:`` URL; characters such as ``*``
    have no special meaning. Raises NotSupportedError for a URL of another file system, OperationalError for
    the root of the file system and for a directory that holds the current directory."""
    path = os.path.abspath(local_path(location))
    if path == os.path.dirname(path):
        raise OperationalError(f"{path} is the root of the file system, which nothing replaces")
    if holds(path, os.getcwd()):
        raise OperationalError(
            f"{path} is or holds the current directory, which nothing replaces: all its files would go"
        )
    return path


def holds(directory: str, path: str) -> bool:
    """Return whether ``path`` is the directory or lies below it, after all links in ``path`` and above
    the directory are resolved. If ``directory`` itself is a link, return False for paths below the
    link's target."""
    above, name = os.path.split(directory)
    whole = os.path.join(os.path.realpath(above), name)
    return os.path.commonpath([whole, os.path.realpath(path)]) == whole


class OutputDirectory:
    """A directory whose contents a query's rows replace (INSERT OVERWRITE DIRECTORY). ``path``: the absolute
    path on this machine."""

    def __init__(
        self, path: str, format_name: str, schema: pa.Schema, options: Mapping[str, str], access: FileAccess
    ) -> None:
        """Check the directory, format and columns; the constructor writes nothing. ``options``: the options
        of the format. Raises NotSupportedError for a format that can't be written and for unknown options,
        ProgrammingError if access to the path is denied, and Spark's errors for names and types of columns
        that the format can't store."""
        if format_name not in WRITTEN:
            raise NotSupportedError(f"writing files of the format {format_name} into a directory")
        self.path = path
        access.check(path)
        check_contents(format_name, schema, options)
        self._version = FileVersion(0, format_name, (), schema, pa.schema([]), schema, options)
        self._access = access

    def begin_insert(
        self, *, overwrite: bool = False, time_zone: str = "UTC", token: str | None = None
    ) -> FileWrite:
        """Begin to write rows. The commit replaces all contents of the directory, even if ``overwrite`` is
        False. ``time_zone``: the time zone of times that are written as text. ``token``: a text that the
        names of the written files have in common, None = each name is unique."""
        parts = _DirectoryParts(self.path, self._access)
        return FileWrite(f"directory {self.path}", self.path, self._version, parts, time_zone, token)


class _DirectoryParts:
    """The files that will replace a directory's contents, hidden until :meth:`publish`. The names of the
    files are unique, so that several writers may write files of one replacement."""

    first_number = 0

    def __init__(self, path: str, access: FileAccess) -> None:
        self._path, self._access = path, access
        self._replacement: Replacement | None = None

    def part(self, path: str) -> str:
        """Begin a file that will appear at ``path`` below the directory, and return the path at which to
        write it now."""
        return self._begun().part(path)

    def publish(self, files: tuple[DataFile, ...]) -> None:
        """Replace the directory's contents by all files begun so far, and an empty file ``_SUCCESS``.
        ``files`` is not used."""
        self.part(_SUCCESS)
        self._begun().commit()

    def _begun(self) -> Replacement:
        """Return the replacement of the directory, which the first call begins."""
        if self._replacement is None:
            self._replacement = begin_replacement(self._path, self._access)
        return self._replacement

    def abort(self) -> None:
        """Discard all files; do nothing if none was begun."""
        if self._replacement is not None:
            self._replacement.abort()


def check_contents(format_name: str, schema: pa.Schema, options: Mapping[str, str]) -> None:
    """Raise an error if files of the format can't store the columns of ``schema``, or can't be written with
    the ``options`` of the format: Spark's errors for names and types of columns, NotSupportedError for types
    and options that only Spark writes, ProgrammingError for a wrong value of an option."""
    _check_columns(format_name, schema)
    _check_options(format_name, options)


def _check_columns(format_name: str, schema: pa.Schema) -> None:
    """Raise Spark's error for a schema that files of the format can't store. Checked in Spark's order: no
    columns (EMPTY_SCHEMA_NOT_SUPPORTED_FOR_DATASOURCE), equal names (COLUMN_ALREADY_EXISTS), types
    (UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE). Raises NotSupportedError for types that only Spark writes."""
    shown = _SHOWN[format_name]
    if not len(schema) or any(_has_empty_struct(field.type) for field in schema):
        raise NotSupportedError(
            f"The {shown} datasource does not support writing empty or nested empty schemas. Please make "
            "sure the data schema has at least one or more column(s).",
            condition="EMPTY_SCHEMA_NOT_SUPPORTED_FOR_DATASOURCE",
        )
    seen: set[str] = set()
    for field in schema:
        if field.name.lower() in seen and format_name != "csv":
            raise column_exists(field.name)
        seen.add(field.name.lower())
    check_variants(format_name, schema)
    for field in schema:
        if format_name == "csv" and (field.type == VOID or pa.types.is_nested(field.type)):
            raise unsupported_type(shown, field)
        if format_name == "parquet" and _needs_spark(field.type):
            raise NotSupportedError(f"column `{field.name}` of type {ddl(field.type)} in Parquet files")


def _has_empty_struct(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind) and not kind.num_fields:
        return True
    return any(_has_empty_struct(inner) for inner in _inner_types(kind))


def _needs_spark(kind: pa.DataType) -> bool:
    """Return whether Parquet has no type for the values, so that Spark records the type in metadata of its
    own."""
    return (
        is_interval(kind)
        or is_time(kind)
        or kind == VOID
        or any(_needs_spark(inner) for inner in _inner_types(kind))
    )


def _inner_types(kind: pa.DataType) -> list[pa.DataType]:
    return [kind.field(index).type for index in range(kind.num_fields)] if pa.types.is_nested(kind) else []


def _check_options(format_name: str, options: Mapping[str, str]) -> None:
    """Raise NotSupportedError or ProgrammingError for options that the format doesn't know, or that have no
    valid value for writing."""
    if format_name == "csv":
        csv_settings(options)
    elif format_name == "json":
        check_writable(options)
    else:
        check_options(format_name, options)
