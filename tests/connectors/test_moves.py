"""The rows of spread tables move to the new owners of their partitions, step by step."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest

from sqlfront_cluster.members.member_list import MemberInfo, MemberList
from sqlfront_connectors.base import Partitioning, ScanRequest, insert_all
from sqlfront_connectors.memory.numbered_table import NumberedTable
from sqlfront_connectors.memory.segments.index import IndexDefinition
from sqlfront_connectors.memory.spread import moves
from sqlfront_connectors.memory.spread.table import SpreadTable, place_anew
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


@pytest.mark.parametrize("backups", [0, 1, 2])
@pytest.mark.parametrize("placed", PARTITIONINGS, ids=["271", "8", "no key"])
def test_rows_move_by_steps_while_others_are_changed(
    members: Members, placed: Partitioning | None, backups: int
) -> None:
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
            value = expected[generator.choice(sorted(expected))]
            wanted = ScanRequest((0, 1), keys=((value,),), by=(1,))
            assert members.read(table, wanted) == [row for row in sorted(expected.items()) if row[1] == value]
        # Two members can't keep two backups: then all is written anew at once.
        assert steps > 1 or (backups == 2 and leaving)
        assert {*table.snapshot().holders} == {*MEMBERS} - {*leaving}
        check_shares(members, table)
