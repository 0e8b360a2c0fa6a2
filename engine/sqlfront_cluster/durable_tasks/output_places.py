"""Outputs of durable jobs' tasks on members' own disks, wherever they are: files of this member, and those
of other members, which are read over the network by ranges of bytes.

The URL of such a file is ``member://NAME/INCARNATION/JOB/FILE``. A reader has one request under way at a
time, for at most :data:`MOST_BYTES`, and so does not overtake its own work.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront_cluster import codec
from sqlfront_cluster.durable_tasks.member_disk import MemberDisk, is_output_name
from sqlfront_cluster.members.protocol.member_list import CHANGED, MemberList
from sqlfront_cluster.members.questions.requests import Wait
from sqlfront_engine.file_access import FileAccess
from sqlfront_engine.spool.places import is_on_member, member_of
from sqlfront_engine.spool.reading import SpoolDamaged
from sqlfront_engine.storage.addresses import located
from sqlfront_engine.storage.folders import FileFolder
from sqlfront_engine.storage.growing_file import GrowingFile
from sqlfront_values import room
from sqlfront_values.errors import Error, OperationalError

#: Bytes of a file that one answer has at most.
MOST_BYTES: Final = 2**20
#: Bytes that a reader requests at least: neighbouring buckets are small.
_READ_AHEAD: Final = 2**18
#: Seconds for which a reader waits for a member that is in the cluster and does not answer.
PATIENCE: Final = 60.0
#: Seconds between two attempts.
_PAUSE: Final = 0.05
#: The SQLSTATE of a connection that is lost, or that does not exist at present.
LOST: Final = "08006"


# ---- questions and answers


class ReadOutput(msgspec.Struct, frozen=True, tag=True):
    """A question for bytes of a file on a member's disk. ``incarnation``: of the member's process that has
    written the file; ``job`` and ``file``: the names of the job's folder and of the file. ``offset``: of the
    first byte, counted from the end of the file if it is negative. ``length``: the most bytes of the answer.
    """

    incarnation: str
    job: str
    file: str
    offset: int
    length: int


class OutputBytes(msgspec.Struct, frozen=True):
    """The answer to :class:`ReadOutput`. ``size``: the size of the file in bytes, None = there is no such
    file. ``data``: the bytes from the ``offset`` on. ``problem``: the system's words if the file can't be
    read; empty = it can."""

    size: int | None
    offset: int = 0
    data: bytes = b""
    problem: str = ""


def read_output(disk: MemberDisk, question: ReadOutput) -> OutputBytes:
    """Answer a question for bytes of a file on the disk; at most :data:`MOST_BYTES`."""
    folder = None
    if question.incarnation == disk.incarnation and is_output_name(question.file):
        folder = disk.folder(question.job)
    if folder is None:
        return OutputBytes(None)
    try:
        with open(folder.path(question.file), "rb") as file:
            size = file.seek(0, 2)
            wanted = question.offset + size if question.offset < 0 else question.offset
            offset = min(max(0, wanted), size)
            file.seek(offset)
            return OutputBytes(size, offset, file.read(max(0, min(question.length, MOST_BYTES))))
    except FileNotFoundError:
        return OutputBytes(None)
    except OSError as error:
        return OutputBytes(0, problem=error.strerror or str(error))


# ---- reading


#: A function that sends each member, by its name, a question for its service for durable tasks, and returns
#: the answers by name. Raises OperationalError with the SQLSTATE 08006 without a connection, 40001 if the
#: cluster has changed, and the error by which the wait ends.
AskMembers = Callable[[Mapping[str, bytes], Wait], Mapping[str, bytes | memoryview]]


class OutputNetwork(msgspec.Struct, frozen=True):
    """The way to the outputs of other members. ``members``: returns the present member list."""

    ask: AskMembers
    members: Callable[[], MemberList]


class OutputPlaces:
    """The places of spool files for the jobs of a process. ``disk``: has the outputs of this member, None if
    the process is no member that has some. ``network``: the way to other members."""

    def __init__(self, network: OutputNetwork, disk: MemberDisk | None = None) -> None:
        self._network = network
        self.disk = disk

    def located(self, path: str) -> tuple[FileFolder, str]:
        """Return the folder of a spool file, and the file's name. Raises SpoolDamaged for a file on a member
        that is gone; OperationalError for a malformed URL."""
        if not is_on_member(path):
            return located(path)
        url, _, name = path.rpartition("/")
        start, _, job = url.rpartition("/")
        if start.count("/") != 3 or not is_output_name(name):  # "member://NAME/INCARNATION"
            raise OperationalError(f"{path!r} is no file of a member")
        own = self.disk
        if own is None or not path.startswith(own.url):
            return _RemoteFolder(self._network, f"{start}/", job), name
        folder = own.folder(job)
        if folder is None:
            raise SpoolDamaged(path, "is missing")
        return folder, name


class _RemoteFolder:
    """The folder of a job's outputs on another member. ``place``: the beginning of the URLs of all files of
    the member's process. ``job``: the name of the folder."""

    def __init__(self, network: OutputNetwork, place: str, job: str) -> None:
        self._network, self._place, self._job = network, place, job

    @contextmanager
    def opened(self, name: str, access: FileAccess) -> Iterator[pa.NativeFile]:
        """Return a context manager whose block gets a file of the member, open for reading. The cluster
        decides who reads it, not ``access``."""
        with pa.PythonFile(_RemoteFile(self._network, self._place, self._job, name), mode="r") as file:
            yield file

    def growing_file(self, name: str) -> GrowingFile:
        """Raise OperationalError: a member writes its own outputs alone."""
        raise OperationalError(f"{self._place}{self._job}/{name} can only be written by its member")

    def remove_files(self, names: Iterable[str]) -> None:
        """Raise OperationalError: a member removes its own outputs alone."""
        raise OperationalError(f"files of {self._place}{self._job} can only be removed by their member")


