"""The command ``sqlfront job``, which lists, shows, cancels, resumes and drops durable jobs, and stands by to
take them over."""

import argparse
import sys
from functools import partial
from typing import Final, NoReturn

from sqlfront.api import open_session
from sqlfront.jobs.durable_job import DurableJob
from sqlfront.jobs.job_status import DurableJobStatus, JobPhase, as_error
from sqlfront.jobs.service import JobService
from sqlfront.jobs.stand_by import StandBy
from sqlfront.session import Session
from sqlfront.shell.batch import Batch, run_batch
from sqlfront.shell.exit_codes import ExitCode
from sqlfront.shell.interactive.display.visible import one_line
from sqlfront.shell.output.formats import FORMATS
from sqlfront.shell.progress import INTERVAL, ProgressLine
from sqlfront.shell.scripts import Script, statements
from sqlfront_engine.durable.event_store.log_lines import log_lines
from sqlfront_values.errors import Error, OperationalError, ProgrammingError

#: Characters of a job's name in a line.
_NAME_WIDTH: Final = 60
#: The statements of the actions that are one statement.
_STATEMENTS: Final = {
    "list": "SHOW JOBS",
    "show": "DESCRIBE JOB {}",
    "cancel": "CANCEL JOB {}",
    "drop": "DROP JOB {}",
}


def session_of(options: argparse.Namespace) -> Session:
    """Open a session with the job store that the option ``--store``, the environment or the connection
    ``--connection`` names. Raises ProgrammingError if none of these names a job store."""
    given = {} if options.store is None else {"job_store": options.store}
    session = open_session(options.connection, given, None)
    if session.context.jobs is None:
        session.close()
        raise ProgrammingError("durable jobs need a store: --store DIR, or SQLFRONT_JOB_STORE")
    return session


def run(session: Session, options: argparse.Namespace) -> ExitCode:
    """Run the action that ``options`` names (list, show, cancel, resume, drop, log); return the exit code.
    Raises the errors of the statements, and ProgrammingError for an unknown job."""
    match options.action:
        case "resume":
            _run_files(session, options)
            return _resume(session, options.name)
        case "log" | "logs":
            service = _service(session)
            for line in log_lines(service.log(_job(service, options.name).id)):
                print(line)
        case action:
            name = _quoted(options.name or "")
            script = Script(text=_STATEMENTS[action].format(name))
            run_batch(session, statements([script]), _batch(options.format))
    return ExitCode.OK


def _run_files(session: Session, options: argparse.Namespace) -> None:
    run_batch(session, statements([Script(path=path) for path in options.file]), _batch("none"))


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _batch(format_name: str) -> Batch:
    return Batch(format_name, sys.stdout.buffer, quiet=True)


def _service(session: Session) -> JobService:
    assert session.context.jobs is not None
    return session.context.jobs


def _job(service: JobService, name: str) -> DurableJob:
    job = service.find(name)
    if job is None:
        raise ProgrammingError(f"there is no job `{name}` in {service.address}")
    return job


# ---- resume


def _resume(session: Session, name: str) -> ExitCode:
    """Resume a job, and wait until it ends; return the exit code. Ctrl-C ends the command, and the job can be
    resumed again. Raises the job's error if the job has failed."""
    try:
        session.execute(f"RESUME JOB {_quoted(name)}").close()
        status = _followed(_job(_service(session), name))
    except KeyboardInterrupt:
        print("sqlfront: the job is left, and can be resumed again", file=sys.stderr)
        raise
    _tell_end(status)
    if status.error is not None:
        raise as_error(status.error)
    return ExitCode.OK if status.phase is JobPhase.FINISHED else ExitCode.STATEMENT


def _followed(job: DurableJob) -> DurableJobStatus:
    """Wait until the job has ended, and return its status; at a terminal, show the progress meanwhile. Raises
    OperationalError if this process has stopped running the job before its end."""
    if not sys.stderr.isatty():
        return _ended(job)
    with ProgressLine(sys.stderr) as line, line.showing(partial(_progress_text, job)):
        return _ended(job)


def _ended(job: DurableJob) -> DurableJobStatus:
    while not (status := job.wait(INTERVAL)).has_ended:
        if status.phase is JobPhase.RECOVERING:
            raise OperationalError("the job is left, and can be resumed again")
    return status


def _tell_end(status: DurableJobStatus) -> None:
    print(f"{_name(status)}: {status.phase.value}, {_parts(status)}", file=sys.stderr, flush=True)


# ---- watch


def watch(options: argparse.Namespace) -> NoReturn:
    """Take over the jobs of the store whenever no process owns it, again and again, until Ctrl-C. A line to
    standard error tells of each job that has ended, and of each error of the store. ``options``: the options
    of the command. Raises ProgrammingError if the options name no job store, and the errors of opening the
    session and of the statements in files that the options name."""
    with session_of(options) as session:
        _run_files(session, options)
        service = _service(session)
        text = f"standing by for the jobs of {service.address}"
        begins = partial(print, text, file=sys.stderr, flush=True)
        StandBy(service, begins=begins, ended=_tell_end, failed=_tell).run()
    raise AssertionError("the loop ends by Ctrl-C only")


def _tell(text: str) -> None:
    print(f"sqlfront: {text}", file=sys.stderr, flush=True)


def _name(status: DurableJobStatus) -> str:
    return one_line(status.name, _NAME_WIDTH)


def _parts(status: DurableJobStatus) -> str:
    return f"{status.tasks_done} of {status.tasks} tasks, {status.restored} restored"


def _progress_text(job: DurableJob) -> str:
    """Return the job's progress in stages and tasks, as one line. If the status can't be read, the line is
    the error, since a line of progress must not end the job."""
    try:
        status = job.status()
    except Error as error:
        return str(error)
    return f"{_name(status)}: {status.stages_done} of {status.stages} stages, {_parts(status)}"


# ---- arguments


def parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments behind ``sqlfront job``."""
    parser = argparse.ArgumentParser(
        prog="sqlfront job",
        description="Look at the durable jobs of a store (CREATE JOB), cancel, resume and drop them.",
        epilog="Exit codes: 0 ok, 1 an error, or a job that did not finish, 2 usage, 3 no store, 130 Ctrl-C.",
    )
    actions = parser.add_subparsers(required=True, metavar="ACTION", dest="action")
    for action, text in (
        ("list", "list the jobs"),
        ("show", "show the facts about a job"),
        ("cancel", "end a job"),
        ("resume", "run a job on whose process is gone, here, until its end"),
        ("watch", "stand by, and run all jobs on whose process is gone"),
        ("drop", "remove a job with its files and its log"),
        ("log", "print the log of a job"),
    ):
        made = actions.add_parser(action, help=text, aliases=["logs"] if action == "log" else [])
        if action not in ("list", "watch"):
            made.add_argument("name", metavar="NAME", help="the name of the job, or its id")
        made.add_argument("--store", metavar="DIR|URL", help="the job store (default: $SQLFRONT_JOB_STORE)")
        made.add_argument(
            "--connection",
            metavar="NAME|URL",
            help="a connection of sqlfront.toml, or a URL, with a job store",
        )
        if action in ("list", "show"):
            made.add_argument("--format", choices=FORMATS, default="table", help="how rows are printed")
        if action in ("resume", "watch"):
            made.add_argument(
                "-f",
                "--file",
                action="append",
                default=[],
                metavar="FILE",
                help="run a file first, such as the CREATE TABLE of the table that the job fills",
            )
        made.set_defaults(format="table", name=None)
    return parser
