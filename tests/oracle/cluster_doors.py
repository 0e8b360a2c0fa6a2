"""What strangers meet at a cluster's addresses, and its clients in it."""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa

import sqlfront
from sqlfront.pipeline import Pipeline, table
from sqlfront_cluster.launchers.local import LocalCluster
from tests.attack.wiretap import Wiretap
from tests.oracle.door import FOREIGN, LONG, Door, ends, until, within
from tests.oracle.neighbour_doors import copied
from tests.oracle.postgres import PASSWORD, Postgres

SECRET = "the secret of the cluster"
COMMAND = (sys.executable, "-m", "sqlfront")


def _listens(folder: Path) -> str:
    """What a member for other machines says to somebody who has no certificate."""
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    with LocalCluster(1, workers=1, tcp=True, secret=SECRET.encode()) as cluster:
        host, _, port = cluster.address.rpartition(":")
        with anybody.wrap_socket(socket.create_connection((host, int(port)), 5)) as connection:
            version = connection.version()
            try:
                connection.recv(1)
            except ssl.SSLError as error:
                return f"{version}; without a certificate: {error.reason}"
            return f"{version}; without a certificate it goes on"


def _replayed(address: str, sent: bytes, marks: dict[bytes, str]) -> str:
    """What becomes of somebody who sends what was recorded."""
    host, _, port = address.rpartition(":")
    heard = b""
    with socket.create_connection((host, int(port)), 5) as connection, suppress(OSError):
        connection.settimeout(5)
        connection.sendall(sent)
        while piece := connection.recv(65536):
            heard += piece
    told = next((text for mark, text in marks.items() if mark in heard), "let in")
    return f"refused: {told}" if told != "let in" else told


def _replay(folder: Path) -> str:
    with (
        LocalCluster(1, workers=1, tcp=True, secret=SECRET.encode(), insecure=True) as cluster,
        Wiretap(cluster.address) as tap,
    ):
        with sqlfront.connect(f"sqlfront://{tap.address}", secret=SECRET, insecure=True) as connection:
            connection.execute("SELECT 1").fetchall()
        return _replayed(cluster.address, bytes(tap.sent[0]), {b"Refused": "wrong proof"})


def _replay_there(server: Postgres, folder: Path) -> str:
    address = f"127.0.0.1:{server.port}"
    with Wiretap(address) as tap:
        port = tap.address.rpartition(":")[2]
        ran = server.run(
            *("psql", "-X", "-h", "127.0.0.1", "-p", port, "-U", "postgres", "-c", "SELECT 1"),
            PGPASSWORD=PASSWORD,
            PGSSLMODE="disable",
        )
        assert ran.returncode == 0, ran.stderr
        return _replayed(address, bytes(tap.sent[0]), {b"Nonce does not match": "the nonce does not match"})


# ---- clients


@contextmanager
def _shared(folder: Path) -> Iterator[sqlfront.Connection]:
    """A client of a cluster that the command has started."""
    place = ("--directory", str(folder / "run"))
    started = _command("cluster", "start", "-n", "1", *place)
    assert started.returncode == 0, started
    try:
        with sqlfront.connect(_address(folder), secret=(folder / "run" / "secret").read_text()) as connection:
            yield connection
    finally:
        _command("cluster", "stop", *place)


def _command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=90)


def _address(folder: Path) -> str:
    run = json.loads((folder / "run" / "cluster.json").read_text())
    return f"sqlfront://{run['address'].removeprefix('unix:')}"


def _files_of_a_client(folder: Path) -> str:
    with _shared(folder) as connection:
        return str(connection.execute(f"SELECT * FROM text.`{FOREIGN}`").fetchall())


def _user_code(folder: Path) -> str:
    with _shared(folder) as connection:
        session = connection.session
        session.sql("CREATE TABLE t USING memory AS SELECT id FROM range(10)")
        rows = Pipeline().read(table(session, "t")).map(lambda each: os.getpid(), pa.field("n", pa.int64()))
        return f"{len(session.run_pipeline(rows.collect()).collect())} rows"


def _wrong_secret(folder: Path) -> str:
    with _shared(folder):
        began = time.monotonic()
        try:
            sqlfront.connect(_address(folder), secret="another one").close()
        except sqlfront.Error as error:
            return f"{within(began)}: {str(error).replace(str(folder), '...')}"
        return "let in"


def _wrong_password(server: Postgres, folder: Path) -> str:
    began = time.monotonic()
    told = server.psql("SELECT 1", host="127.0.0.1", PGPASSWORD="another one")
    return f"{within(began)}: {told.rpartition('FATAL:')[2].strip()}"


def _lost_client(folder: Path) -> str:
    """A client is killed: how long its query goes on."""
    with _shared(folder) as watcher:
        secret = (folder / "run" / "secret").read_text()
        opened = f"sqlfront.connect({_address(folder)!r}, secret={secret!r})"
        program = f"import sqlfront; {opened}.execute({LONG!r}).fetchall()"
        process = subprocess.Popen([sys.executable, "-c", program])
        asked = "SELECT count(*) FROM sys.light_jobs WHERE description LIKE '%300000) a JOIN%'"

        def runs() -> bool:
            return watcher.execute(asked).fetchall() != [(0,)]

        until(runs)
        process.kill()
        process.wait()
        return ends(lambda: not runs())


def _lost_client_there(server: Postgres, folder: Path) -> str:
    client = server.begun("SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b")
    asked = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%100000) b'"
    until(lambda: server.psql(asked) == "1")
    client.kill()
    client.wait()
    told = ends(lambda: server.psql(asked) == "0")
    server.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%100000) b'")
    return told


DOORS = (
    Door(
        "who listens for other machines, unless told otherwise",
        _listens,
        None,
        lambda server, folder: f"ssl = {server.psql('SHOW ssl')}",
    ),
    Door("a recorded login, sent again (without TLS)", _replay, None, _replay_there),
    Door("a wrong secret", _wrong_secret, None, _wrong_password),
    Door(
        "any file of the machine, from a client of a shared cluster",
        _files_of_a_client,
        None,
        copied("guest"),
    ),
    Door("a client's Python function on members of a shared cluster", _user_code),
    Door("a client that is killed while its query runs", _lost_client, None, _lost_client_there),
)
