"""The connector of file tables, which determines a table's files and columns."""

import os
import re
import tempfile
import uuid
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from msgspec.structs import replace

from sqlfront_connectors.base import TableDefinition
from sqlfront_connectors.files.csv import csv_format
from sqlfront_connectors.files.format_options import check_options, merges_schemas
from sqlfront_connectors.files.json import json_format
from sqlfront_connectors.files.locations.listing import PATH_NOT_FOUND, Listing, found_roots, list_files
from sqlfront_connectors.files.locations.listing_options import ListingOptions, listing_options
from sqlfront_connectors.files.locations.partition_values import (
    check_partition_names,
    column_exists,
    partition_fields,
    partition_value,
)
from sqlfront_connectors.files.locations.paths import is_glob, local_path
from sqlfront_connectors.files.orc import orc_format
from sqlfront_connectors.files.parquet import parquet_format
from sqlfront_connectors.files.schemas.variant_columns import check_variants
from sqlfront_connectors.files.table import FileTable
from sqlfront_connectors.files.text import text_format
from sqlfront_connectors.files.text.text_format import text_settings
from sqlfront_connectors.files.version import FileVersion
from sqlfront_engine.memory import OperatorAccount
from sqlfront_values.errors import NotSupportedError, OperationalError, ProgrammingError
from sqlfront_values.functions.csv.settings import csv_settings
from sqlfront_values.functions.json.typed.settings import json_settings

#: Characters of a table's name in its folder's name: file systems allow 255 bytes, and a character may take
#: more than one.
_LONGEST_NAME: Final = 100


class FileConnector:
    """The connector of one file format: ``USING parquet|orc|csv|json|text [OPTIONS (...)] [LOCATION '...']
    [PARTITIONED BY (...)]``."""

    def __init__(self, format_name: str) -> None:
        self._format = format_name

    @property
    def format(self) -> str:
        """The name of the format: ``parquet``, ``orc``, ``csv``, ``json`` or ``text``."""
        return self._format

    def create(self, definition: TableDefinition) -> FileTable:
        """Make a table over the files at the location. Without LOCATION and without the option ``path``, make
        a new directory that the table owns. Raises NotSupportedError for CLUSTERED BY and for unsupported
        options and types, ProgrammingError for wrong options and if the columns can't be inferred,
        OperationalError for
        a missing location or unreadable files."""
        if definition.clustered_by:
            raise NotSupportedError(
                f"table {definition.name}: CLUSTERED BY with USING {self._format}; "
                "use USING memory, or CACHE TABLE ... CLUSTERED BY"
            )
        if definition.schema is not None:
            check_variants(self._format, definition.schema, definition.partitioned_by)
        given = {key: value for key, value in definition.options.items() if key.lower() != "path"}
        paths = [value for key, value in definition.options.items() if key.lower() == "path"]
        location = definition.location or (paths[-1] if paths else None)
        managed = location is None
        if location is None:
            home = definition.home or tempfile.gettempdir()
            name = re.sub(r"\W", "_", definition.name[:_LONGEST_NAME], flags=re.ASCII)  # never a path
            location = os.path.join(home, f"{name}-{uuid.uuid4()}")
        location = local_path(location)
        if not is_glob(location):
            definition.files.check(location)
        try:
            listing, options = listing_options(given, definition.time_zone)
            _check(self._format, options)
        except ProgrammingError:
            if not managed and not _may_be_missing(definition, location):
                found_roots(location, definition.files)  # Spark looks for the path first
            raise
        unseen = managed or (_learns_of_partitions(definition) and definition.schema is not None)
        files = Listing() if unseen else _listed(definition, location, listing)
        version = replace(self._version(definition, options, files), listing=listing)
        if self._format in ("parquet", "orc"):
            merges_schemas(options)  # Spark looks at the value when it knows the files
        if managed:
            os.makedirs(location)
        return FileTable(definition.name, location, version, managed=managed, access=definition.files)

    def _version(self, definition: TableDefinition, options: dict[str, str], files: Listing) -> FileVersion:
        if definition.schema is not None:
            _check_partition_values(files, definition.schema, definition.time_zone)
        found = partition_fields(files.partitions)
        learns = _learns_of_partitions(definition)
        if definition.schema is None:
            inferred = self._inferred(definition, options, files)
            data, partition, schema = _placed(inferred, found)
            # Spark's catalog keeps no partitions for a column that the files have as well as the directories.
            learns = learns and len(data) == len(inferred)
        else:
            data, partition = _split(definition, found)
            if not definition.catalogued:
                check_names(data)
            schema = pa.schema([*data, *partition])
            if self._format == "text":
                text_format.check_schema(data)
        check_partition_names(files.partitions)
        learns = learns and len(partition) > 0
        return FileVersion(
            0,
            self._format,
            () if learns else files.filled,
            data,
            partition,
            schema,
            options,
            known=() if learns else None,
        )

    def _inferred(self, definition: TableDefinition, options: dict[str, str], files: Listing) -> pa.Schema:
        """Return the columns of the files themselves, without partition columns. Raises ProgrammingError if
        there are no files to infer columns from, or for PARTITIONED BY."""
        if definition.partitioned_by:
            raise ProgrammingError(
                f"table {definition.name}: a CREATE TABLE without columns cannot say PARTITIONED BY; the "
                "partition columns are those of the directories",
                condition="SPECIFY_PARTITION_IS_NOT_ALLOWED",
            )
        if not files.described and self._format != "text":
            raise _no_schema(self._format)
        inferred = self._infer(definition, options, files)
        check_names(inferred)
        return inferred

    def _infer(self, definition: TableDefinition, options: dict[str, str], files: Listing) -> pa.Schema:
        access = definition.files
        match self._format:
            case "parquet":
                described = [file.path for file in files.described if file.size]
                if not described:
                    raise _no_schema(self._format)
                return parquet_format.infer_schema(described, options, access)
            case "orc":
                described = [file.path for file in files.described if file.size]
                if not described:
                    raise _no_schema(self._format)
                return orc_format.infer_schema(described, options, access)
            case "text":
                return text_format.SCHEMA
            case _:
                infer = csv_format.infer_schema if self._format == "csv" else json_format.infer_schema
                memory = OperatorAccount(
                    definition.memory, f"the search for the columns of {definition.name}"
                )
                try:
                    return infer(files.texts, options, access, memory)
                finally:
                    memory.close()


