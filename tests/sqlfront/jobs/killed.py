"""A program that begins a durable job, or goes on with it, and kills itself at a given step::

    python -m tests.sqlfront.jobs.killed FOLDER STATEMENT sync 7

Steps: ``sync N`` (before the N-th fsync since the statement began), ``synced N`` (after it), ``request N``
and ``requested N`` (before and after the N-th object that the statement creates in a remote store), ``put``
and ``written`` (before and after the rows are put into the target), ``commit`` (after the target's parts are
written, before they appear), ``placed`` (after the rows are in the files of a table of Spark, before Spark is
told), ``committed`` (after the record that says that the target has the rows), ``stage N`` (when the stage N
is complete, and tasks of later stages have not begun), ``task`` (when the first task is finished, and others
wait), ``erase`` and ``erased`` (before and after a job is removed from the store), ``cancelled`` (after the
record of a request to cancel, which the program makes). For a memory table of a cluster: ``publish`` (the
members have the rows, which no query sees yet), ``sent`` (the request to publish the rows is sent, and may
not be received) and ``published`` (the keeper has published the rows).
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import sqlfront
from sqlfront.cluster.processes import ProcessMembers
from sqlfront.commands.jobs import StatementTarget
from sqlfront.commands.spark_targets import SparkTarget
from sqlfront_cluster.members.membership.membership import Membership
from sqlfront_connectors.files.file_write import FileWrite
from sqlfront_engine.durable.event_store.event_log import EventLog
from sqlfront_engine.durable.event_store.events import CancelRequested, Event, SinkCommitted
from sqlfront_engine.durable.event_store.job_store import JobStore
from sqlfront_engine.durable.event_store.ownership import LEASE_THREAD
from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.durable.runner import TaskEnd
from sqlfront_engine.durable.split_assignments import RunSplits
from sqlfront_engine.durable.tasks import TaskRun
from sqlfront_engine.durable.thread_runner import ThreadRunner
from sqlfront_engine.storage.object_folder import GrowingObject, ObjectFolder
from sqlfront_engine.system_calls import SystemCalls

#: The name of the job.
NAME: Final = "daily"
#: The statement by which a process goes on with the job in place of beginning one.
RESUME: Final = f"RESUME JOB {NAME}"
#: The secret of the cluster of the tests.
SECRET: Final = "of the tests"
#: A query that runs far longer than a test.
LONG: Final = (
    "SELECT sum(a.id * b.id % 7) AS s FROM range(300000) a JOIN range(300000) b ON a.id % 1000 <> b.id % 999"
)


#: The variable with further options of the job, such as ``outputs 'members'``.
OPTIONS: Final = "SQLFRONT_TEST_JOB_OPTIONS"
#: The variable with the URL of the store, if the store is not below the folder.
STORE: Final = "SQLFRONT_TEST_STORE"


def store_of(folder: Path) -> str:
    """The store below the folder, or the URL of the variable."""
    return os.environ.get(STORE) or str(folder / "store")


def open_session(folder: Path) -> sqlfront.Connection:
    """A session with the tables below the folder, and the store there or at the URL of the variable; on the
    cluster whose address is in the folder's file ``cluster``, if there is one."""
    # Few rows are collected, so that the job has several stages.
    options: dict[str, Any] = {"job_store": store_of(folder), "collect_rows": 100}
    if (folder / "cluster").exists():
        return sqlfront.connect(cluster=(folder / "cluster").read_text(), secret=SECRET, **options)
    connection = sqlfront.connect(workers=2, **options)
    for table in ("src", "sink"):
        place = folder / table
        if place.exists():
            columns = "(k BIGINT, n BIGINT)" if table == "sink" else ""
            connection.execute(f"CREATE TABLE {table} {columns} USING parquet LOCATION '{place}'")
    return connection


