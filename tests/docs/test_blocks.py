"""README and the pages of docs, run in an empty folder by a process of their own."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from demo.prepare import prepare
from tests.docs.blocks import ROOT, blocks, pages

#: Pages whose blocks start a Spark of their own, which takes too long for the test command.
_WITH_SPARK = ("executors.md", "spark.md")
#: Pages whose blocks use libraries that `make doors` installs; the libraries use what is deprecated.
_WITH_LIBRARIES = ("great-expectations.md",)
#: Pages whose blocks read the flights of `make demo`.
_WITH_FLIGHTS = ("tutorial.md",)


def _marks(page: Path) -> list[pytest.MarkDecorator]:
    return [pytest.mark.doors] if page.name in (*_WITH_SPARK, *_WITH_LIBRARIES) else []


_PAGES = [pytest.param(page, id=page.name, marks=_marks(page)) for page in pages() if blocks(page)]


@pytest.mark.parametrize("page", _PAGES)
def test_the_blocks_of_a_page_run_as_they_are_written(page: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    folder = tmp_path / "work"
    folder.mkdir()
    if page.name in _WITH_FLIGHTS:
        (folder / "demo").mkdir()
        prepare(folder / "demo" / "work")
    roots = [str(ROOT / name) for name in ("", "engine", "planner", "connectors")]
    # Sockets have short paths; a cluster of the page is found there, and stopped if the page doesn't.
    running = tempfile.mkdtemp(prefix="run-")
    environment = os.environ | {
        "HOME": str(home),
        "XDG_RUNTIME_DIR": running,
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "PYTHONPATH": os.pathsep.join(roots),
    }
    warnings = "ignore" if page.name in _WITH_LIBRARIES else "error::DeprecationWarning"
    command = [sys.executable, "-W", warnings, "-m", "tests.docs.blocks", str(page)]
    try:
        ran = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=500
        )
    finally:
        if "cluster start" in page.read_text("utf-8"):
            subprocess.run(
                ["sqlfront", "cluster", "stop"], env=environment, capture_output=True, check=False, timeout=60
            )
        shutil.rmtree(running, ignore_errors=True)

    assert ran.returncode == 0, ran.stderr


def test_the_readme_is_short() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    assert len(text.split()) <= 600