def _placed(inferred: pa.Schema, found: tuple[pa.Field, ...]) -> tuple[pa.Schema, pa.Schema, pa.Schema]:
    """Return the schemas of the data columns, of the partition columns, and of all columns in the table's
    order. ``inferred``: the files' columns; ``found``: the partition columns. A partition column takes the
    place of a file's column of the same name, other partition columns come last."""
    partitions = {field.name.lower(): field for field in found}
    data = [field for field in inferred if field.name.lower() not in partitions]
    schema = [partitions.pop(field.name.lower(), field) for field in inferred]
    return pa.schema(data), pa.schema(found), pa.schema([*schema, *partitions.values()])


def _check(format_name: str, options: dict[str, str]) -> None:
    """Raise ProgrammingError or NotSupportedError for an option that the format doesn't know, or whose value
    the format refuses."""
    if format_name == "json":
        json_settings(options)
    elif format_name == "csv":
        csv_settings(options)
    elif format_name == "text":
        text_settings(options)
    else:
        check_options(format_name, options)


def _listed(definition: TableDefinition, location: str, options: ListingOptions) -> Listing:
    """Return the files at a location. If the location doesn't exist, return an empty listing where
    :func:`_may_be_missing` allows it, else raise OperationalError."""
    try:
        return list_files(location, definition.files, options)
    except OperationalError as error:
        if error.condition != PATH_NOT_FOUND or not _may_be_missing(definition, location):
            raise
        return Listing()


def _may_be_missing(definition: TableDefinition, location: str) -> bool:
    """Return whether a table can be made although no file or directory exists at ``location``."""
    if definition.catalogued and not is_glob(location):
        return True  # without columns, the inference then reports the lack of files
    return not definition.must_exist and definition.schema is not None


def _learns_of_partitions(definition: TableDefinition) -> bool:
    """Return whether the table starts without partitions and has only those that INSERT and MSCK REPAIR TABLE
    add, as in Spark's catalog; False if the table has all partition directories at its location."""
    return definition.catalogued and (definition.schema is None or len(definition.partitioned_by) > 0)


def _no_schema(format_name: str) -> ProgrammingError:
    return ProgrammingError(
        f"Unable to infer schema for {format_name}: there are no files. It must be specified manually.",
        condition="UNABLE_TO_INFER_SCHEMA",
    )


def check_names(schema: pa.Schema) -> None:
    """Raise ProgrammingError (COLUMN_ALREADY_EXISTS) if two columns of the schema, or two fields of a struct
    in it, have names that are equal but for case."""
    _check_fields(list(schema))


def _check_fields(fields: Sequence[pa.Field]) -> None:
    seen: set[str] = set()
    for field in fields:
        if field.name.lower() in seen:
            raise column_exists(field.name)
        seen.add(field.name.lower())
        _check_type(field.type)


def _check_type(kind: pa.DataType) -> None:
    if pa.types.is_struct(kind):
        _check_fields([kind.field(index) for index in range(kind.num_fields)])
    elif pa.types.is_nested(kind):
        for index in range(kind.num_fields):
            _check_type(kind.field(index).type)


def _check_partition_values(files: Listing, declared: pa.Schema, time_zone: str) -> None:
    """Raise OperationalError (INVALID_PARTITION_VALUE) if the text of a partition directory doesn't fit the
    type that ``declared`` gives to its column."""
    fields = {field.name.lower(): field for field in declared}
    for name, text in dict.fromkeys(pair for values in files.partitions for pair in values):
        field = fields.get(name.lower())
        if field is not None:
            partition_value(text, field.type, field.name, time_zone)


def _split(definition: TableDefinition, found: tuple[pa.Field, ...]) -> tuple[pa.Schema, pa.Schema]:
    """Divide the declared schema into the data columns and the partition columns. ``found``: the partition
    columns in the names of directories; they are partition columns, too, declared or not. A partition column
    may be declared twice (the last declaration counts). Raises ProgrammingError if PARTITIONED BY names an
    undeclared column."""
    assert definition.schema is not None
    wanted = [name.lower() for name in definition.partitioned_by] or [field.name.lower() for field in found]
    declared = {field.name.lower(): field for field in definition.schema}
    missing = [name for name in definition.partitioned_by if name.lower() not in declared]
    if missing:
        raise ProgrammingError(
            f"table {definition.name}: PARTITIONED BY names no column `{missing[0]}`; "
            f"its columns are {', '.join(definition.schema.names)}",
            condition="COLUMN_NOT_DEFINED_IN_TABLE",
        )
    extra = {field.name.lower(): field for field in found if field.name.lower() not in declared}
    partition = [(declared | extra)[name] for name in dict.fromkeys([*wanted, *extra])]
    data = [field for field in definition.schema if field.name.lower() not in wanted]
    return pa.schema(data), pa.schema(partition)
