"""A wheel in an empty environment, outside the checkout, answers by every launcher.

    python -m tests.packaging.wheel

Builds the wheel, makes a virtual environment in a temporary folder, installs the wheel with the extra
``spark`` there, and runs :mod:`tests.packaging.launchers` and the command ``sqlfront`` in an empty folder
without any path to the checkout. Needs Java. Ends with 0 if every answer is right.
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from tests.connectors.spark.executors import PACKAGES, python_with

ROOT = Path(__file__).parents[2]
#: Seconds: the slowest step installs PySpark.
_TIMEOUT = 900


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command with no trace of the checkout in its environment; return its standard output. Raises
    SystemExit with the command's output if the command fails."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    clean.pop("VIRTUAL_ENV", None)
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=clean,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{command[0]}: exit code {done.returncode}\n{done.stdout}{done.stderr[-6000:]}")
    return done.stdout


def main() -> None:
    """Build, install and ask."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        empty = folder / "empty"
        empty.mkdir()
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
        run(*pip, "wheel", "--no-deps", "--wheel-dir", folder, ROOT, cwd=empty)
        (wheel,) = folder.glob("*.whl")
        print(f"{wheel.name}: {wheel.stat().st_size / 1024:,.0f} KiB")

        venv.create(folder / "venv", with_pip=True)
        programs = folder / "venv" / "bin"
        run(programs / "pip", "--disable-pip-version-check", "install", f"{wheel}[spark]", cwd=empty)
        program = folder / "launchers.py"
        program.write_text((ROOT / "tests" / "packaging" / "launchers.py").read_text())
        bare = python_with(PACKAGES, folder / "executors")
        print(run(programs / "python", program, bare, cwd=empty), end="")

        command = programs / "sqlfront"
        made = "CREATE TABLE t USING memory AS SELECT id FROM range(100)"
        for launcher in ("embedded", "local"):
            given = ("--members", "2", "--launcher", launcher, "--format", "csv")
            answer = run(command, *given, "-c", f"{made}; SELECT count(*) n, sum(id) s FROM t", cwd=empty)
            assert answer.split() == ["n,s", "100,4950"], answer
            print(f"sqlfront --launcher {launcher}: right")
        place = ("--directory", folder / "cluster")
        started = run(command, "cluster", "start", "-n", "2", *place, cwd=empty)
        try:
            address = f"sqlfront://{started.split('unix:')[1].strip()}"
            secret = folder / "cluster" / "secret"
            client = ("--cluster", address, "--secret-file", secret, "--format", "csv")
            answer = run(command, *client, "-c", f"{made}; SELECT count(*) n, sum(id) s FROM t", cwd=empty)
            assert answer.split() == ["n,s", "100,4950"], answer
        finally:
            run(command, "cluster", "stop", *place, cwd=empty)
        print("sqlfront cluster start: right")


if __name__ == "__main__":
    main()
