"""sqlfront cluster start, status, stop; sqlfront member."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from sqlfront.cluster.addresses import lock, run_directory
from sqlfront.shell.cluster import describe, main
from sqlfront_cluster.launchers.keeper_office import RunFile
from sqlfront_cluster.members.listing import JobListing
from sqlfront_cluster.members.member_list import MemberInfo, MemberList
from sqlfront_engine.job_statistics import JobStatus, JobSummary

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
COMMAND = [sys.executable, "-m", "sqlfront"]


def sqlfront(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, *arguments], env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_cluster_is_started_looked_at_and_stopped(tmp_path: Path) -> None:
    place = ("--directory", str(tmp_path / "run"))
    try:
        started = sqlfront("cluster", "start", "-n", "2", *place)
        assert started.returncode == 0 and started.stdout.startswith("2 members run at unix:"), started
        assert stat.S_IMODE((tmp_path / "run" / "secret").stat().st_mode) == 0o600
        assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o700

        assert sqlfront("cluster", "start", *place).returncode == 1
        status = sqlfront("cluster", "status", *place)
        assert sorted(line.split()[:2] for line in status.stdout.splitlines()[1:]) == [
            ["local-0", "member"],
            ["local-1", "member"],
        ]
    finally:
        stopped = sqlfront("cluster", "stop", *place)
    assert (stopped.returncode, stopped.stdout) == (0, "the cluster has ended\n")
    assert sqlfront("cluster", "status", *place).returncode == 3
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["launcher.log", "lock"]


def test_stop_waits_for_a_launcher_that_has_removed_its_run_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with run_directory(str(tmp_path / "run")) as directory:
        held = lock(directory)
        assert held is not None
        directory.create("cluster.json", msgspec.json.encode(RunFile(os.getpid(), "unix:/nowhere")))
        monkeypatch.setattr(os, "kill", lambda *_: directory.remove("cluster.json"))
        monkeypatch.setattr(time, "sleep", lambda _: os.close(held))

        assert main(["cluster", "stop", "--directory", str(tmp_path / "run")]) == 0

    assert capsys.readouterr().out == "the cluster has ended\n"


def test_a_place_without_room_is_told(tmp_path: Path) -> None:
    """No file may have a byte, neither the secret nor the log that would say so."""
    code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0));"
    arguments = ["sqlfront", "cluster", "start", "-n", "1", "--directory", str(tmp_path / "run")]
    code += f"import sys, runpy; sys.argv = {arguments}; runpy.run_module('sqlfront', run_name='__main__')"
    tried = subprocess.run(
        [sys.executable, "-B", "-c", code],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert tried.returncode == 1 and "is the disk full?" in tried.stderr, tried
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["launcher.log", "lock"]


def test_one_commands_tables_are_there_for_the_next(tmp_path: Path) -> None:
    place = ("--directory", str(tmp_path / "run"))
    started = sqlfront("cluster", "start", "-n", "2", *place)
    try:
        assert started.returncode == 0, started
        path = started.stdout.split("unix:")[1].strip()
        given = ("--cluster", f"sqlfront://{path}", "--secret-file", str(tmp_path / "run" / "secret"))
        made = sqlfront(*given, "-c", "CREATE TABLE t USING memory AS SELECT id FROM range(100)")
        assert (made.returncode, made.stderr[:8]) == (0, "100 rows"), made
        read = sqlfront(*given, "--format", "csv", "-c", "SELECT count(*) AS n, sum(id) AS s FROM t")
        assert (read.returncode, read.stdout.split()) == (0, ["n,s", "100,4950"]), read
        (tmp_path / "wrong").write_text("guess")
        refused = sqlfront(*given[:2], "--secret-file", str(tmp_path / "wrong"), "-c", "SELECT 1")
        assert refused.returncode == 3, refused
    finally:
        stopped = sqlfront("cluster", "stop", *place)
    assert stopped.returncode == 0
    gone = sqlfront(*given[:2], "-c", "SELECT 1")
    assert gone.returncode == 3 and "needs a secret" in gone.stderr


def test_a_command_can_bring_its_own_members() -> None:
    sql = "CREATE TABLE t USING memory AS SELECT id FROM range(100); SELECT count(*) AS n FROM sys.members"
    counted = sqlfront("--members", "2", "--launcher", "local", "--format", "csv", "-c", sql)
    assert (counted.returncode, counted.stdout.split()) == (0, ["n", "3"]), counted


def test_a_cluster_and_own_members_exclude_each_other() -> None:
    refused = sqlfront("--cluster", "sqlfront://127.0.0.1:1", "--members", "2", "-c", "SELECT 1")
    assert refused.returncode == 3 and "no members of its own" in refused.stderr


def test_the_status_shows_members_and_queries() -> None:
    members = MemberList(
        7,
        (MemberInfo("a"), MemberInfo("b", leaving=True), MemberInfo("c", lite=True)),
        ("a",) * 200 + ("b",) * 71,
    )
    query = JobSummary(42, "c", JobStatus.RUNNING, 0.0, 1.26, ("a", "c"), f"select 1,\n  {'x' * 100}")

    assert describe(members, JobListing((query,), ("b",))) == [
        "  a  member  200 partitions",
        "  b  leaving  71 partitions  does not answer",
        "  c  client  0 partitions",
        f"  query 42  at c  1.3 s  select 1, {'x' * 50}",
    ]


def test_members_are_started_by_hand(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("open sesame\n")
    keeper = f"unix:{tmp_path}/k"
    given = ("--secret-file", str(secret))
    first = subprocess.Popen(
        [*COMMAND, "member", "--bind", keeper, *given], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
    )
    second = None
    try:
        assert first.stdout is not None
        assert f"keeps a new cluster at {keeper}" in first.stdout.readline()
        second = subprocess.Popen(
            [*COMMAND, "member", "--bind", f"unix:{tmp_path}/m", "--join", keeper, *given],
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert second.stdout is not None
        assert f"has joined {keeper}" in second.stdout.readline()
        second.send_signal(signal.SIGTERM)
        assert second.wait(30) == 0
        first.send_signal(signal.SIGTERM)
        assert first.wait(30) == 0
    finally:
        for process in (first, second):
            if process is not None:
                process.kill()
                process.communicate()
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


OF_ANOTHER_VERSION = """
import sys
from sqlfront_cluster.network import frames, handshake
frames.PROTOCOL_VERSION = handshake.PROTOCOL_VERSION = 99
from sqlfront.__main__ import main
sys.exit(main())
"""


def test_a_member_of_another_version_or_with_another_secret_is_refused_by_name(tmp_path: Path) -> None:
    for name, text in (("secret", "open sesame"), ("other", "close sesame")):
        (tmp_path / name).write_text(text)
    keeper = f"unix:{tmp_path}/k"
    member = ["member", "--bind", f"unix:{tmp_path}/m", "--join", keeper, "--secret-file"]
    first = subprocess.Popen(
        [*COMMAND, "member", "--bind", keeper, "--secret-file", str(tmp_path / "secret")],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert first.stdout is not None
        assert "keeps a new cluster" in first.stdout.readline()
        other = sqlfront(*member, str(tmp_path / "other"))
        assert other.returncode == 1
        assert "the two have different secrets" in other.stderr
        later = subprocess.run(
            [sys.executable, "-c", OF_ANOTHER_VERSION, *member, str(tmp_path / "secret")],
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert later.returncode == 1
        assert "speaks version 1 of the protocol, this member 99" in later.stderr
        assert first.poll() is None
    finally:
        first.kill()
        first.communicate()


@pytest.mark.parametrize("bind", ["nowhere", "127.0.0.1"])
def test_a_wrong_address_is_an_error(bind: str) -> None:
    tried = subprocess.run(
        [*COMMAND, "member", "--bind", bind],
        env={**ENVIRONMENT, "SQLFRONT_SECRET": "x"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert tried.returncode == 1 and "is not an address" in tried.stderr


@pytest.mark.parametrize("arguments", [("member", "--bind", "unix:m"), ("cluster", "start")])
@pytest.mark.parametrize("seconds", ["-1", "nan", "inf"])
def test_a_wrong_limit_of_a_handover_is_an_error(
    arguments: tuple[str, ...],
    seconds: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SQLFRONT_SECRET", "x")
    place = ("--directory", str(tmp_path)) if arguments[0] == "cluster" else ()
    assert main([*arguments, *place, f"--handover-timeout={seconds}"]) == 1
    assert "handover_timeout must be a number of seconds" in capsys.readouterr().err
