"""Runs the suite."""

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
ARGUMENTS = [
    *("-p", "tests.sqlfront.sqlalchemy.suite.plugin", "-p", "no:cacheprovider", "-p", "no:xdist"),
    *("-c", "/dev/null", "--rootdir", str(FOLDER), "--import-mode=importlib"),
    *("-o", "python_files=suite.py", "-q"),
    str(FOLDER / "suite.py"),
]

if __name__ == "__main__":
    sys.exit(pytest.main([*ARGUMENTS, *sys.argv[1:]]))
