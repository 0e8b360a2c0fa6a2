"""Every test of the network leaves no thread and no open file behind."""

import gc
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.network.meeting import Town, network_threads, open_files, until


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """No threads and no files more than before: tests of other folders may keep members for a while."""
    gc.collect()
    files, threads = open_files(), len(network_threads())
    yield
    until(lambda: len(network_threads()) <= threads)
    until(lambda: open_files() <= files)


@pytest.fixture
def town(nothing_left: None) -> Iterator[Town]:
    """Members on sockets."""
    with tempfile.TemporaryDirectory(prefix="sf") as folder:  # short: a Unix socket's path is limited
        made = Town(Path(folder))
        yield made
        made.close()
