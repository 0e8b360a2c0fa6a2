"""What neighbours on the disk do, and hard days: foreign files, two writers, kills."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import duckdb

import sqlfront
from tests.attack.two_writers import campaign
from tests.oracle.door import FOREIGN, LONG, Door, until
from tests.oracle.postgres import Postgres, environment_without

MEGABYTE = 1_000_000


def _squatted(folder: Path) -> str:
    """A stranger's link is where the cluster's secret goes."""
    victim = folder / "victim"
    victim.mkdir()
    (folder / f"sqlfront-{os.getuid()}").symlink_to(victim)
    if os.getuid() == 0:
        os.chown(folder / f"sqlfront-{os.getuid()}", 65534, 65534, follow_symlinks=False)
    folder.chmod(0o1777)
    environment = {**environment_without("XDG_RUNTIME_DIR"), "TMPDIR": str(folder)}
    ran = subprocess.run(
        [sys.executable, "-m", "sqlfront", "cluster", "start"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    untouched = "nothing written" if not list(victim.iterdir()) else "WRITTEN THROUGH THE LINK"
    return f"{untouched}; {ran.stderr.splitlines()[-1].replace(str(folder), '...')}"


def _open_to_all(server: Postgres, folder: Path) -> str:
    """The server's own folder is open to all."""
    server.run("mkdir", "-m", "777", "open")
    server.run("touch", "open/postgresql.conf")
    told = server.run("postgres", "-D", "open").stderr
    return told.partition("FATAL:")[2].strip() or told


def _files(rule: str | None) -> Callable[[Path], str]:
    def read(folder: Path) -> str:
        config = sqlfront.Config() if rule is None else sqlfront.Config(file_access=rule)
        rows = sqlfront.connect(config=config).execute(f"SELECT * FROM text.`{FOREIGN}`").fetchall()
        return f"read: {len(rows)} row"

    return read


def _files_of_duckdb(access: bool) -> Callable[[Path], str]:
    def read(folder: Path) -> str:
        connection = duckdb.connect(config={"enable_external_access": str(access).lower()})
        rows = connection.execute(f"SELECT * FROM read_csv('{FOREIGN}', header = false)").fetchall()
        return f"read: {len(rows)} row"

    return read


def copied(user: str) -> Callable[[Postgres, Path], str]:
    """A user has the server read a file of its machine."""

    def read(server: Postgres, folder: Path) -> str:
        server.psql("CREATE USER guest; CREATE TABLE lines (line text); GRANT ALL ON lines TO guest")
        return server.psql(f"COPY lines FROM '{FOREIGN}'", user=user)

    return read


def _overwritten(folder: Path) -> str:
    place = folder / "t"
    with sqlfront.connect() as connection:
        connection.execute(f"CREATE TABLE t (a INT) USING parquet LOCATION '{place}'")
        connection.execute("INSERT INTO t VALUES (1)")
        (place / "letters.parquet").write_bytes(next(place.glob("part-*")).read_bytes())
        try:
            connection.execute("INSERT OVERWRITE t VALUES (2)")
            told = "done"
        except sqlfront.Error as error:
            told = f"{type(error).__name__}: {error}".replace(str(place), "...")
    return f"{_kept(place)}; {told}"


def _overwritten_by_duckdb(folder: Path) -> str:
    place = folder / "t"
    copy = f"COPY (SELECT 2 AS a, 1 AS p) TO '{place}' (FORMAT parquet, PARTITION_BY (p), OVERWRITE)"
    duckdb.execute(copy)
    (place / "letters.parquet").write_bytes(b"dear ...")
    duckdb.execute(copy)
    return _kept(place)


def _kept(place: Path) -> str:
    return "kept" if (place / "letters.parquet").exists() else "deleted"


# ---- hard days


def _two_writers(folder: Path) -> str:
    report = campaign(folder / "t", 6.0, seed=1)
    return f"each version is whole{', also when writers are killed' if report.kills else ''}"


def _two_writers_of_duckdb(folder: Path) -> str:
    path = str(folder / "database")
    with duckdb.connect(path):
        program = f"import duckdb; duckdb.connect({path!r})"
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    return f"the second is refused: {ran.stderr.splitlines()[-1].partition(' file ')[0]}"


def _two_writers_there(server: Postgres, folder: Path) -> str:
    server.psql("CREATE TABLE versions (number int)")
    writers = [
        server.begun(
            ";".join(
                "BEGIN; TRUNCATE versions;"
                f"INSERT INTO versions SELECT {first + each} FROM generate_series(1, 400); COMMIT"
                for each in range(100)
            )
        )
        for first in (0, 1000)
    ]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        seen.add(server.psql("SELECT count(DISTINCT number), count(*) FROM versions"))
    return "each version is whole" if seen <= {"0|0", "1|400"} else f"others than versions are seen: {seen}"


