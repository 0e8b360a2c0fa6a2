"""The owner of a store: one cluster writes, all others read."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sqlfront_engine.durable.event_store.ownership import LEASE, Lease, LeaseView, Owner
from sqlfront_engine.storage.object_folder import ObjectFolder
from sqlfront_engine.testing import FakeClock
from sqlfront_values.errors import OperationalError
from tests.engine.durable.logs import begin, local_store, note, notes, owned
from tests.engine.durable.objects import MemoryStorage, memory_folder

FIRST = Owner("cluster-1", "member-1")
SECOND = Owner("cluster-2", "member-9")


# ---- directories

OWNING = """
import sys
from pathlib import Path
from tests.engine.durable.logs import local_store, owned
with owned(local_store(Path(sys.argv[1]))):
    print("owned", flush=True)
    sys.stdin.readline()
"""


def owning_process(path: Path) -> "subprocess.Popen[str]":
    """A process that owns the store."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNING, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "owned\n"
    return process


def test_a_store_of_another_process_is_refused_until_that_process_is_gone(tmp_path: Path) -> None:
    store = local_store(tmp_path)
    process = owning_process(tmp_path)
    with process:
        with pytest.raises(OperationalError, match=r"belongs to cluster cluster-1 \(member member-1\)"):
            store.own(SECOND)
        assert store.owner() == FIRST
        process.send_signal(signal.SIGKILL)

    assert store.owner() is None
    ownership = store.own(SECOND)
    assert store.owner() == SECOND
    ownership.release()


def test_a_second_owner_in_the_same_process_is_refused(tmp_path: Path) -> None:
    store = local_store(tmp_path)
    with owned(store):
        with pytest.raises(OperationalError, match="others may only read it"):
            local_store(tmp_path).own(FIRST)
    store.own(SECOND).release()


def test_a_released_store_has_no_owner(tmp_path: Path) -> None:
    store = local_store(tmp_path)
    assert store.owner() is None
    ownership = store.own(FIRST)
    assert store.owner() == FIRST
    ownership.release()
    ownership.release()

    assert not ownership.is_held
    assert store.owner() is None


def test_an_owned_store_is_read_by_others(tmp_path: Path) -> None:
    with owned(local_store(tmp_path)) as store, begin(store) as log:
        log.append_durably(note("a"))

        assert notes(local_store(tmp_path).read("job-1")) == ["a"]


def test_a_forked_child_closes_no_file_that_has_the_number_of_a_forgotten_lock(tmp_path: Path) -> None:
    """The owner of the lock became garbage without a release; then another file got the number."""
    forked = """
import gc, os, sys
from pathlib import Path
from sqlfront_engine.durable.event_store.ownership import Owner
from tests.engine.durable.logs import local_store

ownership = local_store(Path(sys.argv[1])).own(Owner("cluster-1", "member-1"))
before = {*os.listdir("/proc/self/fd")}
del ownership
gc.collect()
opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(8)]
if os.fork() == 0:
    for descriptor in opened:
        os.fstat(descriptor)
    os._exit(0)
assert {str(descriptor) for descriptor in opened} & before
assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", forked, str(tmp_path)], env=environment, check=True, timeout=60)


def test_a_forked_child_does_not_keep_its_parents_lock(tmp_path: Path) -> None:
    """The lock belongs to the open file, which a fork shares."""
    forked = """
import os, sys
from pathlib import Path
from tests.engine.durable.logs import local_store, owned
context = owned(local_store(Path(sys.argv[1])))
context.__enter__()
reading, writing = os.pipe()
if os.fork() == 0:
    os.close(writing)
    os.read(reading, 1)
    os._exit(0)
print("forked", flush=True)
sys.stdin.readline()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", forked, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "forked\n"
        assert local_store(tmp_path).owner() == FIRST
        process.send_signal(signal.SIGKILL)
        process.wait()
        local_store(tmp_path).own(SECOND).release()


# ---- leases


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def folder() -> ObjectFolder:
    return memory_folder()


def sleeping(clock: FakeClock, meanwhile: Callable[[], None] = lambda: None) -> Callable[[float], None]:
    def sleep(seconds: float) -> None:
        clock.advance(seconds)
        meanwhile()

    return sleep


def test_a_lease_that_is_renewed_is_not_taken(clock: FakeClock, folder: ObjectFolder) -> None:
    lease = Lease(LeaseView(folder, clock), FIRST)

    with pytest.raises(OperationalError, match=r"belongs to cluster cluster-1 \(member member-1\)"):
        Lease(LeaseView(folder, clock), SECOND, sleeping(clock, lease.renew))
    assert lease.is_held


def test_a_lease_that_is_not_renewed_is_taken_after_its_duration(
    clock: FakeClock, folder: ObjectFolder
) -> None:
    first = Lease(LeaseView(folder, clock), FIRST)
    began = clock.now()
    second = Lease(LeaseView(folder, clock), SECOND, sleeping(clock))

    assert clock.now() >= began + LEASE
    assert not first.is_held
    assert second.is_held
    with pytest.raises(OperationalError, match=r"the lease on the job store .* is lost"):
        first.renew()
    second.renew()


def test_an_owner_that_slept_over_its_lease_does_not_take_it_back(
    clock: FakeClock, folder: ObjectFolder
) -> None:
    """Not even if the object that it would create was removed in the meantime."""
    slept = FakeClock()  # a clock that stood still while the process was stopped
    first = Lease(LeaseView(folder, slept), FIRST)
    second = Lease(LeaseView(folder, clock), SECOND, sleeping(clock))
    for _ in range(5):
        second.renew()

    with pytest.raises(OperationalError, match="is lost"):
        first.renew()
    assert not first.is_held
    second.renew()


def test_a_released_lease_is_taken_at_once(clock: FakeClock, folder: ObjectFolder) -> None:
    Lease(LeaseView(folder, clock), FIRST).release()
    began = clock.now()

    assert Lease(LeaseView(folder, clock), SECOND, sleeping(clock)).is_held
    assert clock.now() == began


class Deaf(MemoryStorage):
    """A storage whose answers to some writes are lost."""

    lost = 0

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite") -> None:
        super().pipe_file(path, value, mode=mode)
        if self.lost:
            self.lost -= 1
            raise TimeoutError


def test_a_renewal_without_an_answer_is_no_loss(clock: FakeClock) -> None:
    storage = Deaf()
    lease = Lease(LeaseView(memory_folder(storage), clock), FIRST)
    storage.lost = 1
    with pytest.raises(TimeoutError):
        lease.renew()

    lease.renew()

    assert lease.is_held


def test_of_two_that_wait_for_a_lease_one_takes_it(clock: FakeClock, folder: ObjectFolder) -> None:
    Lease(LeaseView(folder, clock), FIRST)
    others: list[Lease] = []

    def take() -> None:
        if clock.now() >= LEASE and not others:
            others_clock = FakeClock()
            others.append(Lease(LeaseView(folder, others_clock), SECOND, sleeping(others_clock)))

    with pytest.raises(OperationalError, match="belongs to cluster"):
        Lease(LeaseView(folder, clock), Owner("cluster-3", "m"), sleeping(clock, take))
    assert others[0].is_held


def test_old_leases_are_removed(clock: FakeClock, folder: ObjectFolder) -> None:
    lease = Lease(LeaseView(folder, clock), FIRST)
    for _ in range(20):
        lease.renew()

    assert folder.names() == ["owner.20", "owner.21"]
