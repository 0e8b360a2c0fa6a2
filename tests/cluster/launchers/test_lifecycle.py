"""How jobs over processes end: with their coordinator's death, and by many who cancel."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_values.errors import OperationalError
from tests.cluster.launchers.test_local import EVERYTHING, LIMIT, PRELOAD, exchanged, rows, until
from tests.cluster.members.cluster import Endless
from tests.cluster.members.probe import ask

# One worker starts the members.
pytestmark = pytest.mark.xdist_group("lifecycle")


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    preload = (*PRELOAD, "tests.cluster.members.probe")
    with LocalCluster(2, workers=1, silence_limit=LIMIT, preload=preload) as cluster:
        yield cluster


@pytest.mark.parametrize("kind", ["client", "member"])
def test_a_coordinator_is_killed(cluster: LocalCluster, kind: str) -> None:
    name = f"doomed-{kind}"
    with cluster.client() as client:
        address = ["127.0.0.1:0"] if kind == "member" else []
        command = [sys.executable, "-m", "tests.cluster.launchers.coordinating"]
        process = subprocess.Popen(
            [*command, cluster.address, cluster.secret.hex(), name, *address],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"running\n"
        assert (name in cluster.members.data_members) == (kind == "member")
        process.kill()
        process.communicate()

        until(lambda: name not in client.member.members)
        until(lambda: all(each.statistics.participations == 0 for each in ask(client.member).values()))
        assert rows(client.member.submit(exchanged())) == EVERYTHING


def test_many_cancel_at_once(cluster: LocalCluster) -> None:
    with cluster.client() as client:
        job = client.member.submit(exchanged(Endless()))
        reader = job.batches()
        next(reader)
        ready = threading.Barrier(8)

        def cancel() -> None:
            ready.wait()
            job.cancel()

        threads = [threading.Thread(target=cancel) for _ in range(8)]
        for thread in threads:
            thread.start()
        with pytest.raises(OperationalError, match="cancelled"):
            for _ in reader:
                pass
        for thread in threads:
            thread.join()
        assert job.status is JobStatus.CANCELLED
        until(lambda: all(each.statistics.participations == 0 for each in ask(client.member).values()))
