"""Commands ``sqlfront member`` and ``sqlfront cluster``: starting, inspecting and stopping clusters by
hand."""

import argparse
import base64
import logging
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from sqlfront.cluster.addresses import (
    has_launcher,
    lock,
    run_directory,
    running_cluster,
)
from sqlfront.cluster.cluster_settings import ClusterSettings, begin_with
from sqlfront.cluster.credentials import Credentials, Protection, security_of
from sqlfront.cluster.private_folder import PrivateFolder
from sqlfront.cluster.processes import SERVICE
from sqlfront.cluster.run_files import LOOK, await_end, begin, clear, leave_credentials
from sqlfront.cluster.service import service
from sqlfront.config import check_job_store
from sqlfront.shell.encryption_arguments import add_encryption
from sqlfront.shell.member import MemberStart, run_by_address, run_in_directory
from sqlfront.shell.ways_in import for_others, ways_in
from sqlfront_cluster.launchers.end_of_process import EndOfProcess
from sqlfront_cluster.launchers.handover_rules import HANDOVER_TIMEOUT, HandoverRules
from sqlfront_cluster.launchers.keeper_office import CREDENTIALS, STOPPING, HeldOffice, RunFile
from sqlfront_cluster.launchers.local import STOP_TIMEOUT, LocalCluster
from sqlfront_cluster.launchers.running import MemberOptions, RunningMember
from sqlfront_cluster.members.protocol.member_list import MemberList
from sqlfront_cluster.members.questions.listing import JobListing, wait_for_jobs
from sqlfront_cluster.network.addresses import Address
from sqlfront_engine.file_access import FileAccess
from sqlfront_engine.processors.own_classes import is_module_name
from sqlfront_values.errors import Error, OperationalError, ProgrammingError

#: Seconds that starting and stopping may take: far longer than either takes, since the limit only ends a wait
#: for a process that hangs.
PATIENCE: Final = 60.0
#: The file in a cluster's folder with what the launcher has logged.
_LOG: Final = "launcher.log"
#: Characters of a query's text to show, so that the other columns of the listing fit beside the text.
QUERY_WIDTH: Final = 60


