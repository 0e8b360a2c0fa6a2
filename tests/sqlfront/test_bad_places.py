"""Clusters at bad places: folders whose files are damaged or another cluster's, and folders and stores that
this user may not write."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlfront import OperationalError, connect
from sqlfront.shell.cluster import main
from tests.cluster.launchers.test_local import until
from tests.sqlfront.test_cluster_command import ENVIRONMENT
from tests.sqlfront.test_cluster_command import sqlfront as command

#: Contents that are no description of a cluster.
GARBAGE = [b"", b"{", b"[]", b'{"pid": "x", "address": "unix:/a"}', bytes(range(256))]
#: Runs the command as another user, once all modules are imported: the user may not read their files.
AS_NOBODY = """
import os, sys
import sqlfront.shell.cluster, sqlfront.shell.member, sqlfront.cluster.service
import sqlfront_cluster.launchers.by_hand, sqlfront_cluster.launchers.store_office
from sqlfront.__main__ import main
os.setgroups([]); os.setgid(65534); os.setuid(65534)
sys.exit(main())
"""


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Path]:
    """The folder of a cluster whose keeper, this process, has the lock."""
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    yield folder
    os.close(descriptor)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Path]:
    """The folder of a running cluster of two members."""
    folder = tmp_path / "run"
    tried = command("cluster", "start", "-n", "2", "--directory", str(folder))
    assert tried.returncode == 0, tried
    yield folder
    stopped = command("cluster", "stop", "--directory", str(folder))
    assert stopped.returncode == 0, stopped


@pytest.mark.parametrize("content", GARBAGE, ids=len)
def test_a_damaged_description_of_a_running_cluster_is_told(
    held: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (held / "cluster.json").write_bytes(content)
    (held / "cluster.json").chmod(0o600)
    for verb in ("start", "status", "stop"):
        assert main(["cluster", verb, "--directory", str(held)]) == 1
        said = capsys.readouterr().err
        assert f"{held / 'cluster.json'} is damaged" in said and "Traceback" not in said
    with pytest.raises(OperationalError, match="is damaged"):
        connect(cluster=held)
    assert sorted(path.name for path in held.iterdir()) == ["cluster.json", "lock"]


@pytest.mark.parametrize("content", GARBAGE, ids=len)
def test_damaged_credentials_are_told(held: Path, content: bytes) -> None:
    description = b'{"pid": 1, "address": "unix:/a"}'
    for name, written in (("cluster.json", description), ("credentials.json", content)):
        (held / name).write_bytes(written)
        (held / name).chmod(0o600)
    with pytest.raises(OperationalError, match=f"{held}/credentials.json is not a credentials file"):
        connect(cluster=held)


@pytest.mark.cluster
def test_a_folder_with_the_credentials_of_another_cluster_leads_to_neither(
    started: Path, tmp_path: Path
) -> None:
    """The session was connected with the other cluster, whatever folder it had been given."""
    other = tmp_path / "other"
    assert command("cluster", "start", "-n", "1", "--directory", str(other)).returncode == 0
    own = (started / "credentials.json").read_bytes()
    try:
        shutil.copyfile(other / "credentials.json", started / "credentials.json")
        with pytest.raises(OperationalError, match="the two have different secrets") as error:
            connect(cluster=started)
        assert error.value.sqlstate == "08004"
    finally:
        (started / "credentials.json").write_bytes(own)
        assert command("cluster", "stop", "--directory", str(other)).returncode == 0


@pytest.mark.cluster
def test_a_keeper_is_followed_although_the_credentials_are_damaged(started: Path) -> None:
    """No member could become the keeper, and the cluster ended."""
    own = (started / "credentials.json").read_bytes()
    with connect(cluster=started) as connection:
        (started / "credentials.json").write_bytes(bytes(range(256)))
        os.kill(json.loads((started / "cluster.json").read_bytes())["pid"], signal.SIGKILL)
        connection.execute("CREATE TABLE t (k INT) USING memory")
        assert json.loads((started / "cluster.json").read_bytes())["epoch"] == 2
    (started / "credentials.json").write_bytes(own)
    until(lambda: command("cluster", "status", "--directory", str(started)).returncode == 0)


@pytest.mark.cluster
def test_of_two_commands_that_start_a_cluster_in_one_folder_one_is_told_about_the_other(
    tmp_path: Path,
) -> None:
    """The later one removed the log of the first one, and could not say why it had failed."""
    folder = tmp_path / "run"
    start = [sys.executable, "-m", "sqlfront", "cluster", "start", "-n", "1", "--directory", str(folder)]
    both = [
        subprocess.Popen(start, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    told = sorted((each.communicate(timeout=60), each.returncode) for each in both)
    try:
        ((_, failure), code), ((ways, _), other_code) = sorted(told, key=lambda each: -each[1])
        assert (code, other_code) == (1, 0), told
        assert "runs already" in failure or "being started" in failure, failure
        assert "members run at" in ways
        assert sorted(path.name for path in folder.iterdir() if "log" in path.name) == ["launcher.log"]
    finally:
        assert command("cluster", "stop", "--directory", str(folder)).returncode == 0


@pytest.mark.cluster
@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["cluster", "start", "--directory", "{place}/private"], "private can't be used: Permission denied"),
        (
            ["cluster", "start", "--directory", "{place}/readable/x"],
            "readable can't be used: Permission",
        ),
        (["cluster", "status", "--directory", "{place}/readable"], "readable belongs to another user"),
        (["member", "--directory", "{place}/readable"], "readable belongs to another user"),
        (["member", "--bind", "unix:{place}/readable/m"], "cannot listen on unix:{place}/readable/m"),
        (
            ["member", "--bind", "unix:{place}/free/m", "--job-store", "{place}/readable"],
            "the store {place}/readable, which decides on the keeper, can't be used",
        ),
    ],
)
def test_a_place_of_another_user_is_told_and_stays_as_it_is(arguments: list[str], told: str) -> None:
    with tempfile.TemporaryDirectory(prefix="sqlfront-test-") as place:
        for name, mode in (("private", 0o700), ("readable", 0o755), ("free", 0o1777)):
            Path(place, name).mkdir()
            Path(place, name).chmod(mode)
        Path(place).chmod(0o755)
        tried = subprocess.run(
            [sys.executable, "-B", "-c", AS_NOBODY, *(each.format(place=place) for each in arguments)],
            env={**ENVIRONMENT, "SQLFRONT_SECRET": "x"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert tried.returncode == 1 and told.format(place=place) in tried.stderr, tried
        assert "Traceback" not in tried.stderr
        assert sorted(path.name for path in Path(place).rglob("*")) == ["free", "private", "readable"]
