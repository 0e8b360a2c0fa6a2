"""A member that leaves in good order takes its rows with it, or rather: hands them over first."""

from __future__ import annotations

import pytest

from sqlfront_cluster.members.protocol.member_list import CHANGED
from sqlfront_cluster.members.protocol.messages import Submit
from sqlfront_connectors.base import Partitioning
from sqlfront_values.errors import OperationalError
from tests.sqlfront.simulated import TableTown

ROWS = tuple((key, key) for key in range(500))
PARTITIONINGS = (Partitioning((0,), 271), Partitioning((0,), 8), None)


def town(*, seed: int = 1, partitioning: Partitioning | None = PARTITIONINGS[0]) -> TableTown:
    made = TableTown("m0", "m1", "m2", "client-0", seed=seed)
    made.create("client-0", partitioning, ROWS)
    return made


def read_all(here: TableTown) -> None:
    """Read the table to its end, again if the cluster changes or loses a member meanwhile; AssertionError for
    wrong rows."""
    for _ in range(20):
        try:
            assert here.run(here.reading("client-0").poll, 60)
            return
        except OperationalError as error:
            if error.sqlstate not in ("40001", "08006"):
                raise
            here.simulation.pass_time(0.05)
    raise AssertionError("the table can't be read")


@pytest.mark.parametrize("partitioning", PARTITIONINGS)
def test_who_leaves_hands_its_rows_over_first(partitioning: Partitioning | None) -> None:
    here = town(partitioning=partitioning)
    here.complete(here.leave("m2"))
    assert here.run(lambda: here.ends == {"m2": None})
    assert here.run(lambda: "m2" not in here.keeper.members and here.agreed())

    read_all(here)
    table = here.sessions["client-0"].only_table()
    assert table is not None and table.in_place
    assert table.snapshot().holders == ("m0", "m1")


@pytest.mark.parametrize("seed", range(5))
def test_queries_go_on_meanwhile(seed: int) -> None:
    here = town(seed=seed)
    leaving = here.leave("m2")
    while not leaving.ended:
        reading = here.reading("client-0")
        try:
            while not reading.poll():
                while here.resume(leaving):
                    pass
                here.simulation.step()
        except OperationalError as error:
            if error.sqlstate != "40001":
                raise
    assert here.run(lambda: here.ends == {"m2": None})
    read_all(here)


def test_the_last_member_has_nobody_to_hand_over_to() -> None:
    here = TableTown("m0", "client-0", seed=1)
    here.create("client-0", None, ROWS)
    here.complete(here.leave("m0"))
    assert here.run(lambda: here.ends == {"m0": None})


def test_rows_lie_where_they_are_until_they_are_moved() -> None:
    here = town()
    here.memberships["m2"].hand_over()
    assert here.run(lambda: here.keeper.members.handing_over == ("m2",) and here.agreed())
    assert sorted(here.owned().values()) == [135, 136]

    read_all(here)
    here.complete(here.insert("client-0", ((1000, 1),)))
    read_all(here)
    table = here.sessions["client-0"].only_table()
    assert table is not None and table.snapshot().holders == ("m0", "m1")


def test_a_member_may_stay_after_all() -> None:
    here = town()
    here.memberships["m2"].hand_over()
    assert here.run(lambda: here.keeper.members.handing_over == ("m2",) and here.agreed())
    here.memberships["m2"].hand_over(ends=True)
    assert here.run(lambda: here.keeper.members.handing_over == () and here.agreed())
    assert sorted(here.owned().values()) == [90, 90, 91]
    read_all(here)


def test_all_members_may_leave_at_the_same_time() -> None:
    here = town()
    leaving = [here.leave(name) for name in ("m0", "m1", "m2")]

    def ended() -> bool:
        for statement in leaving:
            while here.resume(statement):
                pass
        return all(statement.ended for statement in leaving)

    assert here.run(ended, 200)
    assert [statement.error for statement in leaving] == [None] * 3


def test_a_member_to_which_another_hands_over_waits_until_that_has_gone() -> None:
    here = town()
    for name in ("m0", "m1"):
        here.memberships[name].hand_over()
    assert here.run(lambda: here.keeper.members.heirs == ("m2",) and here.agreed())
    last = here.leave("m2")
    assert not here.run(lambda: here.resume(last) and last.ended, 20)
    assert here.memberships["m2"].joined
    for name in ("m0", "m1"):
        here.complete(here.leave(name))
        read_all(here)
    here.complete(last)
    assert here.run(lambda: here.ends == dict.fromkeys(("m0", "m1", "m2")))