def main(arguments: Sequence[str]) -> int:
    """Run ``sqlfront member ...`` or ``sqlfront cluster ...``; return the exit code: 0 for success, 1 for an
    error, 3 if ``status`` or ``stop`` finds no cluster."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.function(options)
    except Error as error:
        print(f"sqlfront: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"sqlfront: {error}", file=sys.stderr)
        return 1
    return code


# ---- one member


def _member(options: argparse.Namespace) -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    if options.join is not None and options.directory is not None:
        raise ProgrammingError("the keeper is found by --join or by --directory, not by both")
    if options.join is not None and options.backups is not None:
        raise ProgrammingError("--backups is for a cluster that the member begins, not for one that it joins")
    start = MemberStart(
        options.bind,
        _member_protection(options),
        service(**service_settings(options)),
        _files(options),
        options.allow_user_code,
        _processor_modules(options),
        _handover(options),
        options.job_store,
        ClusterSettings(options.backups),
    )
    if options.directory is not None:
        return run_in_directory(start, options.directory)
    return run_by_address(start, options.join)


def service_settings(options: argparse.Namespace, number: int = 0) -> dict[str, str]:
    """Return the settings for the service that a member runs (:func:`sqlfront.cluster.service.service`):
    tracing, the job store, and the address of its metrics. The port of that address is the port of
    ``--metrics`` plus the member's ``number``. Raises ProgrammingError if ``--metrics`` is not ``host:port``,
    or the sum is no valid port."""
    settings = {"tracing": "on"} if options.tracing else {}
    if options.job_store is not None:
        check_job_store(options.job_store)
        settings["job_store"] = options.job_store
    if options.metrics is None:
        return settings
    host, _, port = options.metrics.rpartition(":")
    if port.isdecimal() and port != "0":
        port = str(int(port) + number)
    try:
        address = Address.parse(f"{host}:{port}")
    except ProgrammingError:
        address = None
    if address is None or address.path is not None:
        text = f"--metrics takes host:port, and each member has a port: not {options.metrics!r}"
        raise ProgrammingError(text)
    return {**settings, "metrics": str(address)}


def _files(options: argparse.Namespace) -> FileAccess:
    """Return the rule of ``--file-access``: which files members open for their clients; by default none.
    Raises ProgrammingError for ``all`` or ``none`` together with folders."""
    said = options.file_access or ["none"]
    words = {"all", "none"} & {*said}
    if words and len(said) > 1:
        raise ProgrammingError(f"--file-access {words.pop()} can't be combined with folders")
    return FileAccess.of(said[0] if words else said)


def _protection(options: argparse.Namespace) -> Protection:
    """Return the settings for encryption that the command line gives; the others are None."""
    return Protection(
        certificate=options.certificate,
        key=options.key,
        authority=options.authority,
        insecure=options.insecure or None,
    )


def _member_protection(options: argparse.Namespace) -> Protection:
    """Return the security settings of a member that the command line gives, with the secret of
    ``--secret-file``. Raises ProgrammingError for a file without a secret."""
    secret = None
    if options.secret_file is not None:
        secret = Path(options.secret_file).read_text("utf-8").strip()
        if not secret:
            raise ProgrammingError(f"a cluster needs a secret; {options.secret_file} has none")
    said = Protection(secret=secret, credentials=options.credentials)
    return said.or_else(_protection(options))


# ---- a cluster on this machine


def _start(options: argparse.Namespace) -> int:
    with run_directory(options.directory) as directory:
        running = running_cluster(directory)
        if running is not None:
            raise OperationalError(f"the cluster of {directory.path} runs already, at {running.address}")
        command = [sys.executable, "-m", "sqlfront", "cluster", "run", *_said(options, directory.path)]
        log_name = f"launcher.{os.getpid()}.log"
        directory.create(log_name)
        with os.fdopen(directory.open(log_name, os.O_WRONLY), "wb") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, start_new_session=True
            )
        assert process.stdout is not None
        with process.stdout:
            told = process.stdout.read().decode()
        if not told:
            code = process.wait()
            tail = directory.read(log_name).decode("utf-8", "replace")[-2000:]
            if has_launcher(directory):  # of another command: the log in use is its own
                directory.remove(log_name)
            else:
                directory.rename(log_name, _LOG)
            nothing = f"exit code {code}, and nothing is in its log; is the disk full?"
            raise OperationalError(f"the cluster could not be started:\n{tail or nothing}")
        directory.rename(log_name, _LOG)
    process.returncode = 0  # the launcher goes on without this process
    print(told, end="")
    print(*ways_in(None if options.directory is None else directory.path.absolute()), sep="\n")
    if options.certificate is not None:
        print("give --certificate, --key and --authority (in Python: certificate, key, authority), too")
    return 0


def _said(options: argparse.Namespace, directory: Path) -> list[str]:
    """Return the arguments of ``sqlfront cluster run`` for those of ``start``. Raises ProgrammingError for
    arguments that no member takes."""
    if options.metrics is not None:
        service_settings(options, options.members - 1)
    said = {
        "members": [options.members],
        "directory": [directory],
        "file-access": options.file_access or (),
        "processor-module": _processor_modules(options),
        "handover-timeout": [_handover(options).timeout],
        **{
            name: [value]
            for name in ("bind", "metrics", "job-store", "certificate", "key", "authority", "backups")
            if (value := getattr(options, name.replace("-", "_"))) is not None
        },
    }
    # With "=": a value may begin with "-".
    values = [f"--{name}={value}" for name, given in said.items() for value in given]
    switches = ("tracing", "force-leave", "insecure", "allow-user-code")
    return values + [f"--{name}" for name in switches if getattr(options, name.replace("-", "_"))]


def _run(options: argparse.Namespace) -> int:
    """Run ``sqlfront cluster run``, the process that runs a cluster's members, and return the exit code 0.
    The process holds the lock of the cluster's directory as long as it lives, and removes its files at the
    end. Raises OperationalError if another process has the lock."""
    with run_directory(options.directory) as directory, EndOfProcess() as end:
        office = begin(directory)
        try:
            _keep(options, directory, office, end)
        finally:
            if office.is_held():
                await_end(directory, STOP_TIMEOUT)  # of members that others have started
                clear(directory)
            office.release()
    return 0


def _keep(
    options: argparse.Namespace, directory: PrivateFolder, office: HeldOffice, end: EndOfProcess
) -> None:
    """Run the cluster's members until the ``end``, by SIGTERM or SIGINT. Clients find the secret, the
    credentials and the cluster's address in files that this function writes into ``directory``. If another
    process takes the ``office`` of keeper, it has the members from then on."""
    secret = base64.b64encode(secrets.token_bytes(32))
    with LocalCluster(
        options.members,
        keeper_address=options.bind,
        silence_limit=5.0,  # no other code holds up this process
        service=SERVICE,
        settings=partial(service_settings, options),
        secret=secret,
        files=_files(options),
        user_code=options.allow_user_code,
        processor_modules=_processor_modules(options),
        tls=_protection(options).tls(),
        insecure=options.insecure,
        office=office,
        on_superseded=end.wake,
        handover=_handover(options),
    ) as cluster:
        leave_credentials(
            directory,
            cluster.secret.decode(),
            cluster.address,
            own_certificates=options.certificate is not None,
            insecure=options.insecure,
        )
        if options.backups is not None:
            with cluster.client() as client:
                begin_with(client, ClusterSettings(options.backups))
        office.announce(cluster.address, str(cluster.folder))
        print(f"{options.members} members run at {cluster.address}", flush=True)
        own, file = options.certificate is not None, directory.path / CREDENTIALS
        for line in for_others(cluster.address, file, own_certificates=own, insecure=options.insecure):
            print(line, flush=True)
        os.close(sys.stdout.fileno())
        end.wait()
        if not office.is_held():
            cluster.abandon()


def _status(options: argparse.Namespace) -> int:
    if _is_missing(options.directory):
        return _none_runs(options.directory)
    with run_directory(options.directory) as directory:
        running = running_cluster(directory)
        if running is None:
            return _none_runs(directory.path)
        print(f"cluster at {running.address}, process {running.pid}")
        for line in describe(*_look(directory, running, options)):
            print(line)
    return 0


def _is_missing(directory: str | None) -> bool:
    """Return whether the given directory doesn't exist, which only the start of a cluster makes."""
    return bool(directory) and not os.path.lexists(str(directory))


