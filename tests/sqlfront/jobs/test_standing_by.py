"""Members that stand by for the durable jobs of a store, and coordinate jobs whose coordinator is gone."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import sqlfront
from sqlfront.cluster.processes import SERVICE
from sqlfront.jobs.job_status import JobPhase
from sqlfront_cluster.launchers.local import LocalCluster
from tests.sqlfront.jobs.gate import GATE, GATED
from tests.sqlfront.jobs.handles import job_of
from tests.sqlfront.jobs.test_adoption import (
    RIGHT,
    SECRET,
    address,
    begun,
    check_end,
    coordinator,
    files,
    folder,
)
from tests.sqlfront.jobs.waiting import wait_until

__all__ = ["folder"]

# One worker starts the members.
pytestmark = pytest.mark.xdist_group("adopted tasks of durable jobs")


@pytest.fixture
def cluster(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalCluster]:
    """Three members in processes that stand by; tasks note their beginnings and wait at a gate."""
    monkeypatch.setenv(GATED, "1")
    with LocalCluster(
        3,
        workers=1,
        service=SERVICE,
        settings=lambda _: {"job_store": str(folder / "store")},
        secret=SECRET.encode(),
        preload=("tests.sqlfront.jobs.gated",),
    ) as cluster:
        yield cluster


@pytest.fixture
def reader(folder: Path) -> Iterator[sqlfront.Connection]:
    """A session outside of the cluster, which looks at the store."""
    with sqlfront.connect(job_store=str(folder / "store"), workers=1) as connection:
        yield connection


def owner(reader: sqlfront.Connection) -> str | None:
    """The name of the member that owns the store; None without an owner."""
    service = reader.session.context.jobs
    assert service is not None
    owner = service._store.owner()
    return None if owner is None else owner.member


def test_a_member_coordinates_when_the_session_is_killed(
    cluster: LocalCluster, folder: Path, reader: sqlfront.Connection
) -> None:
    with coordinator(folder, cluster) as program:
        adopted = begun(folder)
        program.kill()
    wait_until(lambda: owner(reader) in cluster.processes)
    assert job_of(reader).status().phase is JobPhase.RUNNING
    (folder / GATE).touch()

    service = reader.session.context.jobs
    assert service is not None
    check_end(folder, service, job_of(reader), adopted)
    wait_until(lambda: owner(reader) is None)


@pytest.mark.cluster
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_member_follows_a_member(
    cluster: LocalCluster, folder: Path, reader: sqlfront.Connection, number: signal.Signals
) -> None:
    """The session is killed, and the member that coordinates in its place is killed or leaves."""
    with coordinator(folder, cluster) as program:
        program.kill()
    wait_until(lambda: job_of(reader).status().epoch == 2)
    first = owner(reader)
    assert first is not None
    os.kill(cluster.processes[first].pid, number)
    wait_until(lambda: owner(reader) in {*cluster.processes} - {first})
    (folder / GATE).touch()

    assert job_of(reader).result().collect() == RIGHT
    assert job_of(reader).status().epoch == 3
    assert len(files(folder)) == 1


@pytest.mark.cluster
def test_a_client_creates_jobs_while_members_stand_by(cluster: LocalCluster, folder: Path) -> None:
    (folder / GATE).touch()
    store = str(folder / "store")
    with sqlfront.connect(address(cluster), secret=SECRET, job_store=store, workers=1) as connection:
        for count in range(5):
            rows = connection.session.submit_job(f"SELECT id FROM range({count})", name=f"n{count}").result()
            assert rows.collect() == [(id,) for id in range(count)]
