"""The listing of the files of a location.

As in Spark the files in a directory itself are read, and the files in partition directories (``key=value``)
below it. Other directories are entered, too, but their files are read only with the option
``recursiveFileLookup`` or where partition directories exist. Names that begin with ``_`` or ``.`` are ignored
at every level, except partition directories such as ``_part=1``.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import msgspec

from sqlfront_connectors.files.commits import Pending, settled
from sqlfront_connectors.files.locations.listing_options import EVERY_FILE, ListingOptions
from sqlfront_connectors.files.locations.partition_directories import RawPartition, found_partitions
from sqlfront_connectors.files.locations.paths import compiled, expand, local_path
from sqlfront_engine.file_access import FileAccess
from sqlfront_values.errors import NotSupportedError, OperationalError

#: Names of Parquet files that hold the schema of the files beside them, and no rows.
SUMMARIES: Final = ("_common_metadata", "_metadata")

#: The names that Spark, Hadoop and this package's writer give the files of a table.
_PART: Final = re.compile(r"part-([mr]-)?[0-9]{5,}([-.]|$)")

#: The condition of a location that doesn't exist.
PATH_NOT_FOUND: Final = "PATH_NOT_FOUND"


class DataFile(msgspec.Struct, frozen=True, weakref=True):
    """A data file of a table, and the partition that the names of its directories state. ``path``: the
    absolute path; ``size``: in bytes.

    All versions of a table share one object per file: when no reference to the object is left, no reader
    needs the file any more.
    """

    path: str
    size: int
    partition: RawPartition = msgspec.field(default=())


class Listing(msgspec.Struct, frozen=True):
    """The files of a location. ``partitions``: the partitions that have files. ``files``: all data files,
    sorted by path, including empty files. ``described``: the files from which the columns are inferred: the
    data files, the metadata files of Parquet (which have no rows), and files outside of the partition
    directories, whose rows are not read."""

    partitions: tuple[RawPartition, ...] = ()
    files: tuple[DataFile, ...] = ()
    described: tuple[DataFile, ...] = ()

    @property
    def texts(self) -> tuple[DataFile, ...]:
        """The files from which columns are inferred, without the metadata files of Parquet."""
        return tuple(file for file in self.described if _is_data(os.path.basename(file.path)))

    @property
    def filled(self) -> tuple[DataFile, ...]:
        """The data files that are not empty."""
        return tuple(file for file in self.files if file.size)


def is_part(path: str) -> bool:
    """Return whether the file's name has the form that writers of tables, such as Spark, Hadoop and sqlfront,
    give their files.

    >>> is_part("/t/part-00000-6f1c.c000.snappy.parquet"), is_part("/t/part-numbers.csv")
    (True, False)
    """
    return _PART.match(os.path.basename(path)) is not None


def found_roots(location: str, access: FileAccess) -> list[str]:
    """Return the absolute paths of the existing files and directories that ``location`` (a path, URL or glob)
    names. Raises OperationalError: with PATH_NOT_FOUND if there is none, without condition if a directory
    can't be read."""
    path = local_path(location)
    with _listing(path):
        roots = [os.path.abspath(found) for found in expand(path, access)]
    if not roots:
        raise OperationalError(
            f"Path does not exist: file:{os.path.abspath(path)}.",
            condition=PATH_NOT_FOUND,
        )
    return roots


def list_files(
    location: str,
    access: FileAccess,
    options: ListingOptions = EVERY_FILE,
    pending: Pending | None = None,
) -> Listing:
    """Return the files of ``location`` (a file, directory or glob) that ``options`` choose. ``pending``: the
    changes that commits have still to carry out in a folder that the caller has locked; None = the folder is
    locked during the listing. Raises OperationalError (PATH_NOT_FOUND) for a location that doesn't exist."""
    path, roots = local_path(location), found_roots(location, access)
    with _listing(path):
        by_directory = _by_directory(roots, access, pending)
    chosen = _Chosen(options)
    with_data = [place for place, files in by_directory.items() if any(_is_data(file.name) for file in files)]
    partitions = {} if options.recursive else found_partitions(with_data, _bases(roots, options, access))
    if partitions or options.recursive:
        places: Iterable[str] = by_directory
    else:
        places = dict.fromkeys(root if os.path.isdir(root) else os.path.dirname(root) for root in roots)
    listed = [
        (DataFile(file.path, file.size, partitions.get(place, ())), file, place)
        for place in places
        for file in by_directory.get(place, ())
        if chosen.has(file)
    ]
    listed.sort(key=lambda each: each[0].path)
    data = [
        found
        for found, file, place in listed
        if _is_data(file.name) and (not partitions or place in partitions)
    ]
    described = tuple(found for found, _, _ in listed)
    return Listing(tuple(dict.fromkeys(partitions.values())), tuple(data), described)


