"""The rows of spread tables move to the new owners of their partitions, step by step."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest

from sqlfront_cluster.members.protocol.member_list import MemberInfo, MemberList
from sqlfront_connectors.base import Partitioning, ScanRequest, insert_all
from sqlfront_connectors.memory.keyed_table import NewValues
from sqlfront_connectors.memory.numbered_table import NumberedTable
from sqlfront_connectors.memory.segments.index import IndexDefinition
from sqlfront_connectors.memory.spread import moves, version_keys
from sqlfront_connectors.memory.spread.next_version import ChangeMode
from sqlfront_connectors.memory.spread.published_table import PublishedTable
from sqlfront_connectors.memory.spread.table import SpreadTable, place_anew
from sqlfront_values.errors import OperationalError
from sqlfront_values.partitioning.partitions import key_hasher
from tests.connectors.test_spread import MEMBERS, SCHEMA, Members, rows

PARTITIONINGS = [Partitioning((0,), 271), Partitioning((0,), 8), None]


@pytest.fixture
def members() -> Iterator[Members]:
    members = Members()
    with members.cluster:
        yield members


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "STEP_BYTES", 3000)


def hand_over(members: Members, names: Sequence[str]) -> None:
    """These members hand over, and the others own the partitions."""
    before, staying = members.member_list, [name for name in MEMBERS if name not in names]
    version = before.version + 1
    infos = tuple(MemberInfo(name, hands_over=name in names) for name in MEMBERS)
    owners = tuple(staying[number % len(staying)] for number in range(271))
    for member in members.cluster.members:
        member.members = MemberList(version, infos, owners, dealt=version)


def check_shares(members: Members, table: SpreadTable) -> None:
    """Every backup has the rows of its share under the same numbers."""
    held = table.snapshot().held
    assert held.key is not None
    backed = dict(held.backups)
    assert {*held.owners} <= {*backed} or not backed
    for owner in {*held.owners}:
        share = members.stores[owner].share(held.key, "t")
        for holder in backed.get(owner, ()):
            backup = members.stores[holder].share(held.key, "t", owner)
            for ours, theirs in zip(share.segments, backup.segments, strict=True):
                assert theirs.batch.equals(ours.batch)
                assert str(theirs.deleted) == str(ours.deleted)


def take_step(table: SpreadTable) -> None:
    answers = iter((False, True))
    place_anew(table, lambda: next(answers))


def change(table: SpreadTable, generator: random.Random, expected: dict[int, str]) -> None:
    """Replace some rows, and delete some."""
    path = NumberedTable(table).snapshot().row_path((0,), (0, 2))
    if path is None:
        return
    chosen = generator.sample(sorted(expected), 6)
    found = [row for each in path.find([(key,) for key in chosen]) for row in each]
    assert [key for key, _ in found] == chosen
    table.change_rows([(key, "new", number) for key, number in found[:3]], stores=True)
    expected.update((key, "new") for key in chosen[:3])
    path = NumberedTable(table).snapshot().row_path((0,), (0, 2))
    assert path is not None
    table.change_rows(
        [row for each in path.find([(key,) for key in chosen[3:]]) for row in each], stores=False
    )
    for key in chosen[3:]:
        del expected[key]


def change_by_keys(table: SpreadTable, generator: random.Random, expected: dict[int, str]) -> None:
    """Replace rows, and delete rows, by their keys alone: of each member with rows two, and with the first
    key's rows one that isn't there."""
    if table.partitioning is None:
        assert table.change_keys([(next(iter(expected)),)], None) is None
        return
    owners = table.snapshot().held.owners
    hash_key = key_hasher([SCHEMA.field(0).type])
    by_owner: dict[str, list[int]] = {}
    for key in generator.sample(sorted(expected), len(expected)):
        by_owner.setdefault(owners[hash_key((key,)) % len(owners)], []).append(key)
    assert by_owner.keys() == {*owners}
    replaced, deleted = ([keys[place] for keys in by_owner.values()] for place in (0, 1))
    new = NewValues((1,), (f"new {generator.random()}",))
    assert table.change_keys([(key,) for key in (*replaced, -1)], new) == len(replaced)
    assert table.change_keys([(key,) for key in deleted], None) == len(deleted)
    assert table.change_keys([(key,) for key in deleted], None) == 0
    expected.update((key, str(new.values[0])) for key in replaced)
    for key in deleted:
        del expected[key]


@pytest.mark.parametrize("backups", [0, 1, 2])
@pytest.mark.parametrize("placed", PARTITIONINGS, ids=["271", "8", "no key"])
def test_rows_move_by_steps_while_others_are_changed(
    members: Members, placed: Partitioning | None, backups: int
) -> None:
    move_and_change(members, placed, backups)


def test_rows_move_while_changes_make_all_shares_anew(
    members: Members, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As changes of rows on very many members do: they make shares of those members that have rows, and not
    of members that have joined and don't have any yet."""
    monkeypatch.setattr(version_keys, "MOST_NAMED", 0)
    move_and_change(members, PARTITIONINGS[0], 1)


