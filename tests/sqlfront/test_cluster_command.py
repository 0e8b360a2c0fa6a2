"""sqlfront cluster start, status, stop; sqlfront member."""

import os
import shlex
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from sqlfront import OperationalError, ProgrammingError, connect
from sqlfront.cluster.addresses import lock, run_directory
from sqlfront.shell.cluster import describe, main
from sqlfront_cluster.launchers.keeper_office import RunFile
from sqlfront_cluster.members.protocol.member_list import MemberInfo, MemberList
from sqlfront_cluster.members.questions.listing import JobListing
from sqlfront_engine.job_statistics import JobStatus, JobSummary

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
COMMAND = [sys.executable, "-m", "sqlfront"]


def sqlfront(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, *arguments], env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False
    )


def check_ways_in(told: str, folder: Path) -> None:
    """Connect by each line that was printed, and by the folder's relative path."""
    said = dict(line.split(maxsplit=1) for line in told.splitlines()[-3:])
    count = ("-c", "SELECT count(*) FROM sys.members WHERE role = 'member'", "--format", "csv", "--quiet")
    command, *options = shlex.split(said["shell"])
    assert command == "sqlfront"
    assert sqlfront(*options, *count).stdout.split() == ["count(1)", "2"]
    call = said["Python"]
    assert call == f"sqlfront.connect(cluster={str(folder)!r})"
    for target, cluster in ((said["URL"], None), (None, os.path.relpath(folder)), (None, folder)):
        with connect(target, cluster=cluster) as connection:
            assert connection.execute("SELECT 1 + 1").fetchall() == [(2,)]


def test_a_folder_without_a_cluster_stays_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "my run"
    folder.mkdir()
    with pytest.raises(OperationalError, match=f"no cluster runs in {folder}; .* --directory '{folder}'`"):
        connect(cluster=folder)
    assert list(folder.iterdir()) == []
    with pytest.raises(ProgrammingError, match="host:port, nor a folder that exists"):
        connect(cluster=tmp_path / "missing")
    with pytest.raises(ProgrammingError, match="is given as cluster="):
        connect(str(tmp_path))


def test_a_cluster_is_started_looked_at_and_stopped(tmp_path: Path) -> None:
    folder = tmp_path / "my run"
    place = ("--directory", str(folder))
    try:
        started = sqlfront("cluster", "start", "-n", "2", *place)
        assert started.returncode == 0 and started.stdout.startswith("2 members run at unix:"), started
        check_ways_in(started.stdout, folder)
        assert stat.S_IMODE((folder / "secret").stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700

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
    assert sorted(path.name for path in folder.iterdir()) == ["launcher.log", "lock"]
    with pytest.raises(
        OperationalError, match=f"no cluster runs in {folder}; start one with `sqlfront cluster"
    ):
        connect(cluster=folder)


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
    started = sqlfront("cluster", "start", "-n", "2", "--backups", "0", *place)
    try:
        assert started.returncode == 0, started
        path = started.stdout.split("unix:")[1].split()[0]
        given = ("--cluster", f"sqlfront://{path}", "--secret-file", str(tmp_path / "run" / "secret"))
        made = sqlfront(*given, "-c", "CREATE TABLE t USING memory AS SELECT id FROM range(100)")
        assert (made.returncode, made.stderr[:8]) == (0, "100 rows"), made
        read = sqlfront(*given, "--format", "csv", "-c", "SELECT count(*) AS n, sum(id) AS s FROM t")
        assert (read.returncode, read.stdout.split()) == (0, ["n,s", "100,4950"]), read
        held = sqlfront(*given, "--format", "csv", "-c", "SELECT DISTINCT size(backups) AS b FROM sys.shares")
        assert (held.returncode, held.stdout.split()) == (0, ["b", "0"]), held
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
        [*COMMAND, "member", "--bind", keeper, "--backups", "2", *given],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
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
        _, told = first.communicate(timeout=30)
        assert first.returncode == 0 and "its memory tables and views end with this process" in told
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


@pytest.mark.parametrize("bind", ["0.0.0.0:0", "[::]:0", "[0:0::0]:7654"])
@pytest.mark.parametrize("arguments", [("member",), ("member", "--join", "127.0.0.1:1"), ("cluster", "run")])
def test_an_address_that_others_cannot_reach_is_an_error(
    bind: str,
    arguments: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Members tell each other their addresses."""
    monkeypatch.setenv("SQLFRONT_SECRET", "x")
    place = ("--directory", str(tmp_path)) if arguments[0] == "cluster" else ()
    assert main([*arguments, *place, "--bind", bind]) == 1
    assert "members need an address under which others reach them" in capsys.readouterr().err


@pytest.mark.parametrize("count", ["0", "-1", "1.5", "many", ""])
@pytest.mark.parametrize("verb", ["start", "run"])
def test_a_cluster_has_a_member(
    verb: str, count: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["cluster", verb, f"--members={count}", "--directory", str(tmp_path)])
    assert f"{count!r} is no number of members" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", ["start", "run", "status", "stop"])
def test_an_empty_text_is_no_directory(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """That of a variable which isn't set was the current directory."""
    monkeypatch.chdir(tmp_path)
    assert main(["cluster", verb, "--directory", ""]) == 1
    assert "has a name, not an empty text" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", ["status", "stop"])
def test_a_look_makes_no_folder(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "missing"
    assert main(["cluster", verb, "--directory", str(missing)]) == 3
    assert capsys.readouterr().out == f"no cluster runs in {missing}\n"
    assert not missing.exists()


@pytest.mark.cluster
def test_an_odd_name_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = "-a b?c#d%20&e=f;'\"$é\n" + "x" * 200
    place = f"--directory={name}"
    started = sqlfront("cluster", "start", "-n", "1", place, f"--file-access={name}")
    try:
        assert started.returncode == 0, started
        url = next(line.split(maxsplit=1)[1] for line in started.stdout.splitlines() if "URL" in line)
        for target, cluster in ((url, None), (None, tmp_path / name)):
            with connect(target, cluster=cluster) as connection:
                assert connection.execute("SELECT 1 + 1").fetchall() == [(2,)]
        joined = subprocess.Popen(
            [*COMMAND, "member", place], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
        )
        assert joined.stdout is not None
        with joined.stdout:
            assert "has joined" in joined.stdout.readline()
        assert len(sqlfront("cluster", "status", place).stdout.splitlines()) == 3
    finally:
        stopped = sqlfront("cluster", "stop", place)
    assert stopped.returncode == 0, stopped
    joined.wait(30)


@pytest.mark.cluster
def test_a_long_folder_of_temporary_files_has_no_sockets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path of a socket is limited in bytes: to fewer characters if these are not of ASCII."""
    long = tmp_path / ("\u6f22" * 20) / ("\u5b57" * 20)
    long.mkdir(parents=True)
    place = ("--directory", str(tmp_path / "run"))
    process = subprocess.Popen(
        [*COMMAND, "member", *place],
        env={**ENVIRONMENT, "TMPDIR": str(long)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with process.stdout:
        assert "keeps a new cluster at unix:/tmp/sqlfront-" in process.stdout.readline()
    assert sqlfront("cluster", "stop", *place).returncode == 0
    process.wait(30)


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
