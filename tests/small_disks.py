"""File systems that are soon full, for tests."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of a size such as ``64k``, in memory, at a new folder. The test is skipped where none can
    be mounted: without the program ``mount``, or without the rights."""
    folder.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        refused = subprocess.run(mounting, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no program mount")
    if refused.returncode:
        pytest.skip(f"a file system can't be mounted here: {refused.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def enlarge(folder: Path, size: str) -> None:
    """Give a small disk another size."""
    subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)