def test_backups_on_a_new_member_are_not_taken_for_those_of_the_former_list(members: Members) -> None:
    """A session may hear of the version with the new member's backups before it uses the list with the
    member."""
    hand_over(members, MEMBERS[:1])
    former = members.member_list
    table = SpreadTable("t", SCHEMA, PARTITIONINGS[0], members, backups=1)
    insert_all(table, [rows(*range(600))])
    hand_over(members, ())
    take_step(table)
    assert MEMBERS[0] in {holder for _, holders in table.snapshot().held.backups for holder in holders}

    for member in members.cluster.members:
        member.members = former
    with pytest.raises(OperationalError) as refused, table.next_version(ChangeMode.UPDATE) as version:
        assert version.processor
    assert refused.value.sqlstate == "40001"


def move_and_change(members: Members, placed: Partitioning | None, backups: int) -> None:
    """Members leave and join, and rows change between the steps of the moves."""
    generator = random.Random(f"{placed} {backups}")
    table = SpreadTable("t", SCHEMA, placed, members, backups=backups)
    insert_all(table, [rows(*range(600))])
    table.set_indexes((IndexDefinition("by_s", (1,)),))
    expected = {key: str(key) for key in range(600)}
    for turn in range(3):
        change(table, generator, expected)
        if turn == 2:
            insert_all(table, [rows(*range(1000, 1400))])
            expected.update((key, str(key)) for key in range(1000, 1400))
        leaving = () if turn % 2 else (generator.choice(MEMBERS),)
        hand_over(members, leaving)
        steps = 0
        while not table.in_place:
            take_step(table)
            steps += 1
            check_shares(members, table)
            assert members.read(table) == sorted(expected.items())
            change(table, generator, expected)
            change_by_keys(table, generator, expected)
            check_shares(members, table)
            value = expected[generator.choice(sorted(expected))]
            wanted = ScanRequest((0, 1), keys=((value,),), by=(1,))
            assert members.read(table, wanted) == [row for row in sorted(expected.items()) if row[1] == value]
        # Two members can't keep two backups: then all is written anew at once.
        assert steps > 1 or (backups == 2 and leaving)
        assert {*table.snapshot().holders} == {*MEMBERS} - {*leaving}
        check_shares(members, table)


def test_a_write_by_a_job_lets_others_write_between_the_steps_that_it_takes_first(
    members: Members, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = SpreadTable("t", SCHEMA, PARTITIONINGS[0], members)
    insert_all(table, [rows(*range(600))])
    hand_over(members, MEMBERS[:1])
    begun, begin = [], members.begin_turn

    def begin_turn(table: PublishedTable) -> str:
        begun.append(table.snapshot().version)
        return begin(table)

    monkeypatch.setattr(members, "begin_turn", begin_turn)
    insert_all(table, [rows(*range(1000, 1100))])

    assert len(begun) > 2
    assert begun == [*range(begun[0], table.snapshot().version)]
    assert members.read(table) == [(key, str(key)) for key in (*range(600), *range(1000, 1100))]


def lose(members: Members, name: str) -> None:
    """This member is gone; the others own the partitions."""
    before, staying = members.member_list, [each for each in MEMBERS if each != name]
    version = before.version + 1
    owners = tuple(staying[number % len(staying)] for number in range(271))
    for member in members.cluster.members:
        member.members = MemberList(version, tuple(map(MemberInfo, staying)), owners, dealt=version)


@pytest.mark.parametrize("lost", MEMBERS[1:])
def test_backups_that_are_not_copied_stay_as_their_shares_do(members: Members, lost: str) -> None:
    """Shares of four small segments, which the next change merges."""
    table = SpreadTable("t", SCHEMA, PARTITIONINGS[0], members, backups=1)
    insert_all(table, [rows(*range(60))])
    for start in (100, 200, 300):
        table.add_rows([(key, str(key)) for key in range(start, start + 30)])
    hand_over(members, MEMBERS[:1])
    take_step(table)
    check_shares(members, table)

    expected = {key: str(key) for start in (0, 30, 100, 200, 300) for key in range(start, start + 30)}
    change(table, random.Random(7), expected)
    change(table, random.Random(8), expected)
    lose(members, lost)
    assert members.read(table) == sorted(expected.items())


def test_rows_are_not_changed_by_key_while_a_holder_of_backups_is_gone(members: Members) -> None:
    """The member has joined, and got backups, but no rows yet: rows are found without it."""
    table = SpreadTable("t", SCHEMA, PARTITIONINGS[0], members, backups=1)
    insert_all(table, [rows(*range(60))])
    hand_over(members, MEMBERS[:1])
    place_anew(table)
    hand_over(members, ())
    take_step(table)
    assert MEMBERS[0] in {holder for _, holders in table.snapshot().held.backups for holder in holders}
    changeable = [table.takes_row_changes]
    lose(members, MEMBERS[0])

    path = NumberedTable(table).snapshot().row_path((0,), (0, 2))
    assert path is not None
    assert [*changeable, table.takes_row_changes] == [True, False]
    (found,) = path.find([(7,)])
    with pytest.raises(OperationalError, match="have moved") as caught:
        table.change_rows(found, stores=False)
    assert caught.value.sqlstate == "40001"
    table.add_rows([(100, "100")])
    assert table.in_place
    check_shares(members, table)
    assert members.read(table) == [(key, str(key)) for key in (*range(60), 100)]