def _none_runs(directory: str | Path) -> int:
    print(f"no cluster runs in {directory}")
    return 3


def describe(members: MemberList, running: JobListing) -> list[str]:
    """Return the lines that ``status`` prints: one for each member, then one for each running query."""
    lines = []
    for each in members.members:
        owned = members.owners.count(each.name)
        silent = "  does not answer" if each.name in running.silent else ""
        lines.append(f"  {each.name}  {each.role}  {owned} partitions{silent}")
    for job in running.jobs:
        text = " ".join(job.description.split())[:QUERY_WIDTH]
        lines.append(f"  query {job.id}  at {job.coordinator}  {job.seconds:.1f} s  {text}")
    return lines


def _look(
    directory: PrivateFolder, running: RunFile, options: argparse.Namespace
) -> tuple[MemberList, JobListing]:
    """Join the cluster as a client for a moment. Return the member list without this client, and the queries
    that run on the members."""
    left = Credentials.parsed(directory.read(CREDENTIALS), directory.path / CREDENTIALS)
    name = f"status-{os.getpid()}-{secrets.token_hex(2)}"
    member = MemberOptions(name, running.address, workers=1)
    with RunningMember(member, security_of(_protection(options).found(left))) as client:
        members, queries = client.member.members, wait_for_jobs(client.member.list_jobs)
    others = tuple(each for each in members.members if each.name != name)
    return msgspec.structs.replace(members, members=others), queries


