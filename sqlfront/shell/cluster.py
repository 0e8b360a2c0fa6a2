"""``sqlfront member`` and ``sqlfront cluster``: starting, looking at and stopping clusters by hand."""

import argparse
import base64
import logging
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from sqlfront.cluster.addresses import (
    PRIVATE,
    SECRET_VARIABLE,
    RunFile,
    lock,
    run_directory,
    running_cluster,
)
from sqlfront.cluster.processes import SERVICE
from sqlfront.cluster.service import service
from sqlfront_engine.errors import Error, OperationalError, ProgrammingError
from sqlfront_engine.launchers.by_hand import FirstMember, join
from sqlfront_engine.launchers.child import serve
from sqlfront_engine.launchers.local import LocalCluster
from sqlfront_engine.launchers.running import MemberOptions, RunningMember
from sqlfront_engine.members.listing import JobListing, wait_for_jobs
from sqlfront_engine.members.member_list import MemberList

#: Seconds that starting and stopping may take.
PATIENCE: Final = 60.0
#: Characters of a query that are shown.
QUERY_WIDTH: Final = 60


def main(arguments: Sequence[str]) -> int:
    """Run ``sqlfront member ...`` or ``sqlfront cluster ...``; returns the exit code."""
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
    secret = _secret(options.secret_file)
    if options.join is not None:
        running = join(options.bind, options.join, secret, service())
        joined = f"member {running.membership.name} has joined {options.join}"
        return serve(running, wait_for_input=False, ready=partial(print, joined, flush=True))
    first = FirstMember(options.bind, secret, service())
    keeps = f"member {first.running.membership.name} keeps a new cluster at {first.address}"
    try:
        return serve(first.running, wait_for_input=False, ready=partial(print, keeps, flush=True))
    finally:
        first.close()


def _secret(file: str | None) -> bytes:
    """The cluster's secret, from the file or the environment."""
    text = os.environ.get(SECRET_VARIABLE, "") if file is None else Path(file).read_text("utf-8")
    if not text.strip():
        source = f"the variable {SECRET_VARIABLE}" if file is None else file
        raise ProgrammingError(f"a cluster needs a secret; {source} has none (or use --secret-file)")
    return text.strip().encode()


# ---- a cluster on this machine


def _start(options: argparse.Namespace) -> int:
    directory = run_directory(options.directory)
    running = running_cluster(directory)
    if running is not None:
        raise OperationalError(f"the cluster of {directory} runs already, at {running.address}")
    command = [sys.executable, "-m", "sqlfront", "cluster", "run", "-n", str(options.members)]
    command += ["--directory", str(directory)]
    if options.bind is not None:
        command += ["--bind", options.bind]
    with open(directory / "launcher.log", "wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, start_new_session=True
        )
    assert process.stdout is not None
    with process.stdout:
        told = process.stdout.readline().decode()
    if not told:
        process.wait()
        tail = (directory / "launcher.log").read_text("utf-8", "replace")[-2000:]
        raise OperationalError(f"the cluster could not be started:\n{tail}")
    process.returncode = 0  # it goes on without this process
    print(told, end="")
    return 0


def _run(options: argparse.Namespace) -> int:
    """The launcher's process: it holds the lock of the directory as long as it lives."""
    directory = run_directory(options.directory)
    held = lock(directory)
    if held is None:
        raise OperationalError(f"the cluster of {directory} runs already")
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    secret = base64.b64encode(secrets.token_bytes(32))
    files = directory / "secret", directory / "cluster.json"
    try:
        with LocalCluster(
            options.members,
            keeper_address=options.bind,
            tcp=options.bind is not None,
            service=SERVICE,
            secret=secret,
        ) as cluster:
            _write(files[0], secret)
            _write(files[1], msgspec.json.encode(RunFile(os.getpid(), cluster.address)))
            print(f"{options.members} members run at {cluster.address}", flush=True)
            os.close(sys.stdout.fileno())
            ended.wait()
    finally:
        for file in files:
            file.unlink(missing_ok=True)
        os.close(held)
    return 0


def _status(options: argparse.Namespace) -> int:
    directory = run_directory(options.directory)
    running = running_cluster(directory)
    if running is None:
        print(f"no cluster runs in {directory}")
        return 3
    print(f"cluster at {running.address}, process {running.pid}")
    for line in describe(*_look(directory, running)):
        print(line)
    return 0


def describe(members: MemberList, running: JobListing) -> list[str]:
    """A line for each member, then one for each query that runs."""
    lines = []
    for each in members.members:
        kind = "client" if each.lite else "leaving" if each.leaving else "member"
        owned = members.owners.count(each.name)
        silent = "  does not answer" if each.name in running.silent else ""
        lines.append(f"  {each.name}  {kind}  {owned} partitions{silent}")
    for job in running.jobs:
        text = " ".join(job.description.split())[:QUERY_WIDTH]
        lines.append(f"  query {job.id}  at {job.coordinator}  {job.seconds:.1f} s  {text}")
    return lines


def _look(directory: Path, running: RunFile) -> tuple[MemberList, JobListing]:
    """The members beside this one, and the queries that run on them."""
    secret = (directory / "secret").read_bytes()
    name = f"status-{os.getpid()}-{secrets.token_hex(2)}"
    with RunningMember(MemberOptions(name, running.address, workers=1), secret) as client:
        members, queries = client.member.members, wait_for_jobs(client.member.list_jobs)
    others = tuple(each for each in members.members if each.name != name)
    return msgspec.structs.replace(members, members=others), queries


def _stop(options: argparse.Namespace) -> int:
    directory = run_directory(options.directory)
    running = running_cluster(directory)
    if running is None:
        print(f"no cluster runs in {directory}")
        return 3
    os.kill(running.pid, signal.SIGTERM)
    deadline = time.monotonic() + PATIENCE
    while running_cluster(directory) is not None:
        if time.monotonic() > deadline:
            raise OperationalError(f"process {running.pid} does not end within {PATIENCE:g} s")
        time.sleep(0.02)
    print("the cluster has ended")
    return 0


def _write(file: Path, content: bytes) -> None:
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(content)


# ---- arguments


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sqlfront")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    member = commands.add_parser("member", help="be a member of a cluster until SIGTERM")
    member.add_argument(
        "--bind", required=True, metavar="ADDRESS", help="host:port or unix:/path of this member"
    )
    member.add_argument(
        "--join", metavar="ADDRESS", help="the cluster's keeper; without it a new cluster is begun"
    )
    member.add_argument(
        "--secret-file", metavar="FILE", help=f"holds the cluster's secret (default: ${SECRET_VARIABLE})"
    )
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
            action.add_argument("-n", "--members", type=int, default=3, help="how many (default: 3)")
            action.add_argument(
                "--bind", metavar="ADDRESS", help="the keeper's address (default: a Unix socket)"
            )
    return parser
