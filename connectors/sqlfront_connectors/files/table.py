"""File tables: ``CREATE TABLE ... USING parquet|orc|csv|json|text`` and ``parquet.`path` ``."""

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import pyarrow as pa
from msgspec.structs import replace

from sqlfront_connectors.base import (
    Location,
    Partitioning,
    ScanPieces,
    ScanPlan,
    ScanRequest,
    TableStatistics,
    superseded,
)
from sqlfront_connectors.files.commits import FolderWrite, Pending, drop_when_unread, finish_dead
from sqlfront_connectors.files.contents import EXPANSION
from sqlfront_connectors.files.failures import foreign_files
from sqlfront_connectors.files.file_write import WRITTEN, FileWrite
from sqlfront_connectors.files.format_options import replaces_foreign_files
from sqlfront_connectors.files.locations.listing import PATH_NOT_FOUND, DataFile, is_part, list_files
from sqlfront_connectors.files.locations.listing_options import ListingOptions
from sqlfront_connectors.files.locations.partition_directories import RawPartition
from sqlfront_connectors.files.parquet import parquet_format
from sqlfront_connectors.files.scan import FileScan
from sqlfront_connectors.files.version import FileVersion
from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_values.errors import Error, NotSupportedError, OperationalError, ProgrammingError
from sqlfront_values.expressions import Expr


