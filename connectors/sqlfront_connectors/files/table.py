"""File tables: ``CREATE TABLE ... USING parquet|csv|json`` and ``parquet.`path` ``."""

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
    """One version of a file table."""

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
        """``rows`` is the sum of the row counts in the footers of Parquet files, unknown for other formats.
        ``size`` is an estimate of the bytes in memory, by the files' sizes. Without column statistics.
        Computed on first use."""
        if self._statistics is None:
            size = sum(file.size for file in self.files.files)
            self._statistics = TableStatistics(rows=self._rows(), size=size * EXPANSION)
        return self._statistics

    def _rows(self) -> int | None:
        if self.files.format != "parquet":
            return None
        return sum(parquet_format.row_count(file.path, self._access) for file in self.files.files)

    def exact_filters(self, filters: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return no filter: filters only skip files and row groups."""
        return ()

    def pieces(self, request: ScanRequest) -> tuple[ScanPieces, ...]:
        """Return the numbers of files, row groups and stripes of a scan, see :meth:`FileScan.pieces`; opens
        the footers of Parquet and ORC files."""
        return FileScan(self.files, self._name, request.columns, request.filters).pieces(self._access)

    def scan(self, request: ScanRequest) -> ScanPlan:
        """Return the plan of a scan that skips the files and row groups without rows for the filters; rows
        that don't match may remain. The scan can run on all members if every member may open the files,
        otherwise on the coordinator."""
        source = FileScan(self.files, self._name, request.columns, request.filters, request.limit)
        is_shared = self._access.is_shared(file.path for file in self.files.files)
        return ScanPlan(source, location=Location.ANYWHERE if is_shared else Location.HERE)


class FileTable:
    """A table of the files in a directory. ``managed``: the table owns the directory and removes it when
    dropped. ``access``: the files that may be opened for the table. Every insert calls ``on_insert`` after
    its files have appeared."""

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
        """The logical schema, data and partition columns in the order of :class:`FileVersion`."""
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
        """Return a context manager within which no other thread publishes a version."""
        return self._writer

    def widened(self, fields: Sequence[pa.Field]) -> "FileTable":
        """A table over the same files with more columns, before the partition columns that stand last; the
        files that are there have null in these. The caller has the turn, and retires this table when the
        other one takes its place."""
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
        """Refuse all further writes, since another table has taken this one's place. The caller has the
        turn."""
        self._retired = True

    def refresh(self) -> None:
        """List the files anew (REFRESH TABLE)."""
        with self._writer:
            self._publish(self._listed(self.version.known))

    def recover_partitions(self) -> None:
        """List the files of all partition directories that exist (MSCK REPAIR TABLE). If the table reads
        known partitions only, the partitions found become the known ones."""
        with self._writer:
            names = [name.lower() for name in self.partition_columns]
            found = [
                file for file in self._listed(None) if [name.lower() for name, _ in file.partition] == names
            ]
            known = tuple(dict.fromkeys(file.partition for file in found))
            self._publish(tuple(found), None if self.version.known is None else known)
        self.on_insert()

    def _listed(self, known: tuple[RawPartition, ...] | None) -> tuple[DataFile, ...]:
        """Return the files in the directory that are not empty; with ``known``, only the files of these
        partitions, None = of all. A file that the current version has keeps its object. A missing directory
        has no files."""
        try:
            found = list_files(self.location, self.access, self.version.listing).filled
        except OperationalError as error:
            if error.condition != PATH_NOT_FOUND:
                raise
            return ()
        before = {file: file for file in self.version.files}
        return tuple(before.get(file, file) for file in found if known is None or file.partition in known)

    def drop(self) -> None:
        """Publish a version without files. For a managed table, also remove each file once no reader holds
        it, and then the directory; files that no table's writer has made stay."""
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
        SELECT refuses such a location. Remains of a dead writer don't count."""
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
        """Start an insert; its commit lets the files appear together, beside the present files or with
        ``overwrite`` instead of them. ``time_zone``: the time zone of times written as text. ``token``: a
        text in the names of the files, by which :meth:`has_files_of` finds the files. Raises
        NotSupportedError for a format that can't be written."""
        if self.format not in WRITTEN:
            raise NotSupportedError(f"table {self.name}: writing files of the format {self.format}")
        parts = _TableParts(self, overwrite=overwrite)
        return FileWrite(f"table {self.name}", self.location, self.version, parts, time_zone, token)

    def has_files_of(self, token: str) -> bool:
        """Whether the directory has files of the insert with the token, see :func:`has_files_of`."""
        return has_files_of(self.location, token, self.access)

    def adopt(self, version: FileVersion) -> None:
        """Make ``version``, which another session has published, the current version; do nothing if it is
        not newer than the current version. No writer of this session is awaited: a writer may wait for the
        thread that hears of other sessions, and calls this method."""
        with self._adopting:
            if version.number > self.version.number:
                self._current = FileSnapshot(self.name, version, self.access)

    def add_files(self, write: FolderWrite, files: tuple[DataFile, ...], *, overwrite: bool) -> None:
        """Let the written files appear, and publish a version with the present and the written files, or only
        the latter. An overwrite replaces all present files, no matter which program has written them."""
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
        """Return the files that an overwrite removes: all visible files below the table's directory. Unless
        the table may replace foreign files, raises OperationalError for a file whose name no table's writer
        gives, and for a file in a folder that the table doesn't read."""
        known = {file.path: file for file in self.version.files}
        found = list_files(self.location, self.access, ListingOptions(recursive=True), pending).described
        foreign = [file.path for file in found if not is_part(file.path) or not self._reads(file.path)]
        if foreign and not replaces_foreign_files(self.version.options):
            raise foreign_files(self.name, self.location, foreign)
        return tuple(known.get(file.path, file) for file in found)

    def _reads(self, path: str) -> bool:
        """Return whether the file is in a folder of the table: the table's own folder, or a partition's.
        Further folders below may belong to other tables."""
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
    """Whether a directory has files of the insert with the token: all of them, since they appear together.
    Raises OperationalError if the directory can't be listed."""
    with contextlib.suppress(OSError, Error):
        finish_dead(location, access)
    try:
        found = list_files(location, access, ListingOptions(recursive=True))
    except OperationalError as error:
        if error.condition != PATH_NOT_FOUND:
            raise
        return False
    return any(token in os.path.basename(file.path) for file in found.files)


def _nothing() -> None:
    """Do nothing: the default of ``on_insert``, for a table of one session."""


class _TableParts:
    """The parts of an insert into a table, hidden in the table's folder until they are published."""

    def __init__(self, table: FileTable, *, overwrite: bool) -> None:
        self._table, self._overwrite = table, overwrite
        self._write: FolderWrite | None = None

    @property
    def first_number(self) -> int:
        """See :meth:`~sqlfront_connectors.files.file_write.Parts.first_number`. The order of the files' names
        in a folder is the order of their insertion."""
        return 0 if self._overwrite else len(self._table.version.files)

    def part(self, path: str) -> str:
        """See :meth:`~sqlfront_connectors.files.file_write.Parts.part`."""
        return self._begun().part(path)

    def publish(self, files: tuple[DataFile, ...]) -> None:
        """See :meth:`~sqlfront_connectors.files.file_write.Parts.publish`."""
        self._table.add_files(self._begun(), files, overwrite=self._overwrite)

    def _begun(self) -> FolderWrite:
        """The write, begun when it is first needed."""
        if self._write is None:
            self._write = FolderWrite(self._table.location, self._table.access)
        return self._write

    def abort(self) -> None:
        """See :meth:`~sqlfront_connectors.files.file_write.Parts.abort`."""
        if self._write is not None:
            self._write.abort()