def test_members_that_hand_over_choose_an_heir_when_the_last_one_is_lost() -> None:
    here = town()
    for name in ("m0", "m1"):
        here.memberships[name].hand_over()
    assert here.run(lambda: here.keeper.members.heirs == ("m2",) and here.agreed())
    here.kill("m2")
    assert here.run(lambda: "m2" not in here.keeper.members, 20)
    here.complete(here.insert("client-0", ROWS, overwrite=True))
    leaving = [here.leave(name) for name in ("m0", "m1")]

    def first_has_gone() -> bool:
        for statement in leaving:
            here.resume(statement)
        return any(statement.ended for statement in leaving) and len(here.keeper.members.data_members) == 1

    assert here.run(first_has_gone, 30)
    read_all(here)


def test_the_last_member_hands_over_to_a_newcomer() -> None:
    here = TableTown("m0", "client-0", seed=1)
    here.create("client-0", None, ROWS)
    here.memberships["m0"].hand_over()
    assert here.run(lambda: here.keeper.members.handing_over == ("m0",) and here.agreed())
    here.add("m1")
    assert here.run(lambda: "m1" in here.keeper.members and here.agreed())
    here.complete(here.leave("m0"))
    assert here.run(lambda: "m0" not in here.keeper.members and here.agreed())
    read_all(here)


@pytest.mark.parametrize("partitioning", PARTITIONINGS)
def test_queries_that_arrive_after_a_holder_has_left_are_refused(partitioning: Partitioning | None) -> None:
    """Partitions have changed their owners before the queries were planned, and do not change them again when
    the member leaves; the queries name the member among those that have rows."""
    here = TableTown("m0", "m1", "m2", "client-0", seed=1, observers=("client-0",))
    here.create("client-0", partitioning, ROWS)
    here.memberships["m2"].hand_over()
    assert here.run(lambda: here.keeper.members.handing_over == ("m2",) and here.agreed())
    here.simulation.late = lambda sender, receiver, message: 20.0 if isinstance(message, Submit) else 0.0
    queries = [here.reading("client-0") for _ in range(3)]  # each coordinated by another member
    here.simulation.late = lambda sender, receiver, message: 0.0
    here.complete(here.leave("m2"))
    assert here.run(lambda: here.ends == {"m2": None})

    for query in queries:
        with pytest.raises(OperationalError) as refused:
            here.run(query.poll, 60)
        assert refused.value.sqlstate in (CHANGED, "08006")
    read_all(here)


def rows_on(here: TableTown, member: str) -> int:
    """The rows of the table's present version on a member."""
    (table,) = here.sessions["client-0"].spread_tables()
    version = table.snapshot().held.key
    assert version is not None
    return sum(segment.rows for segment in here.services[member]._store.share(version, "t").segments)


@pytest.mark.parametrize("backups", [0, 1])
def test_rows_that_stay_on_a_member_that_hands_over_are_stored_nowhere(backups: int) -> None:
    """m2 reads its rows for the statement, and owns no partition any more. Its share was no part of the
    version, so that a copy of a table without a partition key lacked rows, such as that of ADD COLUMN."""
    for seed in range(100):  # chance says which member takes the rows of an INSERT
        here = TableTown("m0", "m1", "m2", "client-0", seed=seed)
        here.create("client-0", None, ROWS, backups)
        if rows_on(here, "m2"):
            break
    here.memberships["m2"].hand_over()
    assert here.run(lambda: here.keeper.members.handing_over == ("m2",) and here.agreed())

    with pytest.raises(OperationalError) as refused:
        here.complete(here.rewrite("client-0"))

    assert refused.value.sqlstate == CHANGED
    read_all(here)
    here.complete(here.place_anew("client-0"))
    here.complete(here.rewrite("client-0"))
    read_all(here)


def test_a_write_that_was_planned_before_is_not_published_on_who_has_handed_over() -> None:
    """The writer goes on with a former member list, since it waits for a connection with a new member, and
    m2, on which the current version has no rows, leaves at once."""
    here = town()
    here.memberships["m2"].hand_over()
    assert here.run(lambda: here.keeper.members.handing_over == ("m2",) and here.agreed())
    here.complete(here.place_anew("client-0"))
    here.memberships["m2"].hand_over(ends=True)
    assert here.run(lambda: here.keeper.members.handing_over == () and here.agreed())
    here.simulation.blocked.add(frozenset(("client-0", "m3")))
    here.add("m3")
    assert here.run(lambda: "m3" in here.memberships["m2"].member.members)

    writing = here.insert("client-0", ROWS, overwrite=True)
    before = {*here.keys()["m2"]}

    def m2_has_rows() -> bool:
        here.resume(writing)
        return not before.issuperset(here.keys()["m2"])

    assert here.run(m2_has_rows)
    leaving = here.leave("m2")
    assert here.run(lambda: bool(here.keeper.members.handing_over) or (here.resume(leaving) and False))
    assert here.run(lambda: not any(map(here.resume, (writing, leaving))) and writing.ended and leaving.ended)

    here.simulation.blocked.clear()
    here.simulation.pass_time(2)
    assert here.run(lambda: here.ends == {"m2": None} and here.agreed())
    read_all(here)
    assert isinstance(writing.error, OperationalError)
    assert writing.error.sqlstate == CHANGED