def run_killed(
    folder: Path,
    statement: str,
    step: str,
    number: int = 1,
    *,
    program: str = "tests.sqlfront.jobs.killed",
    timeout: float = 120,
) -> int:
    """Run the program, a module, in another process, for at most ``timeout`` seconds; return its exit
    code."""
    done = subprocess.run(
        [sys.executable, "-m", program, str(folder), statement, step, str(number)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _killing_sync(number: int, *, after: bool) -> Callable[..., None]:
    sync, calls = SystemCalls.sync, iter(range(1, 1_000_000))

    def counted(self: SystemCalls, descriptor: int) -> None:
        mine = next(calls)
        if mine == number and not after:
            _die()
        sync(self, descriptor)
        if mine == number:
            _die()

    return counted


def _kill_at_request(number: int, *, after: bool) -> None:
    create, publish, calls = ObjectFolder.create, GrowingObject.publish, iter(range(1, 1_000_000))

    def counted(write: Callable[..., None]) -> Callable[..., None]:
        def with_death(self: object, *arguments: Any, **options: Any) -> None:
            is_it = threading.current_thread().name != LEASE_THREAD and next(calls) == number
            if is_it and not after:
                _die()
            write(self, *arguments, **options)
            if is_it:
                _die()

        return with_death

    ObjectFolder.create = counted(create)  # type: ignore[method-assign]
    GrowingObject.publish = counted(publish)  # type: ignore[method-assign]


def _die_after(stage: int) -> None:
    run_task = ThreadRunner._run

    def run_early(self: ThreadRunner, run: TaskRun, ended: Callable[[TaskEnd], None]) -> None:
        if run.id.stage > stage:
            threading.Event().wait()
        run_task(self, run, ended)

    ThreadRunner._run = run_early  # type: ignore[method-assign]
    _die_when(lambda state: state.is_complete(stage))


def _die_after_a_task() -> None:
    """The tasks of a stage wait behind the first split that they read, except the first task."""
    complete = RunSplits.complete

    def complete_first(self: RunSplits) -> None:
        if self.id.task.task != 0:
            threading.Event().wait()
        complete(self)

    RunSplits.complete = complete_first  # type: ignore[method-assign]
    _die_when(lambda state: bool(state.finished))


def _die_when(reached: Callable[[JobState], bool]) -> None:
    apply = JobState.apply

    def and_die(self: JobState, event: Event) -> None:
        apply(self, event)
        if reached(self):
            _die()

    JobState.apply = and_die  # type: ignore[method-assign]


def _die_after_record(kind: type[Event]) -> None:
    append = EventLog.append_durably

    def append_and_die(self: EventLog, event: Event) -> int:
        sequence = append(self, event)
        if isinstance(event, kind):
            _die()
        return sequence

    EventLog.append_durably = append_and_die  # type: ignore[method-assign]


def _die_at_publication(step: str) -> None:
    publish, put = ProcessMembers.publish, Membership.put

    def put_and_die(*arguments: Any) -> None:
        put(*arguments)
        _die()

    def and_die(*arguments: Any) -> None:
        if step == "published":
            publish(*arguments)
        if step == "sent":
            Membership.put = put_and_die  # type: ignore[method-assign,assignment]
            publish(*arguments)
        _die()

    ProcessMembers.publish = and_die  # type: ignore[method-assign,assignment]


def _dying_after(method: Callable[..., None]) -> Callable[..., None]:
    def and_die(*arguments: Any) -> None:
        method(*arguments)
        _die()

    return and_die


def _arm(step: str, number: int) -> None:
    match step:
        case "publish" | "sent" | "published":
            _die_at_publication(step)
        case "sync" | "synced":
            SystemCalls.sync = _killing_sync(number, after=step == "synced")  # type: ignore[method-assign]
        case "request" | "requested":
            _kill_at_request(number, after=step == "requested")
        case "task":
            _die_after_a_task()
        case "stage":
            _die_after(number)
        case "put":
            StatementTarget.put = lambda *_: _die()  # type: ignore[method-assign]
            SparkTarget.put = lambda *_: _die()  # type: ignore[method-assign]
        case "written":
            StatementTarget.put = _dying_after(StatementTarget.put)  # type: ignore[method-assign]
            SparkTarget.put = _dying_after(SparkTarget.put)  # type: ignore[method-assign]
        case "placed":
            SparkTarget._follow = lambda *_: _die()  # type: ignore[method-assign]
        case "erase":
            JobStore.remove = lambda *_: _die()  # type: ignore[method-assign]
        case "erased":
            JobStore.remove = _dying_after(JobStore.remove)  # type: ignore[method-assign]
        case "committed":
            _die_after_record(SinkCommitted)
        case "cancelled":
            _die_after_record(CancelRequested)
        case "commit":
            FileWrite.commit = lambda self: _die()  # type: ignore[method-assign,assignment,return-value]
        case _:
            raise ValueError(step)


def main() -> None:
    """Begin the job, and wait for the end."""
    folder, statement, step, number = sys.argv[1:]
    with open_session(Path(folder)) as connection:
        run_job(connection, statement, step, int(number))


def run_job(connection: sqlfront.Connection, statement: str, step: str, number: int) -> None:
    """Begin the job in the session, or go on with it if the statement is RESUME; and wait for the end, which
    is the step."""
    _arm(step, number)
    if statement == RESUME:
        connection.execute(RESUME)
    else:
        options = ", ".join(filter(None, ["parallelism 3", os.environ.get(OPTIONS)]))
        connection.execute(f"CREATE OR REPLACE JOB {NAME} OPTIONS ({options}) AS {statement}")
    if step == "cancelled":
        connection.execute(f"CANCEL JOB {NAME}")
    job = connection.session.context.jobs
    assert job is not None
    found = job.find(NAME)
    assert found is not None
    found.wait()


if __name__ == "__main__":
    main()
