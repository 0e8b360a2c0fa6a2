"""Sessions of a cluster over TCP: what they need to join it, and what others can read of what they say."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import sqlfront
from sqlfront.cluster.credentials import Credentials, Protection
from sqlfront.cluster.processes import SERVICE
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_cluster.network.tls.authority import issue
from sqlfront_cluster.network.tls.contexts import TlsSettings
from tests.attack.wiretap import Wiretap

# One worker starts the members.
pytestmark = pytest.mark.xdist_group("encryption")

SECRET = "a secret of the tests"
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


@pytest.fixture(autouse=True)
def nothing_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SQLFRONT_SECRET", raising=False)
    monkeypatch.delenv("SQLFRONT_CREDENTIALS", raising=False)


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(2, workers=1, tcp=True, service=SERVICE, secret=SECRET.encode()) as made:
        yield made


def answers(where: str | None, **given: object) -> bool:
    """Whether a session comes about, and can ask."""
    with sqlfront.connect(where, workers=1, **given) as connection:  # type: ignore[arg-type]
        return connection.execute("SELECT count(*) FROM sys.members").fetchall() == [(3,)]


def refused(where: str | None, **given: object) -> str:
    """Why no session comes about."""
    with pytest.raises(sqlfront.Error) as error:
        sqlfront.connect(where, workers=1, **given)  # type: ignore[arg-type]
    return str(error.value)


def written(folder: Path, tls: TlsSettings) -> dict[str, str]:
    """Files of certificates, by option."""
    files = {name: folder / f"{name}.pem" for name in ("certificate", "key", "authority")}
    for name, file in files.items():
        file.write_text(getattr(tls, name))
    return {name: str(file) for name, file in files.items()}


def test_the_secret_is_enough(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    where = f"sqlfront://{cluster.address}"
    assert answers(where, secret=SECRET)
    monkeypatch.setenv("SQLFRONT_SECRET", SECRET)
    assert answers(where)


def test_so_is_a_credentials_file(
    cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "credentials.json"
    file.write_bytes(msgspec.json.encode(Credentials(SECRET, cluster.address, issue(SECRET.encode()))))
    where = f"sqlfront://{cluster.address}"
    assert answers(None, credentials=str(file))
    assert answers("sqlfront://", credentials=str(file))
    assert answers(where, credentials=str(file))
    assert answers(f"{where}?credentials={file}")
    monkeypatch.setenv("SQLFRONT_CREDENTIALS", str(file))
    assert answers("sqlfront://")
    assert answers(where)


def test_certificates_of_ones_own_are_given_as_files_by_keyword_or_address(tmp_path: Path) -> None:
    tls = issue(b"the authority of somebody else")
    files = written(tmp_path, tls)
    with LocalCluster(2, workers=1, tcp=True, service=SERVICE, secret=SECRET.encode(), tls=tls) as cluster:
        where = f"sqlfront://{cluster.address}"
        assert answers(where, secret=SECRET, **files)
        query = "&".join(f"{name}={file}" for name, file in files.items())
        assert answers(f"{where}?{query}", secret=SECRET)
        assert "certificates of different authorities" in refused(where, secret=SECRET)


def test_without_encryption_only_if_both_sides_say_so(cluster: LocalCluster) -> None:
    assert "this side is insecure" in refused(f"sqlfront://{cluster.address}", secret=SECRET, insecure=True)
    with LocalCluster(
        2, workers=1, tcp=True, service=SERVICE, secret=SECRET.encode(), insecure=True
    ) as plain:
        where = f"sqlfront://{plain.address}"
        assert "the other side speaks no TLS" in refused(where, secret=SECRET)
        assert answers(where, secret=SECRET, insecure=True)
        assert answers(f"{where}?insecure", secret=SECRET)
        assert answers(f"{where}?insecure=true", secret=SECRET)


def test_a_proxy_reads_neither_rows_nor_literals(cluster: LocalCluster) -> None:
    with Wiretap(cluster.address) as wiretap:
        with sqlfront.connect(f"sqlfront://{wiretap.address}", secret=SECRET, workers=1) as connection:
            connection.execute("CREATE TABLE patients USING memory AS SELECT 'Ada Lovelace' AS name")
            found = connection.execute("SELECT name FROM patients WHERE name = 'Ada Lovelace'").fetchall()
            connection.execute("DROP TABLE patients")
        heard = wiretap.bytes
    assert found == [("Ada Lovelace",)]
    assert len(heard) > 1000
    assert b"Ada" not in heard and b"patients" not in heard


@pytest.mark.parametrize(
    ("where", "given", "reason"),
    [
        ("sqlfront://h:1", {"secret": "s", "certificate": "x"}, "must be given together"),
        ("sqlfront://h:1?speed=3", {"secret": "s"}, "'speed' is not an option"),
        ("sqlfront://h:1?insecure=perhaps", {"secret": "s"}, "true or false"),
        (
            "sqlfront://h:1?certificate=a&key=b&authority=c&insecure",
            {"secret": "s"},
            "insecure turns encryption off",
        ),
        ("sqlfront://h:1", {"credentials": "/nowhere"}, "credentials file /nowhere can't be read"),
        (None, {"insecure": True}, "insecure needs members in other processes"),
        (None, {"secret": "s"}, "a secret needs a cluster"),
        (
            "sqlfront://h:1",
            {"secret": "s", "certificate": "/x", "key": "/y", "authority": "/z"},
            "TLS file /x",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(where: str | None, given: dict[str, object], reason: str) -> None:
    assert reason in refused(where, **given)


def test_credentials_and_what_is_said_are_not_shown() -> None:
    assert SECRET not in repr(Credentials(SECRET, "a"))
    assert SECRET not in repr(Protection(secret=SECRET))
    assert SECRET not in repr(sqlfront.Config(cluster="sqlfront://", secret=SECRET))


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "sqlfront", *arguments]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("more", [(), ("--insecure",)], ids=["tls", "insecure"])
def test_a_started_cluster_leaves_credentials_for_clients_elsewhere(
    tmp_path: Path, more: tuple[str, ...]
) -> None:
    place = ("--directory", str(tmp_path / "run"))
    started = run("cluster", "start", "-n", "1", "--bind", "127.0.0.1:0", *place, *more)
    try:
        assert started.returncode == 0, started
        file = Path(started.stdout.split("for clients on other machines: ")[1].splitlines()[0])
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert ("NOT encrypted" if more else "  encrypted;") in started.stdout
        given = Credentials.read(file)
        assert (given.tls is None) == given.insecure == bool(more)
        asked = run(
            "--credentials", str(file), "--format", "csv", "-c", "SELECT count(*) AS n FROM sys.members"
        )
        assert (asked.returncode, asked.stdout.split()) == (0, ["n", "2"]), asked
        assert "local-0" in run("cluster", "status", *place).stdout
    finally:
        run("cluster", "stop", *place)
    assert not file.exists()
