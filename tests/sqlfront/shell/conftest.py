"""Shells that the tests of this folder talk to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sqlfront.shell.terminal import Terminal


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for a module's shell: its home and its working folder."""
    return tmp_path_factory.mktemp("shell")


@pytest.fixture(scope="module")
def terminal(folder: Path) -> Iterator[Terminal]:
    """A running shell that the tests of a module share; each test leaves it at an empty prompt."""
    with Terminal(folder=folder) as shell:
        shell.wait_for_prompt()
        yield shell
        shell.wait_for_prompt()
        shell.send("\x04")
        assert shell.ended() == 0