def _stop(options: argparse.Namespace) -> int:
    if _is_missing(options.directory):
        return _none_runs(options.directory)
    with run_directory(options.directory) as directory:
        running = running_cluster(directory)
        if running is None:
            return _none_runs(directory.path)
        directory.create(STOPPING)  # a member that is the keeper ends the cluster instead of leaving it
        os.kill(running.pid, signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        while has_launcher(directory):  # the launcher removes its run file before it ends
            if time.monotonic() > deadline:
                raise OperationalError(f"process {running.pid} does not end within {PATIENCE:g} s")
            time.sleep(LOOK)
        if not await_end(directory, PATIENCE):
            raise OperationalError("a member does not end: is its process stopped?")
        held = lock(directory)
        if held is not None:  # the keeper was a member, which leaves the files to the next keeper
            clear(directory)
            os.close(held)
    print("the cluster has ended")
    return 0


# ---- arguments


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sqlfront")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    member = commands.add_parser("member", help="be a member of a cluster until SIGTERM")
    member.add_argument(
        "--bind", metavar="ADDRESS", help="host:port or unix:/path of this member (default: a Unix socket)"
    )
    member.add_argument(
        "--join", metavar="ADDRESS", help="the cluster's keeper; without it a new cluster is begun"
    )
    member.add_argument(
        "--directory",
        metavar="DIR",
        help="where the cluster's files are kept, such as that of `sqlfront cluster start`: the member joins"
        " the cluster, or begins it, and another member of the directory becomes the keeper when the keeper"
        " is gone (in place of --join)",
    )
    member.add_argument(
        "--secret-file", metavar="FILE", help="holds the cluster's secret (default: $SQLFRONT_SECRET)"
    )
    member.add_argument("--credentials", metavar="FILE", help="holds the secret, and perhaps a certificate")
    _add_observation(member, "where this process serves metrics to Prometheus, host:port (default: nowhere)")
    _add_job_store(
        member,
        "the member stands by",
        "; without --directory the store decides which member is the next keeper",
    )
    _add_file_access(member)
    _add_user_code(member)
    _add_handover(member)
    _add_backups(member, ", only for the member that begins the cluster")
    add_encryption(member)
    member.set_defaults(function=_member)
    cluster = commands.add_parser("cluster", help="members on this machine")
    actions = cluster.add_subparsers(required=True, metavar="ACTION")
    for name, function, text in (
        ("start", _start, "start members in the background"),
        ("run", _run, "start members and stay until SIGTERM"),
        ("status", _status, "list the members and the queries that run"),
        ("stop", _stop, "end the members"),
    ):
        action = actions.add_parser(name, help=text)
        action.add_argument("--directory", metavar="DIR", help="where the cluster's files are kept")
        action.set_defaults(function=function)
        if function in (_start, _run):
            action.add_argument("-n", "--members", type=_count, default=3, help="how many (default: 3)")
            action.add_argument(
                "--bind", metavar="ADDRESS", help="the keeper's address (default: a Unix socket)"
            )
            _add_observation(
                action,
                "where the first member serves metrics to Prometheus, host:port; the second one at the next"
                " port, and so on (default: nowhere)",
            )
            _add_job_store(action, "the members stand by")
            _add_file_access(action)
            _add_user_code(action)
            _add_handover(action)
            _add_backups(action)
        if function is not _stop:
            add_encryption(action)
    return parser


def _count(text: str) -> int:
    """Return the number of members that ``text`` states. Raises ArgumentTypeError for less than one."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of members, 1 or more")
    return int(text)


def _add_observation(parser: argparse.ArgumentParser, metrics: str) -> None:
    parser.add_argument("--metrics", metavar="ADDRESS", help=metrics)
    parser.add_argument(
        "--tracing",
        action="store_true",
        help="make spans of OpenTelemetry for parts of jobs; opentelemetry-instrument exports them",
    )


def _add_handover(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--handover-timeout",
        type=float,
        default=HANDOVER_TIMEOUT,
        metavar="SECONDS",
        help="how long a member that gets SIGTERM may move its rows to other members; what is left then is"
        f" lost (default: {HANDOVER_TIMEOUT:g})",
    )
    parser.add_argument(
        "--force-leave",
        action="store_true",
        help="a member that gets SIGTERM leaves also where the others have no room for its rows; these are"
        " lost (default: it stays, and another SIGTERM ends it)",
    )


def _add_backups(parser: argparse.ArgumentParser, more: str = "") -> None:
    parser.add_argument(
        "--backups",
        type=int,
        choices=(0, 1, 2),
        help="number of other members that hold a copy of each row of a memory table, unless the table or the"
        f" session says otherwise (default: 1){more}",
    )


def _handover(options: argparse.Namespace) -> HandoverRules:
    """Return the bounds of a handover by the command line. Raises ProgrammingError for a timeout that is no
    number of seconds."""
    return HandoverRules(options.handover_timeout, options.force_leave)


def _add_job_store(parser: argparse.ArgumentParser, stands_by: str, more: str = "") -> None:
    parser.add_argument(
        "--job-store",
        metavar="DIR|URL",
        help=f"{stands_by} to go on with durable jobs of this store whose process is gone; the files of"
        f" --file-access must include the store and the files of the jobs{more} (default: none)",
    )


def _processor_modules(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the modules of the options ``--processor-module``. Raises ProgrammingError for a text that is no
    name of a module."""
    names = tuple(options.processor_module or ())
    for name in names:
        if not is_module_name(name):
            raise ProgrammingError(f"--processor-module: {name!r} is no name of a module")
    return names


def _add_user_code(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-user-code",
        action="store_true",
        help="members run Python functions that their clients send (default: they refuse)",
    )
    parser.add_argument(
        "--processor-module",
        action="append",
        metavar="MODULE",
        help="a module, with its submodules, whose processors members import and run for their clients;"
        " several times (default: none)",
    )


def _add_file_access(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--file-access",
        action="append",
        metavar="DIR",
        help="a folder of which members may read and write files for their clients; several times, or `all` "
        "(default: none)",
    )
