"""The lifetime of a member's shares of tables: what is current is kept, however the member hears of it."""

from types import SimpleNamespace
from typing import cast

import pyarrow as pa

from sqlfront_cluster import codec
from sqlfront_cluster.launchers.running import RunningMember
from sqlfront_cluster.members.membership.document_copies import PutOutcome
from sqlfront_cluster.members.protocol.cluster_messages import DocumentChanged
from sqlfront_cluster.members.protocol.document import ConditionalChange
from sqlfront_connectors.memory.exchange.holding import ShareHolder
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.spread.documents import TABLE, TURN, Turn, VersionShares
from sqlfront_connectors.memory.spread.store import TableStore
from tests.cluster.members.kept import Kept

IDENTITY = "memory:1"
TOKEN = "client.7"
KEY = f"{IDENTITY}@{TOKEN}.1"
SCHEMA = pa.schema([("k", pa.int64())])


def holding(kept: Kept, name: str) -> tuple[ShareHolder, TableStore]:
    """Shares that the member keeps from now on."""
    membership = kept.memberships[name]
    holder = ShareHolder()
    running = SimpleNamespace(
        engine=membership.member.engine, membership=membership, member=membership.member
    )
    holder.attach(cast(RunningMember, running))
    return holder, cast(TableStore, holder.resources)


def put(kept: Kept, key: str, content: bytes | None, expected: int) -> list[PutOutcome]:
    outcomes: list[PutOutcome] = []
    kept.memberships["client"].put(ConditionalChange(key, content, expected), outcomes.append)
    return outcomes


def begun(kept: Kept, store: TableStore) -> None:
    """The client takes the table's turn, and the member gets a share of the client's version."""
    taken = put(kept, f"{TURN}{IDENTITY}", codec.encode(Turn("client", TOKEN)), 0)
    assert kept.run(lambda: bool(taken), 3)
    store.stage(KEY, TableShare(SCHEMA, None, ()))


def test_a_share_is_kept_if_its_publication_is_heard_together_with_the_end_of_the_turn() -> None:
    kept = Kept("m0", "m1", "client")
    _, store = holding(kept, "m0")
    begun(kept, store)
    lost: list[object] = []

    def loses_publication(sender: str, receiver: str, message: object) -> bool:
        if lost or receiver != "m0" or not isinstance(message, DocumentChanged):
            return False
        lost.append(message)
        return True

    kept.simulation.drop = loses_publication
    put(kept, f"{TABLE}{IDENTITY}", codec.encode(VersionShares(KEY)), 0)
    ended = put(kept, f"{TURN}{IDENTITY}", None, 1)  # a writer that is cancelled doesn't wait

    assert kept.run(lambda: bool(ended), 3)
    assert lost
    kept.simulation.pass_time(20)
    assert f"{TABLE}{IDENTITY}" in kept.memberships["m0"].documents
    assert store.holds(KEY)
