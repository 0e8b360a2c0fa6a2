"""Tables of Spark whose rows are in files, for a writer that adds files to them without Spark.

The rows that Spark reads from such a table are those of the files in the table's directory, so that a file
that is moved into the directory adds rows. Spark is asked for the table's description before, and is told
afterwards that the files have changed. Of a table with PARTITIONED BY, Spark reads the registered partitions
only, so that it is told of the partitions, too.
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from sqlfront_connectors.files.directory import check_contents
from sqlfront_connectors.files.file_write import WRITTEN
from sqlfront_connectors.files.locations.listing_options import EVERY_FILE, listing_options
from sqlfront_connectors.files.locations.partition_directories import (
    NULL_DIRECTORY,
    escape,
    partition_below,
    unescape,
)
from sqlfront_connectors.files.locations.paths import is_glob, local_path
from sqlfront_connectors.files.table_files import TableFiles
from sqlfront_connectors.spark.failures import ours
from sqlfront_connectors.spark.types import DECLARED, logical_schema, quoted
from sqlfront_values.errors import NotSupportedError

if TYPE_CHECKING:
    from pyspark.sql import types as spark_types

    from sqlfront_connectors.spark.link import SparkLink

#: Spark's session catalog, whose tables this module describes.
_CATALOG: Final = "spark_catalog"
#: The kinds of relations that have rows of their own.
_TABLES: Final = ("MANAGED", "EXTERNAL")
#: An option that Hive's metastore adds to those of the table.
_OF_METASTORE: Final = "serialization.format"
#: The metadata key of the value that a column gets if an INSERT leaves the column out.
_DEFAULT: Final = "CURRENT_DEFAULT"
#: The setting by which INSERT OVERWRITE replaces all rows, or only the partitions that get rows.
_OVERWRITE_MODE: Final = "spark.sql.sources.partitionOverwriteMode"
#: Partitions that one statement registers or removes at most: Spark parses its text.
_AT_ONCE: Final = 1000
#: The values of a partition as texts, None for null.
_Values: TypeAlias = tuple[str | None, ...]
#: The words in the JSON form of a column that doesn't take nulls, in itself or inside of its values.
_NOT_NULL: Final = ('"nullable":false', '"containsNull":false', '"valueContainsNull":false')


def table_files(link: "SparkLink", name: Sequence[str]) -> TableFiles:
    """Return the description of a table of Spark into whose files rows can be put so that Spark reads the
    same rows as after an INSERT of its own. ``name``: the full name of a table or view, in parts without
    quotes. Raises TABLE_OR_VIEW_NOT_FOUND if there is no such table; NotSupportedError, which names the table
    and the obstacle, for a relation without files of its own, and for a table whose files only Spark can
    write."""
    shown = ".".join(map(quoted, name))
    if len(name) < len((_CATALOG, "database", "table")):
        raise _refused(shown, "a temporary view")
    if name[0] != _CATALOG:
        raise _refused(shown, f"a table of the catalog {name[0]}")
    if not link.has_driver_here:
        raise _refused(shown, "a table of a Spark server on another machine, whose files may be there")
    told = link.description(name)
    _check_kind(shown, told)
    with ours():
        fields = link.table(name).schema
    _check_fields(shown, fields)
    location, format_name, options = _location(shown, told), _format(told), _options(shown, told)
    try:
        schema = logical_schema(fields)
        check_contents(format_name, schema, options)
    except NotSupportedError as error:
        raise _refused(shown, error.message) from error
    defaulted = tuple(field.name for field in fields if _DEFAULT in field.metadata)
    columns = _partition_columns(told)
    if columns:
        _check_partitions(link, shown, told, name, location)
    return TableFiles(tuple(name), location, format_name, options, schema, defaulted, columns)


def check_overwrite(link: "SparkLink", files: TableFiles) -> None:
    """Raise NotSupportedError if Spark's own INSERT OVERWRITE would replace only the partitions that get
    rows, and not all rows of the table."""
    if files.partitioned and link.setting(_OVERWRITE_MODE).lower() == "dynamic":
        raise _refused(".".join(map(quoted, files.name)), f"INSERT OVERWRITE while {_OVERWRITE_MODE}=dynamic")


def register_partitions(link: "SparkLink", files: TableFiles, token: str, paths: Sequence[str]) -> None:
    """Register the partitions into which the files with ``token`` in their names were put, and remove those
    without a file from Spark's catalog: an INSERT OVERWRITE has replaced their files. Does nothing for a
    table without PARTITIONED BY; repetition does no harm. ``paths``: the files of the table."""
    if not files.partitioned:
        return
    reference = ".".join(map(quoted, files.name))
    known = link.partitions(files.name, files.partitioned)
    added: set[_Values] = set()
    filled: set[_Values] = set()
    for path in paths:
        values = _values(files, path)
        filled.add(values)
        if token in os.path.basename(path):
            added.add(values)
    with ours():
        for specs in _specs(files, added - known.keys()):
            link.analysed(f"ALTER TABLE {reference} ADD IF NOT EXISTS {' '.join(specs)}")
        for specs in _specs(files, known.keys() - filled):
            link.analysed(f"ALTER TABLE {reference} DROP IF EXISTS {', '.join(specs)}")


def _values(files: TableFiles, path: str) -> _Values:
    """Return the values, as texts, of the partition to which the file at ``path`` belongs."""
    found = dict(partition_below(files.location, path))
    texts = (found.get(name) for name in files.partitioned)
    return tuple(None if text is None else unescape(text) for text in texts)


def _specs(files: TableFiles, partitions: Collection[_Values]) -> Iterator[list[str]]:
    """Yield the clauses PARTITION (...) that name the partitions, as many at a time as one statement has."""
    clauses = sorted(_spec(files, values) for values in partitions)
    for first in range(0, len(clauses), _AT_ONCE):
        yield clauses[first : first + _AT_ONCE]


def _spec(files: TableFiles, values: _Values) -> str:
    """Return the clause PARTITION (...) that names a partition.

    >>> import pyarrow as pa
    >>> files = TableFiles(("spark_catalog", "a", "t"), "/t", "csv", {}, pa.schema([]), (), ("d", "e"))
    >>> _spec(files, ("it's", None))
    "PARTITION (`d` = 'it\\\\'s', `e` = NULL)"
    """
    given = zip(files.partitioned, values, strict=True)
    return f"PARTITION ({', '.join(f'{quoted(name)} = {_literal(value)}' for name, value in given)})"


def _literal(text: str | None) -> str:
    if text is None:
        return "NULL"
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def refresh_files(link: "SparkLink", files: TableFiles) -> None:
    """Have Spark forget what it has cached of the table's files and rows, and count the rows anew if the
    table has statistics. Repetition does no harm."""
    reference = ".".join(map(quoted, files.name))
    with ours():
        link.spark.catalog.refreshTable(reference)
        link.spark.catalog.refreshByPath(files.location)
        if "statistics" in link.description(files.name):
            link.analysed(f"ANALYZE TABLE {reference} COMPUTE STATISTICS")


def _refused(shown: str, obstacle: str) -> NotSupportedError:
    """Return the error for the relation ``shown``, a quoted name; ``obstacle``: what the relation is or
    has."""
    error = NotSupportedError(f"a durable job into {shown} of Spark: {obstacle}")
    error.hint = "run the INSERT without a job: Spark runs it"
    return error


def _check_kind(shown: str, told: Mapping[str, object]) -> None:
    """Raise NotSupportedError for a relation that is no table of files, and for a table whose files have
    places or names that only Spark knows. ``told``: Spark's description of the relation."""
    if told["type"] not in _TABLES:
        raise _refused(shown, f"a {str(told['type']).lower()}")
    if _format(told) not in WRITTEN:
        raise _refused(shown, f"a table of the format {_format(told)}")
    if "num_buckets" in told:
        raise _refused(shown, "a table with CLUSTERED BY ... INTO BUCKETS")