class FileSnapshot:
    """One version of a file table. ``files``: the description of the version, with its files and schema."""

    def __init__(self, name: str, version: FileVersion, access: FileAccess) -> None:
        self._name = name
        self._access = access
        self.files = version
        self._statistics: TableStatistics | None = None

    @property
    def version(self) -> int:
        """A number that grows with every insert and refresh."""
        return self.files.number

    @property
    def statistics(self) -> TableStatistics:
        """The statistics of this version, computed on first use. ``rows``: the sum of the row counts in the
        footers of Parquet files, None for other formats. ``size``: an estimate of the bytes in memory, from
        the files' sizes. There are no column statistics."""
        if self._statistics is None:
            size = sum(file.size for file in self.files.files)
            self._statistics = TableStatistics(rows=self._rows(), size=size * EXPANSION)
        return self._statistics

    def _rows(self) -> int | None:
        if self.files.format != "parquet":
            return None
        return sum(parquet_format.row_count(file.path, self._access) for file in self.files.files)

    def exact_filters(self, filters: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return no filter: a scan only leaves out files and row groups by the filters, so that the plan has
        to apply all of them."""
        return ()

    def pieces(self, request: ScanRequest) -> tuple[ScanPieces, ...]:
        """Return the number of files that a scan for ``request`` reads, and of all files. For Parquet and
        ORC, whose footers are read for that, also return the number of row groups or stripes that the scan
        reads, and of all row groups or stripes in the files that it reads."""
        return FileScan(self.files, self._name, request.columns, request.filters).pieces(self._access)

    def scan(self, request: ScanRequest) -> ScanPlan:
        """Return the plan of a scan that leaves out files and row groups without matching rows; emitted rows
        need not match the filters. The scan can run on every member if all members can open the files,
        otherwise only on the member that coordinates the job."""
        source = FileScan(self.files, self._name, request.columns, request.filters, request.limit)
        is_shared = self._access.is_shared(file.path for file in self.files.files)
        return ScanPlan(source, location=Location.ANYWHERE if is_shared else Location.HERE)


class FileTable:
    """A table of the files in a directory. ``managed``: the table owns the directory, and removes it when the
    table is dropped. ``access``: the files that may be opened for the table. Inserts and MSCK REPAIR TABLE
    call the function ``on_insert`` after they have published a version."""

    #: No partitioning: files have no hash partitions.
    partitioning: Partitioning | None = None

    def __init__(
        self,
        name: str,
        location: str,
        version: FileVersion,
        *,
        managed: bool = False,
        access: FileAccess = EVERYWHERE,
    ) -> None:
        self.name = name
        self.location = location
        self.managed = managed
        self.access = access
        self.on_insert: Callable[[], None] = _nothing
        # Held by one thread, which may take it again.
        self._writer = threading.RLock()
        self._retired = False
        # Held only for a moment, also by the thread that hears of other sessions' changes.
        self._adopting = threading.Lock()
        # Invariant: replaced as a whole under _adopting; readers take the reference once.
        self._current = FileSnapshot(name, version, access)

    @property
    def schema(self) -> pa.Schema:
        """The logical types and names of all columns: the data columns, then the partition columns; a
        partition column that the files have as well is at the place of the files' column."""
        return self.version.schema

    @property
    def format(self) -> str:
        """The name of the files' format: ``parquet``, ``csv``, ..."""
        return self.version.format

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The names of the Hive partition columns."""
        return tuple(self.version.partition_schema.names)

    def snapshot(self) -> FileSnapshot:
        """Return the current version: the files of the last listing, insert or refresh."""
        return self._current

    def turn(self) -> AbstractContextManager[object]:
        """Return a context manager that gives the current thread the exclusive right to publish versions:
        within its block no other thread publishes one, except by :meth:`adopt`."""
        return self._writer

    def widened(self, fields: Sequence[pa.Field]) -> "FileTable":
        """Return a new table over the same files, with the additional columns ``fields``: after the other
        columns, but before the partition columns at the end. Rows of existing files have null in these
        columns. The caller has to be in a block of :meth:`turn`, in which no other thread writes, and calls
        :meth:`retire` when the new table replaces this one in the catalog."""
        last = self.version
        ahead = len(last.schema)
        while ahead and last.schema.names[ahead - 1] in last.partition_schema.names:
            ahead -= 1
        whole = list(last.schema)
        version = replace(
            last,
            number=last.number + 1,
            data_schema=pa.schema([*last.data_schema, *fields]),
            schema=pa.schema([*whole[:ahead], *fields, *whole[ahead:]]),
        )
        return FileTable(self.name, self.location, version, managed=self.managed, access=self.access)

    def retire(self) -> None:
        """Refuse all further writes to this table, because another table replaces it in the catalog. The
        caller has to be in a block of :meth:`turn`, in which no other thread writes."""
        self._retired = True

    def refresh(self) -> None:
        """List the files again, and publish a version with the files found (REFRESH TABLE)."""
        with self._writer:
            self._publish(self._listed(self.version.known))

    def recover_partitions(self) -> None:
        """List the files in all existing partition directories, and publish a version with the files found
        (MSCK REPAIR TABLE). If the table has only registered partitions, the partitions found become the
        registered ones."""
        with self._writer:
            names = [name.lower() for name in self.partition_columns]
            found = [
                file for file in self._listed(None) if [name.lower() for name, _ in file.partition] == names
            ]
            known = tuple(dict.fromkeys(file.partition for file in found))
            self._publish(tuple(found), None if self.version.known is None else known)
        self.on_insert()

    def _listed(self, known: tuple[RawPartition, ...] | None) -> tuple[DataFile, ...]:
        """Return the files in the directory that are not empty. ``known``: only the files of these
        partitions, None = of all. A file that the current version has, too, is the same object as there. If
        the directory is missing, there are no files."""
        try:
            found = list_files(self.location, self.access, self.version.listing).filled
        except OperationalError as error:
            if error.condition != PATH_NOT_FOUND:
                raise
            return ()
        before = {file: file for file in self.version.files}
        return tuple(before.get(file, file) for file in found if known is None or file.partition in known)

    def drop(self) -> None:
        """Publish a version without files. For a managed table, also remove each file as soon as no reader of
        this process uses it, and then the directory; only files whose names have the form that writers of
        tables give are removed."""
        with self._writer:
            last = self.version
            self._publish(())
        if self.managed:
            own = [(file, file.path) for file in last.files if is_part(file.path)]
            with contextlib.suppress(OSError, Error):
                finish_dead(self.location, self.access)
                if not own:
                    os.rmdir(self.location)
            drop_when_unread(self.location, self.access, own)

    def check_empty(self) -> None:
        """Raise ProgrammingError if the directory has any entry, hidden or not: Spark's CREATE TABLE AS
        SELECT refuses such a location. Files left by writers whose process has ended are removed first."""
        with contextlib.suppress(OSError):
            finish_dead(self.location, self.access)
        try:
            names = self.access.names(self.location)
        except OSError:  # missing, or not a directory
            return
        if names:
            raise ProgrammingError(
                f"CREATE-TABLE-AS-SELECT cannot create table with location to a non-empty directory"
                f" file://{os.path.abspath(self.location)}.",
                condition="_LEGACY_ERROR_TEMP_1241",
            )

    def begin_insert(
        self, *, overwrite: bool = False, time_zone: str = "UTC", token: str | None = None
    ) -> "FileWrite":
        """Start an insert, whose commit makes all files of the insert visible at once: beside the present
        files, or with ``overwrite`` in place of them. ``time_zone``: the time zone of timestamps written as
        text. ``token``: a text that the files' names contain and by which :meth:`has_files_of` finds the
        files; None = each name is unique. Raises NotSupportedError for a format that can't be written."""
        if self.format not in WRITTEN:
            raise NotSupportedError(f"table {self.name}: writing files of the format {self.format}")
        parts = _TableParts(self, overwrite=overwrite)
        return FileWrite(f"table {self.name}", self.location, self.version, parts, time_zone, token)

    def has_files_of(self, token: str) -> bool:
        """Return whether the directory has the files of the insert whose ``token`` was passed to
        :meth:`begin_insert`."""
        return has_files_of(self.location, token, self.access)

    def adopt(self, version: FileVersion) -> None:
        """Make ``version``, which another session has published, the current version; do nothing if it is not
        newer than the current one. This method doesn't wait for :meth:`turn`: the writer in a block of
        :meth:`turn` may itself be waiting for the thread that receives other sessions' changes and calls this
        method."""
        with self._adopting:
            if version.number > self.version.number:
                self._current = FileSnapshot(self.name, version, self.access)

    def add_files(self, write: FolderWrite, files: tuple[DataFile, ...], *, overwrite: bool) -> None:
        """Commit the write, and publish a version with the written files ``files``: beside the present files,
        or with ``overwrite`` in place of all present files, whichever program has written them. Raises
        OperationalError if the table is retired, or if an overwrite would remove files that must stay."""
        with self._writer, write.alone() as pending:
            if self._retired:
                raise superseded(self.name)
            replaced = self._replaced(pending) if overwrite else ()
            write.commit([file.path for file in replaced])
            last = self.version
            listed = files if overwrite else last.files + files
            known = None if last.known is None else (*last.known, *(file.partition for file in files))
            self._publish(listed, None if known is None else tuple(dict.fromkeys(known)))
        try:
            self.on_insert()
        finally:
            write.remove_when_unread([(file, file.path) for file in replaced])

    def _replaced(self, pending: Pending) -> tuple[DataFile, ...]:
        """Return the files that an overwrite removes: all files below the table's directory that are not
        hidden. Unless the option overwriteForeignFiles is true, raise OperationalError if one of them has not
        the name of a writer's file, or is in a folder that the table doesn't read. ``pending``: the changes
        that commits have still to carry out."""
        known = {file.path: file for file in self.version.files}
        found = list_files(self.location, self.access, ListingOptions(recursive=True), pending).described
        foreign = [file.path for file in found if not is_part(file.path) or not self._reads(file.path)]
        if foreign and not replaces_foreign_files(self.version.options):
            raise foreign_files(self.name, self.location, foreign)
        return tuple(known.get(file.path, file) for file in found)

    def _reads(self, path: str) -> bool:
        """Return whether the file at ``path`` is in the table's directory itself or in a partition directory
        (or anywhere below with recursiveFileLookup). Other folders below may belong to other tables."""
        below = os.path.relpath(os.path.dirname(path), os.path.abspath(self.location))
        return (
            below == os.curdir
            or self.version.listing.recursive
            or all("=" in name for name in below.split(os.sep))
        )

    def _publish(self, files: tuple[DataFile, ...], known: tuple[RawPartition, ...] | None = None) -> None:
        with self._adopting:
            last = self.version
            version = replace(last, number=last.number + 1, files=files, known=known or last.known)
            self._current = FileSnapshot(self.name, version, self.access)

    @property
    def version(self) -> FileVersion:
        """The current version."""
        return self._current.files


def has_files_of(location: str, token: str, access: FileAccess) -> bool:
    """Return whether the directory ``location`` has the files of the insert with the token ``token``: True if
    any file's name has the token, since all files of an insert appear at once; False if the directory doesn't
    exist. Raises OperationalError if the directory can't be listed."""
    return any(token in os.path.basename(path) for path in visible_files(location, access))


def visible_files(location: str, access: FileAccess) -> tuple[str, ...]:
    """Return the paths of all files in the directory ``location`` and below that readers see, after the
    commits of dead writers are completed; empty if the directory doesn't exist. Raises OperationalError if
    the directory can't be listed."""
    with contextlib.suppress(OSError, Error):
        finish_dead(location, access)
    try:
        found = list_files(location, access, ListingOptions(recursive=True))
    except OperationalError as error:
        if error.condition != PATH_NOT_FOUND:
            raise
        return ()
    return tuple(file.path for file in found.files)


def _nothing() -> None:
    """Do nothing; the value of ``on_insert`` for a table that only one session uses."""


class _TableParts:
    """The files of an insert into a table, in a hidden folder of the table's directory until
    :meth:`publish`."""

    def __init__(self, table: FileTable, *, overwrite: bool) -> None:
        self._table, self._overwrite = table, overwrite
        self._write: FolderWrite | None = None

    @property
    def first_number(self) -> int:
        """The number in the name of the first file that the insert writes: the number of present files, so
        that the names sort in the order of insertion; 0 for an overwrite."""
        return 0 if self._overwrite else len(self._table.version.files)

    def part(self, path: str) -> str:
        """Begin a file that will appear at ``path`` below the table's directory, and return the path at which
        to write it now."""
        return self._begun().part(path)

    def publish(self, files: tuple[DataFile, ...]) -> None:
        """Make all files visible, and publish a version of the table with them. ``files``: the files with
        their final paths."""
        self._table.add_files(self._begun(), files, overwrite=self._overwrite)

    def _begun(self) -> FolderWrite:
        """Return the write to the table's directory, which the first call begins."""
        if self._write is None:
            self._write = FolderWrite(self._table.location, self._table.access)
        return self._write

    def abort(self) -> None:
        """Discard the files, unless they are published."""
        if self._write is not None:
            self._write.abort()