class _RemoteFile:
    """A file on another member's disk that Arrow reads. All methods raise SpoolDamaged if the member is gone,
    OSError if the file is, and OperationalError if the member does not answer for long."""

    closed = False

    def __init__(self, network: OutputNetwork, place: str, job: str, name: str) -> None:
        self._network, self._place, self._job, self._name = network, place, job, name
        self._position = 0
        # Arrow reads the end of the file first: the answer has it, and in small files all of it.
        self._size, self._start, self._held = self._fetched(-_READ_AHEAD, _READ_AHEAD)

    def _fetched(self, offset: int, length: int) -> tuple[int, int, memoryview]:
        """Return the file's size, and bytes of it with their offset."""
        incarnation = self._place.rstrip("/").rpartition("/")[2]
        question = ReadOutput(incarnation, self._job, self._name, offset, length)
        found = codec.decode(self._answered(codec.encode(question)), OutputBytes)
        if found.problem:
            raise OSError(found.problem)
        if found.size is None:
            raise FileNotFoundError(self._name)
        return found.size, found.offset, memoryview(found.data)

    def _answered(self, question: bytes) -> bytes | memoryview:
        """Return the member's answer; ask again while the connection is lost, or while the two sides know
        different versions of the member list."""
        member = member_of(self._place)
        assert member is not None
        wait = _Patience(member)
        while True:
            if member not in self._network.members():
                path = f"{self._place}{self._job}/{self._name}"
                raise SpoolDamaged(path, f"is lost: member {member} is gone", self._place)
            try:
                return self._network.ask({member: question}, wait)[member]
            except Error as error:
                if error.sqlstate not in (LOST, CHANGED) or wait.is_over:
                    raise
            room.check()
            time.sleep(_PAUSE)

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, fewer than ``size`` only at the end of the file."""
        end = self._size if size < 0 else min(self._size, self._position + size)
        parts = []
        while self._position < end:
            if not 0 <= self._position - self._start < len(self._held):
                length = min(MOST_BYTES, max(end - self._position, _READ_AHEAD))
                _, self._start, self._held = self._fetched(self._position, length)
                if not self._held:
                    raise EOFError(f"{self._name} has become shorter")
            first = self._position - self._start
            part = self._held[first : first + end - self._position]
            parts.append(part)
            self._position += len(part)
        return bytes(parts[0]) if len(parts) == 1 else b"".join(parts)

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move to an offset, and return it."""
        self._position = offset + (0, self._position, self._size)[whence]
        return self._position

    def tell(self) -> int:
        """Return the present offset."""
        return self._position

    def readable(self) -> bool:
        """Return True; Arrow asks for it."""
        return True

    def seekable(self) -> bool:
        """Return True; Arrow asks for it."""
        return True

    def flush(self) -> None:
        """Do nothing; Arrow calls it."""

    def close(self) -> None:
        """Drop the bytes in memory."""
        self.closed = True
        self._held = memoryview(b"")


class _Patience:
    """The wait of a task for an answer of the member ``member``: it ends with the task, and after
    :data:`PATIENCE` seconds."""

    def __init__(self, member: str) -> None:
        self._member = member
        self._end = time.monotonic() + PATIENCE

    @property
    def is_over(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() > self._end

    def stopped(self, now: Callable[[], float]) -> OperationalError | None:
        """Return the error that ends the wait."""
        try:
            room.check()
        except OperationalError as error:
            return error
        if self.is_over:
            return OperationalError(
                f"member {self._member} has not answered for {PATIENCE:g} s", sqlstate=LOST
            )
        return None