def _partition_columns(told: Mapping[str, object]) -> tuple[str, ...]:
    columns = told.get("partition_columns", ())
    assert isinstance(columns, list | tuple)
    return tuple(map(str, columns))


def _check_partitions(
    link: "SparkLink", shown: str, told: Mapping[str, object], name: Sequence[str], location: str
) -> None:
    """Raise NotSupportedError for a table whose partitions are no directories of the table that the catalog
    knows. ``told``: Spark's description of the table. ``location``: the table's directory."""
    if told.get("partition_provider") != "Catalog":
        raise _refused(shown, "a table with PARTITIONED BY whose partitions are not in Spark's catalog")
    columns = _partition_columns(told)
    try:
        found = link.partitions(name, columns)
    except NotSupportedError as error:
        raise _refused(shown, f"a table with PARTITIONED BY: {error.message}") from error
    for values, path in found.items():
        texts = (NULL_DIRECTORY if value is None else escape(value) for value in values)
        below = [f"{escape(column)}={text}" for column, text in zip(columns, texts, strict=True)]
        if os.path.normpath(path) != os.path.join(location, *below):
            raise _refused(shown, f"the partition {'/'.join(below)} with a LOCATION of its own")


def _format(told: Mapping[str, object]) -> str:
    return str(told.get("provider")).lower()


def _check_fields(shown: str, fields: "spark_types.StructType") -> None:
    """Raise NotSupportedError for a column that Spark itself checks or pads at each INSERT."""
    for field in fields:
        if DECLARED in field.metadata:
            raise _refused(shown, f"the column `{field.name}` of type {field.metadata[DECLARED]}")
        if any(words in field.json().replace(" ", "") for words in _NOT_NULL):
            raise _refused(shown, f"the column `{field.name}` that takes no nulls")


def _location(shown: str, told: Mapping[str, object]) -> str:
    location = str(told.get("location", ""))
    if not location:
        raise _refused(shown, "a table without a location of files")
    try:
        path = local_path(location)
    except NotSupportedError as error:
        raise _refused(shown, error.message) from error
    if is_glob(path):
        raise _refused(shown, f"the location {path}, which reads as a pattern")
    return os.path.abspath(path)


def _options(shown: str, told: Mapping[str, object]) -> Mapping[str, str]:
    """Return the options of the table's format. Raises NotSupportedError for an option by which Spark reads
    only some of the files."""
    given = told.get("storage_properties", {})
    assert isinstance(given, dict)
    wanted = {key: value for key, value in given.items() if key.lower() not in ("path", _OF_METASTORE)}
    listing, options = listing_options(wanted, "UTC")
    if listing != EVERY_FILE:
        raise _refused(shown, f"the options {', '.join(sorted(wanted.keys() - options.keys()))}")
    return options
