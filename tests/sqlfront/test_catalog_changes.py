"""Changes of a cluster's catalog whose statement is stopped while the keeper doesn't answer: what was not
sent is never made, and of what was sent the error says that nobody knows."""

from collections.abc import Callable
from weakref import WeakValueDictionary

import pytest

from sqlfront.cluster.catalog import ClusterCatalog
from sqlfront.cluster.documents import Documents
from sqlfront.cluster.relations import RELATION
from sqlfront_cluster.members.protocol.keeper_names import KEEPER
from sqlfront_planner.catalog import ViewEntry
from sqlfront_values import room
from sqlfront_values.errors import OperationalError
from tests.cluster.members.kept import Kept

OLD, NEW = ViewEntry("old", "SELECT 1"), ViewEntry("new", "SELECT 2")


class Session:
    """A cluster of one member, and the catalog of a client with the view ``old``."""

    def __init__(self) -> None:
        self.kept = Kept("m0", "client")
        membership = self.kept.memberships["client"]
        documents = Documents(membership)
        self.catalog = ClusterCatalog(lambda form, path: None, documents, WeakValueDictionary())
        membership.watchers.append(self.catalog.hear)
        self.stopped = False
        self.run(lambda: self.catalog.add(OLD))

    def run(self, change: Callable[[], object], meanwhile: Callable[[], object] = lambda: None) -> None:
        """Run a statement, which looks now and then whether it is stopped; then time passes."""

        def pass_time() -> None:
            meanwhile()
            self.kept.simulation.pass_time(0.01)

        room.set_meanwhile(pass_time)
        try:
            with room.watched(lambda: self.stopped):
                change()
        finally:
            room.set_meanwhile(None)

    def names(self) -> set[str]:
        """The names of the relations at the keeper, a while later."""
        self.kept.simulation.pass_time(3)
        return {key.removeprefix(RELATION) for key in self.kept.keeper.documents}

    def replace_keeper(self) -> None:
        self.kept.take_over()
        self.kept.simulation.pass_time(3)


Change = Callable[[ClusterCatalog], object]
CHANGES: dict[str, tuple[Change, set[str]]] = {
    "add": (lambda catalog: catalog.add(NEW), {"old", "new"}),
    "remove": (lambda catalog: catalog.remove(("old",)), set()),
    "exchange": (
        lambda catalog: catalog.exchange(next(iter(catalog.entries())), ViewEntry("old", "SELECT 3")),
        {"old"},
    ),
    "comment": (lambda catalog: catalog.comment_on_schema("all of it"), {"old", "schema:default"}),
}


@pytest.mark.parametrize("change", [change for change, _ in CHANGES.values()], ids=[*CHANGES])
def test_a_change_that_finds_no_keeper_is_given_up_with_its_statement(change: Change) -> None:
    session = Session()
    before = dict(session.kept.keeper.documents)
    session.kept.kill(KEEPER)
    session.kept.simulation.pass_time(0.2)
    session.stopped = True
    with pytest.raises(room.StoppedError):
        session.run(lambda: change(session.catalog))
    session.replace_keeper()
    after = session.kept.keeper.documents
    assert {key: each.content for key, each in after.items()} == {
        key: each.content for key, each in before.items()
    }


@pytest.mark.parametrize(("change", "names"), CHANGES.values(), ids=[*CHANGES])
def test_a_change_that_was_sent_may_have_been_made(change: Change, names: set[str]) -> None:
    session = Session()
    session.stopped = True
    session.kept.pause(KEEPER, 1)
    with pytest.raises(OperationalError, match="may have been made") as error:
        session.run(lambda: change(session.catalog))
    assert error.value.sqlstate == "08007"
    assert session.names() == names


def test_the_second_half_of_a_rename_is_made_by_the_next_keeper() -> None:
    """The relation had both names for good."""
    session = Session()

    def lose_keeper() -> None:
        """The keeper dies after the first half."""
        if session.kept.simulation.machines[KEEPER].alive and len(session.kept.keeper.documents) == 2:
            session.kept.kill(KEEPER)
            session.stopped = True

    old = next(iter(session.catalog.entries()))
    with pytest.raises(OperationalError, match="may have been made") as error:
        session.run(lambda: session.catalog.rename(old, NEW), lose_keeper)
    assert error.value.sqlstate == "08007"
    session.replace_keeper()
    assert session.names() == {"new"}


def test_a_document_that_nothing_refers_to_is_removed_though_the_statement_is_stopped() -> None:
    session = Session()
    (key,) = session.kept.keeper.documents
    documents = Documents(session.kept.memberships["client"])
    session.kept.kill(KEEPER)
    session.kept.simulation.pass_time(0.2)
    session.stopped = True
    session.run(lambda: documents.remove(key))
    session.replace_keeper()
    assert session.names() == set()
