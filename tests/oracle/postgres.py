"""A PostgreSQL of its own for some minutes, asked by psql; where it isn't installed there is none."""

import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

#: The server's programs; none of them runs as root.
PROGRAMS = ("initdb", "postgres", "psql")
PASSWORD = "the password of the superuser"


class Postgres:
    """A server below ``folder`` on a Unix socket, where everybody is trusted, and on 127.0.0.1, where the
    superuser's password is asked for."""

    def __init__(self, folder: Path, user: str) -> None:
        self._folder, self._user = folder, user
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]

    @property
    def version(self) -> str:
        """The server's."""
        return self.psql("SHOW server_version").split()[0]

    def run(self, *command: str | Path, **environment: str) -> "subprocess.CompletedProcess[str]":
        """A program as the server's user."""
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            cwd=self._folder,
            user=self._user,
            env=os.environ | environment,
        )

    def psql_command(self, sql: str, host: str | None = None, user: str = "postgres") -> list[str]:
        """The command that runs statements, each in a transaction of its own, and prints bare rows and
        tags."""
        place = host or str(self._folder)
        command = ["psql", "-X", "-A", "-t", "-h", place, "-p", str(self.port), "-U", user, "-d", "postgres"]
        return [*command, *(word for statement in sql.split(";") for word in ("-c", statement))]

    def psql(self, sql: str, host: str | None = None, user: str = "postgres", **environment: str) -> str:
        """What psql prints: rows and tags, or the first line of its complaint."""
        ran = self.run(*self.psql_command(sql, host, user), **environment)
        return ran.stdout.strip() if ran.returncode == 0 else ran.stderr.splitlines()[0]

    def begun(self, sql: str) -> "subprocess.Popen[bytes]":
        """psql, on its way."""
        silent = subprocess.DEVNULL
        return subprocess.Popen(self.psql_command(sql), stdout=silent, stderr=silent, user=self._user)

    def start(self) -> "subprocess.Popen[bytes]":
        """Make the server's files, and start it."""
        (self._folder / "password").write_text(PASSWORD)
        made = self.run(
            *("initdb", "-D", "data", "-U", "postgres", "--no-sync", "--pwfile", "password"),
            *("--auth-local=trust", "--auth-host=scram-sha-256"),
        )
        assert made.returncode == 0, made.stderr
        command = ["postgres", "-D", "data", "-p", str(self.port), "-k", str(self._folder), "-F"]
        silent = subprocess.DEVNULL
        process = subprocess.Popen(command, cwd=self._folder, user=self._user, stdout=silent, stderr=silent)
        for _ in range(200):
            if self.psql("SELECT 1") == "1":
                return process
            time.sleep(0.1)
        process.kill()
        raise RuntimeError("PostgreSQL doesn't start")


@contextmanager
def postgres(folder: Path) -> Iterator[Postgres | None]:
    """A server whose files are in the folder, which is made; None where one isn't installed."""
    if not all(map(shutil.which, PROGRAMS)):
        yield None
        return
    folder.mkdir()
    user = pwd.getpwuid(os.geteuid()).pw_name
    if user == "root":
        user = "nobody"
        shutil.chown(folder, user)
    server = Postgres(folder, user)
    process = server.start()
    try:
        yield server
    finally:
        process.terminate()
        process.wait(60)


def environment_without(*names: str) -> Mapping[str, str]:
    """The variables of this process but some."""
    return {name: value for name, value in os.environ.items() if name not in names}
