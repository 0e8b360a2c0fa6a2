"""A cluster whose members keep the outputs of a durable job on their own disks, and a program that
coordinates the job until it is killed. The first stage of the job has three tasks, one on each member; each
stage waits at a gate of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

import sqlfront
from sqlfront.cluster.processes import SERVICE
from sqlfront.jobs.durable_job import DurableJob
from sqlfront.jobs.job_status import DurableJobStatus
from sqlfront.jobs.service import JobService
from sqlfront_cluster.durable_tasks.member_disk import remove_leftovers
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_engine.durable.event_store.events import TaskFinished
from sqlfront_engine.durable.event_store.job_store import JobStore
from sqlfront_engine.durable.event_store.ownership import lock_owner
from sqlfront_engine.scheduler import SystemClock
from sqlfront_engine.spool.places import member_of
from sqlfront_engine.storage.local_folder import LocalFolder
from tests.sqlfront.jobs.gate import GATE, GATED, LEDGER
from tests.sqlfront.jobs.killed import SECRET
from tests.sqlfront.jobs.waiting import wait_until

NAME: Final = "daily"
QUERY: Final = "SELECT id % 7 AS k, count(*) AS n, sum(id) AS s FROM range(400000) GROUP BY id % 7 ORDER BY k"
IDS = [range(k, 400_000, 7) for k in range(7)]
RIGHT = [(k, len(ids), sum(ids)) for k, ids in enumerate(IDS)]
#: The name of the option for the wait for members of a former coordinator.
WAIT: Final = "execution.batch.job-recovery.previous-worker.recovery.timeout"
OPTIONS: Final = {"parallelism": "3", "task-size": "1", "outputs": "members"}

PROGRAM = """
import json, sys, sqlfront
folder, cluster, secret, query, options = sys.argv[1:]
with sqlfront.connect(
    cluster, secret=secret, job_store=f"{folder}/store", workers=1, collect_rows=100
) as connection:
    connection.session.submit_job(query, name="daily", options=json.loads(options)).wait()
"""


class Disks:
    """The members of a test, their disks, and what the tasks note. ``folder``: has the store and the rest."""

    def __init__(self, folder: Path, cluster: LocalCluster) -> None:
        self.folder, self.cluster = folder, cluster

    @property
    def address(self) -> str:
        """The address for sessions."""
        return f"sqlfront://{self.cluster.address.removeprefix('unix:')}"

    def open(self, *names: int | str) -> None:
        """Open the gate for the tasks of the stages with these numbers, or for a task such as "1.0"; without
        names, for all tasks."""
        for name in names:
            (self.folder / f"{GATE}.{name}").touch()
        if not names:
            (self.folder / GATE).touch()

    def begun(self, stage: int = 0) -> list[str]:
        """The tasks of a stage that began, as they noted it themselves: ``stage.task.output``, sorted."""
        ledger = self.folder / LEDGER
        lines = ledger.read_text().splitlines() if ledger.exists() else []
        return sorted(line.partition("-")[0] for line in lines if line.startswith(f"{stage}."))

    def files(self) -> list[Path]:
        """The files of jobs on the disks of members that live."""
        found = (self.folder / "disks").glob("sqlfront-outputs-*")
        living = [place for place in found if lock_owner(LocalFolder(str(place)))]
        return [path for place in living for path in place.glob("*/*")]

    def results(self) -> list[Path]:
        """The spool files in the store."""
        return [path for path in (self.folder / "store" / "spool").glob("*/*") if path.is_file()]

    def signal(self, member: str, number: int) -> None:
        """Send the process of a member a signal."""
        os.kill(self.cluster.processes[member].pid, number)

    def outlive(self, but: sqlfront.Connection | None = None) -> None:
        """Have the members notice at once that former sessions are gone, all ``but`` one."""
        cluster = None if but is None else but.session.cluster
        mine = None if cluster is None else cluster.coordinator.name
        for client in [info.name for info in self.cluster.members.members if info.lite]:
            if client != mine:
                self.cluster.keeper.remove(client, "its process has ended")

    @contextmanager
    def coordinator(
        self, ready: Callable[[], bool], query: str = QUERY, **options: str
    ) -> Iterator[subprocess.Popen[str]]:
        """A process whose session coordinates the job, which is killed at the end of the block; the block
        begins when ``ready`` is so."""
        chosen = OPTIONS | {name.replace("_", "-"): value for name, value in options.items()}
        if "wait" in chosen:
            chosen[WAIT] = chosen.pop("wait")
        text = json.dumps(chosen)
        with subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(self.folder), self.address, SECRET, query, text],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stderr=subprocess.PIPE,
            text=True,
        ) as program:
            wait_until(ready)
            yield program
            program.kill()

    @contextmanager
    def session(self) -> Iterator[sqlfront.Session]:
        """A session of this process, in the cluster."""
        store = str(self.folder / "store")
        with sqlfront.connect(
            self.address, secret=SECRET, job_store=store, workers=1, collect_rows=100
        ) as connection:
            yield connection.session

    def finished(self, stage: int = 0) -> Mapping[str, str | None]:
        """The tasks of a stage that the log has as finished, with the member whose disk has the output."""
        store = JobStore(LocalFolder(str(self.folder / "store")), SystemClock())
        events = [record.event() for job in store.jobs() for record in store.read(job).records]
        return {
            path.rpartition("/")[2].partition("-")[0]: member_of(path)
            for event in events
            if isinstance(event, TaskFinished) and event.task.stage == stage
            for path in [event.output.files[0].path]
        }

    def first_stage_is_done(self) -> bool:
        """Whether the first stage is finished, and tasks of the next one wait at their gate. Opens the gate
        of the first stage when each member has one of its tasks."""
        if len(self.begun()) < 3:
            return False
        self.open(0)
        return len(self.finished()) == 3 and len(self.begun(1)) > 0

    def check_end(self, job: DurableJob) -> DurableJobStatus:
        """Check that the job has the right rows, and left no other file anywhere; return its status."""
        assert job.result().collect() == RIGHT
        assert len(self.results()) == 1
        wait_until(lambda: not self.files())
        return job.status()


def submit(session: sqlfront.Session, query: str = QUERY, **options: str) -> DurableJob:
    """Begin the job in a session."""
    return session.submit_job(query, name=NAME, options=OPTIONS | options)


def jobs_of(session: sqlfront.Session) -> JobService:
    """The jobs of a session's store."""
    assert session.context.jobs is not None
    return session.context.jobs


def resumed(session: sqlfront.Session) -> DurableJob:
    """The job of the test, which goes on in the session."""
    job = jobs_of(session).find(NAME)
    assert job is not None
    session.execute(f"RESUME JOB {NAME}")
    return job


@contextmanager
def disks_of(folder: Path, count: int = 3, place: Path | None = None) -> Iterator[Disks]:
    """Members in processes, whose tasks note their beginnings and wait at gates. ``place``: where the members
    have their temporary files, None = in the folder."""
    temporary = folder / "disks" if place is None else place
    temporary.mkdir(exist_ok=True)
    preload = ("tests.sqlfront.jobs.gated",)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(GATED, str(folder))
        patch.setenv("TMPDIR", str(temporary))
        with LocalCluster(
            count, workers=1, service=SERVICE, secret=SECRET.encode(), preload=preload
        ) as cluster:
            yield Disks(folder, cluster)
    remove_leftovers(str(temporary))
    assert not [*temporary.iterdir()]
