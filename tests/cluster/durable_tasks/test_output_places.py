"""Reading of outputs on other members' disks, over a network that a test replaces."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from sqlfront_cluster import codec
from sqlfront_cluster.durable_tasks import output_places
from sqlfront_cluster.durable_tasks.member_disk import MemberDisk
from sqlfront_cluster.durable_tasks.output_places import (
    LOST,
    MOST_BYTES,
    OutputBytes,
    OutputNetwork,
    OutputPlaces,
    ReadOutput,
    read_output,
)
from sqlfront_cluster.members.protocol.member_list import CHANGED, alone, nobody
from sqlfront_cluster.members.questions.requests import Wait
from sqlfront_engine.file_access import NOWHERE
from sqlfront_engine.spool.reading import SpoolDamaged, read_spool
from sqlfront_engine.spool.spool_file import SpoolFile, SpoolSettings, SpoolWriter
from sqlfront_engine.testing import CountingMemory
from sqlfront_values import room
from sqlfront_values.errors import OperationalError

ROWS = 1_000_000


class OtherMember:
    """The member ``m``, which has a file of 8 MB in four buckets, and is asked by another process."""

    def __init__(self, folder: Path) -> None:
        self.disk = MemberDisk("m", str(folder))
        self.members = alone("m")
        self.sizes: list[int] = []
        #: The errors with which the next questions fail.
        self.errors: list[OperationalError] = []
        #: Called before each answer.
        self.before: Callable[[], None] = lambda: None
        self.places = OutputPlaces(OutputNetwork(self.ask, lambda: self.members))
        self.file = self._written()

    def _written(self) -> SpoolFile:
        own = OutputPlaces(OutputNetwork(self.ask, lambda: self.members), self.disk)
        folder = self.disk.begin("job-1")
        path = f"{self.disk.url}{Path(folder.address).name}/0.0.0-1.1.arrow"
        rows = pa.record_batch({"n": pa.array(range(ROWS), pa.int64())})
        with SpoolWriter(
            path,
            rows.schema,
            4,
            memory=CountingMemory(),
            settings=SpoolSettings(None, 2**22),
            places=own.located,
        ) as writer:
            for number in range(4):
                writer.write(rows.slice(number * ROWS // 4, ROWS // 4), number)
            return writer.finish()

    def ask(self, questions: Mapping[str, bytes], wait: Wait) -> Mapping[str, bytes]:
        self.before()
        stopped = wait.stopped(lambda: 0.0)
        if stopped is not None:
            raise stopped
        if self.errors:
            raise self.errors.pop()
        ((name, question),) = questions.items()
        assert name == "m"
        answer = read_output(self.disk, codec.decode(question, ReadOutput))
        self.sizes.append(len(answer.data))
        return {name: codec.encode(answer)}

    def numbers(self, buckets: range | None = None) -> list[int]:
        """The rows, as another member reads them."""
        batches = read_spool(self.file, buckets, access=NOWHERE, places=self.places.located)
        return [number for batch in batches for number in batch.column(0).to_pylist()]


@pytest.fixture
def member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OtherMember]:
    monkeypatch.setattr(output_places, "_PAUSE", 0.0)
    member = OtherMember(tmp_path)
    with member.disk:
        yield member


def test_another_member_reads_all_rows(member: OtherMember) -> None:
    assert member.numbers() == [*range(ROWS)]
    assert max(member.sizes) == MOST_BYTES
    assert sum(member.sizes) < 1.5 * member.file.bytes


def test_a_bucket_is_read_without_the_others(member: OtherMember) -> None:
    assert member.numbers(range(1, 2)) == [*range(ROWS // 4, ROWS // 2)]
    assert sum(member.sizes) < member.file.bytes / 2


@pytest.mark.parametrize("state", [LOST, CHANGED])
def test_a_member_that_does_not_answer_for_a_moment_is_no_damage(member: OtherMember, state: str) -> None:
    member.errors += [OperationalError("no connection", sqlstate=state) for _ in range(3)]

    assert len(member.numbers()) == ROWS


def test_a_member_that_does_not_answer_for_long_is_no_damage(
    member: OtherMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_places, "PATIENCE", -1.0)

    with pytest.raises(OperationalError, match="member m has not answered") as found:
        member.numbers()
    assert not isinstance(found.value, SpoolDamaged)


def test_all_files_of_a_member_that_is_gone_are_lost(member: OtherMember) -> None:
    def leave() -> None:
        member.members = nobody()
        member.errors.append(OperationalError("no connection", sqlstate=LOST))

    member.before = leave
    with pytest.raises(SpoolDamaged, match="member m is gone") as found:
        member.numbers()
    assert found.value.concerns(f"{member.disk.url}job-1.1/another.arrow")
    assert not found.value.concerns("member://m/another/job-1.1/another.arrow")


def test_a_file_that_is_gone_is_lost_alone(member: OtherMember) -> None:
    (path,) = Path(member.disk.folder("job-1.1").address).iterdir()  # type: ignore[union-attr]
    path.unlink()

    with pytest.raises(SpoolDamaged, match="is missing") as found:
        member.numbers()
    assert not found.value.concerns(f"{member.disk.url}job-1.1/another.arrow")


def test_a_file_that_vanishes_meanwhile_is_damaged(member: OtherMember) -> None:
    batches = read_spool(member.file, places=member.places.located)
    next(batches)
    member.disk.folder("job-1.1").remove()  # type: ignore[union-attr]

    with pytest.raises(SpoolDamaged):
        list(batches)


def test_a_file_of_a_restarted_member_is_missing(member: OtherMember, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    member.disk.close()
    member.disk = MemberDisk("m", str(tmp_path / "other"))

    with pytest.raises(SpoolDamaged, match="is missing"):
        member.numbers()


def test_a_stopped_task_waits_no_longer(member: OtherMember) -> None:
    def stop() -> None:
        room.occupy(None, lambda: True)

    member.before = stop
    try:
        with pytest.raises(OperationalError, match="the query was stopped"):
            member.numbers()
    finally:
        room.occupy(None, None)


def test_an_answer_that_is_none_is_an_error(member: OtherMember, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as that of a member of another version."""
    monkeypatch.setattr(member, "places", OutputPlaces(OutputNetwork(_answers, lambda: member.members)))

    with pytest.raises(OperationalError):
        member.numbers()


def _answers(questions: Mapping[str, bytes], wait: Wait) -> Mapping[str, bytes]:
    return dict.fromkeys(questions, b"\xc1")


def test_a_file_that_has_become_shorter_is_damaged(
    member: OtherMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(questions: Mapping[str, bytes], wait: Wait) -> Mapping[str, bytes]:
        return dict.fromkeys(questions, codec.encode(OutputBytes(member.file.bytes, 0, b"")))

    monkeypatch.setattr(member, "places", OutputPlaces(OutputNetwork(short, lambda: member.members)))
    with pytest.raises(SpoolDamaged, match="become shorter"):
        member.numbers()


@pytest.mark.parametrize(
    "path",
    ["member://", "member://m", "member://m/1", "member://m/1/a/../b", "member://m/1/a/.b", "member:///"],
)
def test_malformed_urls_are_refused(member: OtherMember, path: str) -> None:
    with pytest.raises(OperationalError, match="is no file of a member"):
        member.places.located(path)


def test_members_write_and_remove_their_own_files_alone(member: OtherMember) -> None:
    folder, name = member.places.located(member.file.path)

    with pytest.raises(OperationalError, match="can only be written by its member"):
        folder.growing_file(name)
    with pytest.raises(OperationalError, match="can only be removed by their member"):
        folder.remove_files([name])
