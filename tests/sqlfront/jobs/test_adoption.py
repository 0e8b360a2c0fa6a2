"""Tasks that run on members in processes of their own when their coordinator, the session, is lost."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import pytest

import sqlfront
from sqlfront.cluster.processes import SERVICE
from sqlfront.jobs.durable_job import DurableJob
from sqlfront.jobs.job_status import JobPhase
from sqlfront.jobs.service import JobService
from sqlfront_cluster import codec
from sqlfront_cluster.durable_tasks.task_door import TASKS
from sqlfront_cluster.durable_tasks.task_messages import AskEnds, StopTasks
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_engine.durable.event_store.events import TaskFinished
from sqlfront_values.errors import OperationalError
from tests.sqlfront.jobs.gate import GATE, GATED, LEDGER
from tests.sqlfront.jobs.handles import job_of
from tests.sqlfront.jobs.waiting import wait_until

# One worker starts the members.
pytestmark = pytest.mark.xdist_group("adopted tasks of durable jobs")

NAME: Final = "daily"
SECRET: Final = "the secret of the members"
IDS = [range(k, 400_000, 7) for k in range(7)]
RIGHT = [(k, len(ids), sum(ids)) for k, ids in enumerate(IDS)]

PROGRAM = """
import sys, sqlfront
folder, cluster, secret, lease = sys.argv[1:]
with sqlfront.connect(
    cluster, secret=secret, job_store=f"{folder}/store", workers=1, collect_rows=100
) as connection:
    query = "SELECT id % 7 AS k, count(*) AS n, sum(id) AS s FROM range(400000) GROUP BY id % 7 ORDER BY k"
    options = {"parallelism": "3", "lease": lease}
    connection.session.submit_job(query, name="daily", options=options).wait()
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Three members in processes, whose tasks note their beginnings and wait at a gate."""
    preload = ("tests.sqlfront.jobs.gated",)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(GATED, "1")
        with LocalCluster(3, workers=1, service=SERVICE, secret=SECRET.encode(), preload=preload) as cluster:
            yield cluster


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder with the store, the ledger and the gate."""
    return tmp_path


def address(cluster: LocalCluster) -> str:
    return f"sqlfront://{cluster.address.removeprefix('unix:')}"


@contextmanager
def coordinator(folder: Path, cluster: LocalCluster, lease: str = "5 min") -> Iterator[subprocess.Popen[str]]:
    """A process whose session coordinates the job, while three tasks of it run and have written rows."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), address(cluster), SECRET, lease],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        wait_until(lambda: len(begun(folder)) == 3 and len(files(folder)) == 3)
        yield program
        program.kill()


@contextmanager
def successor(folder: Path, cluster: LocalCluster) -> Iterator[tuple[JobService, DurableJob]]:
    """A session of this process in the same cluster, with the same store."""
    with sqlfront.connect(
        address(cluster), secret=SECRET, job_store=str(folder / "store"), workers=1, collect_rows=100
    ) as connection:
        service = connection.session.context.jobs
        assert service is not None
        yield service, job_of(connection)


def begun(folder: Path) -> list[str]:
    """The files that tasks began to write, as the tasks noted them themselves."""
    ledger = folder / LEDGER
    return sorted(ledger.read_text().splitlines()) if ledger.exists() else []


def files(folder: Path) -> list[str]:
    return [file.name for file in (folder / "store" / "spool").glob("*/*")]


def check_end(folder: Path, service: JobService, job: DurableJob, adopted: list[str]) -> None:
    """Check that the job ends with the right answer, that each task has begun once, and that the tasks
    ``adopted`` count, although their epoch was the first."""
    assert job.result().collect() == RIGHT
    names = begun(folder)
    assert names[:3] == adopted
    assert len({name.partition("-")[0] for name in names}) == len(names)
    ends = [(record.epoch, record.event()) for record in service.log(job.id).records]
    finished = {
        event.output.files[0].path.rpartition("/")[2]: epoch
        for epoch, event in ends
        if isinstance(event, TaskFinished)
    }
    assert finished == dict.fromkeys(names, 2)
    assert len(files(folder)) == 1


@pytest.mark.parametrize("ended", [False, pytest.param(True, marks=pytest.mark.cluster)])
def test_live_adoption(cluster: LocalCluster, folder: Path, *, ended: bool) -> None:
    """The session is killed while three tasks run; they end before or after a successor asks for them."""
    with coordinator(folder, cluster) as program:
        adopted = begun(folder)
        program.kill()
    if ended:
        (folder / GATE).touch()
        wait_until(lambda: sorted(files(folder)) == adopted)
    with successor(folder, cluster) as (service, job):
        assert job.status().phase is JobPhase.RECOVERING
        service.resume(job.id)
        (folder / GATE).touch()

        check_end(folder, service, job, adopted)


@pytest.mark.cluster
def test_zombie_coordinator(cluster: LocalCluster, folder: Path) -> None:
    """The session is stopped, another member of its cluster takes over and adopts the tasks, and the session
    goes on while they run."""
    with coordinator(folder, cluster) as zombie, successor(folder, cluster) as (service, job):
        adopted = begun(folder)
        zombie.send_signal(signal.SIGSTOP)
        owner = service._store.owner()
        assert owner is not None
        service._incarnation = owner.cluster
        service._ownership = SimpleNamespace(is_held=True, release=lambda: None)
        service.resume(job.id)
        wait_until(lambda: _are_refused(service, folder, job))

        zombie.send_signal(signal.SIGCONT)
        _, said = zombie.communicate(timeout=60)

        assert zombie.returncode == 1
        assert "another coordinator has claimed epoch 2" in said
        assert (begun(folder), len(files(folder))) == (adopted, 3)
        (folder / GATE).touch()
        check_end(folder, service, job, adopted)


def _are_refused(service: JobService, folder: Path, job: DurableJob) -> bool:
    """Whether all members refuse the commands of the first epoch."""
    members = service._members
    assert members is not None
    spool = str(folder / "store" / "spool" / job.id)
    for name in members.member_list.data_members:
        for question in (AskEnds(spool, 1), StopTasks(spool, 1)):
            try:
                members.ask(TASKS, {name: codec.encode(question)})
                return False
            except OperationalError as error:
                if "the coordinator of epoch 2 has taken the durable job over" not in str(error):
                    raise
    return True


@pytest.mark.cluster
@pytest.mark.parametrize("ended", [False, True])
def test_tasks_that_nobody_adopts_end_with_their_lease(
    cluster: LocalCluster, folder: Path, *, ended: bool
) -> None:
    with coordinator(folder, cluster, "1 s") as program:
        adopted = begun(folder)
        program.kill()
    if ended:
        (folder / GATE).touch()
        wait_until(lambda: sorted(files(folder)) == adopted)
    for client in [info.name for info in cluster.members.members if info.lite]:
        cluster.keeper.remove(client, "its process has ended")

    wait_until(lambda: not files(folder))

    (folder / GATE).touch()
    with successor(folder, cluster) as (service, job):
        service.resume(job.id)
        assert job.result().collect() == RIGHT
        assert job.status().rerun == 0
    assert len(files(folder)) == 1