def _bytes(folder: Path, pattern: str) -> int:
    found = 0
    for path in folder.rglob(pattern):
        with suppress(OSError):
            found += path.stat().st_size if path.is_file() else 0
    return found


def _killed(folder: Path, program: str, pattern: str, again: Callable[[], object]) -> str:
    """What an insert that is killed leaves in its folder, and what the next one leaves of that."""
    process = subprocess.Popen([sys.executable, "-c", program])
    try:
        until(lambda: _bytes(folder, pattern) > MEGABYTE or process.poll() is not None)
    finally:
        process.kill()
        process.wait()
    left = {path for path in folder.rglob(pattern) if path.is_file()}
    assert left
    again()
    return _left(sum(path.stat().st_size for path in left if path.exists()))


def _left(size: int) -> str:
    return "the next one leaves its parts there" if size else "the next one removes its parts"


def _killed_insert(folder: Path) -> str:
    place = folder / "t"
    table = f"CREATE TABLE t (a BIGINT) USING parquet LOCATION '{place}'"
    rows = "SELECT hash(id) + id FROM range(1000000000)"
    program = (
        f"import sqlfront; c = sqlfront.connect(); c.execute({table!r}); c.execute('INSERT INTO t {rows}')"
    )

    def again() -> None:
        with sqlfront.connect() as connection:
            connection.execute(table)
            connection.execute("INSERT INTO t VALUES (1)")

    return _killed(folder, program, "t/.sqlfront-*/**/*", again)


def _killed_copy(folder: Path) -> str:
    copy = "COPY (SELECT hash(range) AS a FROM range({})) TO '{}' (PER_THREAD_OUTPUT, APPEND)"
    program = f"import duckdb; duckdb.execute({copy.format(1_000_000_000, folder / 't')!r})"
    return _killed(folder, program, "t/**/*", lambda: duckdb.execute(copy.format(1, folder / "t")))


def _killed_insert_there(server: Postgres, folder: Path) -> str:
    server.psql("CREATE TABLE big (a int)")
    size = "SELECT pg_relation_size('big')"
    writer = server.begun("INSERT INTO big SELECT generate_series(1, 100000000)")
    until(lambda: int(server.psql(size)) > MEGABYTE)
    server.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'INSERT INTO big%'")
    writer.wait()
    server.psql("INSERT INTO big VALUES (1)")
    return f"{_left(int(server.psql(size)) // MEGABYTE)} (until VACUUM)"


#: Closes a connection while another thread waits for its query's answer.
_CLOSING = """
import os, sys, threading, time
def run():
    try:
        connection.execute(sys.argv[1]).fetchall()
    except Exception as error:
        print(type(error).__name__, end=" ")
thread = threading.Thread(target=run, daemon=True)
thread.start()
time.sleep(1.5)
assert thread.is_alive()
began = time.monotonic()
try:
    connection.close()
except Exception as error:
    print(f"close() is refused: {type(error).__name__}", flush=True)
    os._exit(0)
thread.join(20)
seconds = time.monotonic() - began
print("goes on" if thread.is_alive() else f"within {1 if seconds < 1 else 30} s", flush=True)
os._exit(0)
"""


def _closed(opening: str, query: str) -> Callable[[Path], str]:
    """How long a query goes on whose connection is closed, in a process of its own."""

    def measured(folder: Path) -> str:
        command = [sys.executable, "-c", opening + _CLOSING, query]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=90)
        return (
            ran.stdout if ran.returncode == 0 else f"the process dies ({ran.returncode}): {ran.stderr[-300:]}"
        )

    return measured


DOORS = (
    Door("a stranger's link, or a folder open to all, where secrets are kept", _squatted, None, _open_to_all),
    Door(
        "any file of the machine, from a session of one's own",
        _files(None),
        _files_of_duckdb(True),
        copied("postgres"),
    ),
    Door("the same where files are closed", _files("none"), _files_of_duckdb(False), copied("guest")),
    Door("overwriting a folder in which somebody else has a file", _overwritten, _overwritten_by_duckdb),
    Door("two processes that overwrite one place", _two_writers, _two_writers_of_duckdb, _two_writers_there),
    Door("an insert that is killed", _killed_insert, _killed_copy, _killed_insert_there),
    Door(
        "a connection that is closed while its query runs",
        _closed("import sqlfront; connection = sqlfront.connect()", LONG),
        _closed(
            "import duckdb; connection = duckdb.connect()",
            "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE hash(a.range + b.range) = 7",
        ),
    ),
)
