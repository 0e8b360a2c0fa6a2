"""What the attacks share."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attack.fort import Fort, built
from tests.cluster.network.meeting import Town


@pytest.fixture
def town() -> Iterator[Town]:
    """Members on sockets, in this process."""
    with tempfile.TemporaryDirectory(prefix="sf") as folder:  # short: a Unix socket's path is limited
        made = Town(Path(folder))
        yield made
        made.close()


@pytest.fixture(scope="package")
def plain_fort() -> Iterator[Fort]:
    """One whose members don't encrypt."""
    with built(insecure=True) as made:
        yield made


@pytest.fixture(scope="package")
def tls_fort() -> Iterator[Fort]:
    """One whose members do."""
    with built(insecure=False) as made:
        yield made


@pytest.fixture(params=["insecure", "tls"])
def fort(request: pytest.FixtureRequest) -> Fort:
    """Either."""
    made: Fort = request.getfixturevalue("tls_fort" if request.param == "tls" else "plain_fort")
    return made
