"""A single message gets lost while the connection holds: no job waits for ever, no row is missing in an
answer, and nothing is left behind."""

from collections.abc import Callable

import msgspec
import pytest

from sqlfront_cluster.members.messages import Data
from sqlfront_engine.dag import Edge
from sqlfront_values.errors import OperationalError
from tests.cluster.members.cluster import Cluster
from tests.cluster.members.test_light_jobs import exchanged

#: A message from one member to another.
Sent = tuple[str, str, msgspec.Struct]


class Loss:
    """Loses the ``count`` first messages for which ``chosen`` is true, or all of them (None)."""

    def __init__(
        self, cluster: Cluster, chosen: Callable[[str, str, msgspec.Struct], bool], count: int | None = 1
    ) -> None:
        self.lost: list[Sent] = []
        self._chosen = chosen
        self._count = count
        cluster.lost = self._is_lost

    def _is_lost(self, sender: str, receiver: str, message: msgspec.Struct) -> bool:
        done = self._count is not None and len(self.lost) >= self._count
        if done or not self._chosen(sender, receiver, message):
            return False
        self.lost.append((sender, receiver, message))
        return True


@pytest.mark.parametrize("number", [0, 1, 2])
def test_rows_lost_on_the_way_fail_the_job_by_name(number: int) -> None:
    cluster = Cluster(3)
    loss = Loss(
        cluster,
        lambda sender, to, message: isinstance(message, Data) and message.number == number and to == "m2",
    )

    with pytest.raises(OperationalError, match=r"rows of member m. were lost on the way") as caught:
        cluster.run(exchanged(lambda edge: edge.distributed().partitioned([0])))

    assert caught.value.sqlstate == "08006"
    assert len(loss.lost) == 1
    assert cluster.leftovers() == {}


def test_the_messages_of_a_stream_are_numbered() -> None:
    cluster = Cluster(3)
    cluster.run(exchanged(Edge.distributed))

    streams: dict[tuple[str, str, int], list[int]] = {}
    for sender, receiver, message in cluster.said:
        if isinstance(message, Data):
            streams.setdefault((sender, receiver, message.edge), []).append(message.number)
    assert all(numbers == list(range(len(numbers))) for numbers in streams.values())
    assert max(map(len, streams.values())) > 2