@contextmanager
def _listing(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OperationalError(f"{path} can't be listed: {error.strerror}") from error


class _File(msgspec.Struct, frozen=True):
    """A file found on disk. ``name``: the name that the file has for a reader. ``size``: in bytes.
    ``modified``: the time of the last change, in microseconds since 1970."""

    path: str
    name: str
    size: int
    modified: int


class _Chosen:
    """A test of whether the listing options choose a file."""

    def __init__(self, options: ListingOptions) -> None:
        self._options = options
        glob = options.name_glob
        pattern = None if glob is None else compiled(glob)
        self._name = None if pattern is not None else glob
        self._pattern = pattern

    def has(self, file: _File) -> bool:
        """Return whether the options choose the file."""
        options = self._options
        if self._pattern is not None and not self._pattern.fullmatch(file.name):
            return False
        if self._name is not None and file.name != self._name:
            return False
        if options.before is not None and not file.modified < options.before:
            return False
        return options.after is None or file.modified > options.after


def _bases(roots: list[str], options: ListingOptions, access: FileAccess) -> frozenset[str]:
    """Return the directories below which names state partitions: the option basePath if it is given,
    otherwise the roots themselves, or the folder of a root that is a file. Raises OperationalError for a
    basePath that is not a directory, NotSupportedError for a basePath that isn't above all roots."""
    if options.base_path is None:
        return frozenset(root if os.path.isdir(root) else os.path.dirname(root) for root in roots)
    base = os.path.abspath(local_path(options.base_path))
    is_above = all(os.path.commonpath([base, root]) == base for root in roots)
    if not is_above:
        access.check(base)
    if not os.path.isdir(base):
        raise OperationalError(f"Option 'basePath' must be a directory: {base}")
    if not is_above:
        raise NotSupportedError("a basePath that does not contain all files")
    return frozenset((base,))


def _by_directory(
    roots: list[str], access: FileAccess, pending: Pending | None
) -> Mapping[str, Iterable[_File]]:
    """Return the files below all roots that are not hidden, by their directory. Committed changes count even
    if they are not carried out yet. ``pending``: these changes in the folder of a caller that has locked it;
    None = each root's folder is locked during the listing."""
    found: dict[str, dict[_File, None]] = {}
    for root in roots:
        if os.path.isdir(root):
            for directory, files in _settled_files(root, access, pending):
                found.setdefault(directory, {}).update(dict.fromkeys(files))
        elif not _is_hidden(os.path.basename(root)):
            found.setdefault(os.path.dirname(root), {})[_file(root, os.stat(root))] = None
    return found


def _settled_files(
    root: str, access: FileAccess, pending: Pending | None
) -> Iterator[tuple[str, list[_File]]]:
    if pending is None:
        with settled(_table_folder(root), access) as found:
            yield from _settled_files(root, access, found)
        return
    for directory, files in _walk(root, access):
        yield directory, [file for file in files if file.path not in pending.removed]
    for path, place in pending.moved.items():
        if os.path.commonpath([root, path]) == root:
            yield os.path.dirname(path), [_file(place, os.stat(place), os.path.basename(path))]


def _table_folder(path: str) -> str:
    """Return the folder of the table to which ``path`` belongs: ``path`` without the partition directories at
    its end."""
    while "=" in os.path.basename(path):
        path = os.path.dirname(path)
    return path


def _walk(directory: str, access: FileAccess) -> Iterator[tuple[str, list[_File]]]:
    files, below = [], []
    for name in access.names(directory):
        if _is_hidden(name):
            continue
        path = os.path.join(directory, name)
        try:
            found = os.stat(path)
        except FileNotFoundError:  # removed since, or a dangling link
            continue
        if stat.S_ISDIR(found.st_mode):
            below.append(path)
        else:
            files.append(_file(path, found))
    if files:
        yield directory, files
    for each in below:
        yield from _walk(each, access)


def _file(path: str, found: os.stat_result, name: str = "") -> _File:
    return _File(path, name or os.path.basename(path), found.st_size, found.st_mtime_ns // 1_000_000 * 1000)


def _is_hidden(name: str) -> bool:
    if name.startswith(SUMMARIES):
        return False
    return (name.startswith("_") and "=" not in name) or name.startswith(".") or name.endswith("._COPYING_")


def _is_data(name: str) -> bool:
    return not (name.startswith(".") or (name.startswith("_") and "=" not in name))
