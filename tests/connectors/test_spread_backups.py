"""Backups of spread memory tables: written with each version, read when a share's member is gone."""

import random
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

import sqlfront_connectors.registry  # noqa: F401 - makes the processors known
from sqlfront_connectors.base import Partitioning, ScanRequest, insert_all
from sqlfront_connectors.memory.numbered_table import NumberedTable
from sqlfront_connectors.memory.segments.index import IndexDefinition
from sqlfront_connectors.memory.segments.segment import build_segments
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.spread.processors import BackupShare
from sqlfront_connectors.memory.spread.table import SpreadTable, place_anew
from sqlfront_connectors.memory.spread.version_keys import backup_key
from sqlfront_values.errors import OperationalError
from tests.connectors.test_spread import MEMBERS, SCHEMA, Members, rows

KEYED = Partitioning((0,), 271)


@pytest.fixture
def members() -> Iterator[Members]:
    members = Members()
    with members.cluster:
        yield members


def backed_table(members: Members, backups: int, placed: Partitioning | None = KEYED) -> SpreadTable:
    table = SpreadTable("t", SCHEMA, placed, members)
    table.backups = backups
    return table


def check_backups(members: Members, table: SpreadTable, count: int) -> None:
    """Each share has as many backups as it is to have, which are its equals down to the rows' numbers."""
    held = table.snapshot().held
    assert held.key is not None
    assert {owner: len(holders) for owner, holders in held.backups} == dict.fromkeys(MEMBERS, count)
    for owner, holders in held.backups:
        share = members.stores[owner].share(held.key, "t")
        for holder in holders:
            assert holder != owner
            backup = members.stores[holder].share(held.key, "t", owner)
            assert len(backup.segments) == len(share.segments)
            for ours, theirs in zip(share.segments, backup.segments, strict=True):
                assert theirs.batch.equals(ours.batch)
                assert str(theirs.deleted) == str(ours.deleted)
            assert all(not segment.indexes for segment in backup.segments)


@pytest.mark.parametrize("placed", [KEYED, Partitioning((0,), 8), None], ids=str)
@pytest.mark.parametrize("backups", [1, 2])
def test_each_write_reaches_the_backups(members: Members, backups: int, placed: Partitioning | None) -> None:
    table, generator = backed_table(members, backups, placed), random.Random(backups)
    expected: dict[int, str] = {}
    insert_all(table, [rows(*range(100))])
    expected.update((key, str(key)) for key in range(100))
    check_backups(members, table, backups)
    for start in range(100, 1000, 150):
        added = range(start, start + generator.randint(1, 150))
        insert_all(table, [rows(*added[:10]), rows(*added[10:])])
        expected.update((key, str(key)) for key in added)
        if placed is not None:
            chosen = generator.sample(sorted(expected), 7)
            path = NumberedTable(table).snapshot().row_path((0,), (0, 2))
            assert path is not None
            found = [row for each in path.find([(key,) for key in chosen]) for row in each]
            table.change_rows([(key, "new", number) for key, number in found[:4]], stores=True)
            expected.update((key, "new") for key in chosen[:4])
            path = NumberedTable(table).snapshot().row_path((0,), (0, 2))
            assert path is not None
            found = [row for each in path.find([(key,) for key in chosen[4:]]) for row in each]
            table.change_rows(found, stores=False)
            for key in chosen[4:]:
                del expected[key]
        check_backups(members, table, backups)
        assert members.read(table) == sorted(expected.items())

    for lost in MEMBERS:
        members.deal_anew([name for name in MEMBERS if name != lost])
        assert not table.in_place
        assert members.read(table) == sorted(expected.items())
        members.deal_anew(MEMBERS)


def test_a_change_by_key_is_refused_by_a_backup_in_another_order(members: Members) -> None:
    """Nothing makes such a backup; other rows than those of the share would be deleted there, unseen until
    the share's member is lost."""
    table = backed_table(members, 1)
    insert_all(table, [rows(*range(100))])
    table.add_rows([(key, str(key)) for key in range(100, 160)])
    held = table.snapshot().held
    assert held.key is not None
    for owner, (holder,) in held.backups:
        shares = members.stores[holder]._shares
        backup = shares[backup_key(held.key, owner)]
        turned = TableShare(backup.schema, backup.partitioning, backup.segments[::-1])
        shares[backup_key(held.key, owner)] = turned
    path = NumberedTable(table).snapshot().row_path((0,), (0, 2))
    assert path is not None
    with pytest.raises(OperationalError, match="not where they were found") as caught:
        table.change_rows(path.find([(7,)])[0], stores=False)

    assert caught.value.sqlstate == "40001"
    assert table.snapshot().held is held


@pytest.mark.parametrize("numbers", [(3, 10), (4,), (3, 4)])
def test_a_job_changes_no_backup_without_the_rows(numbers: tuple[int, ...]) -> None:
    """A backup of ten rows, the fifth of which is deleted."""
    processor = BackupShare("t", "t@2", "t@1", SCHEMA, KEYED, numbered=True)
    (segment,) = build_segments([rows(*range(10))], SCHEMA, KEYED)
    present = (segment.without(np.array([4])),)
    gone = pa.record_batch({"k": pa.array([0] * len(numbers), pa.int64()), "number": pa.array(numbers)})
    with pytest.raises(OperationalError, match="not where they were found"):
        processor.change(present, [gone])

    changed, _ = processor.change(present, [gone.slice(0, 0)])
    assert not changed


def test_indexes_find_rows_of_a_lost_member(members: Members) -> None:
    table = backed_table(members, 1)
    insert_all(table, [rows(*range(1000))])
    table.set_indexes((IndexDefinition("by_s", (1,)),))
    check_backups(members, table, 1)
    for lost in MEMBERS:
        members.deal_anew([name for name in MEMBERS if name != lost])
        request = ScanRequest((0, 1), keys=(("7",), ("800",)), by=(1,))
        assert members.read(table, request) == [(7, "7"), (800, "800")]
        members.deal_anew(MEMBERS)


@pytest.mark.parametrize("backups", [0, 1, 2])
def test_what_is_lost_depends_on_the_backups(members: Members, backups: int) -> None:
    table = backed_table(members, backups)
    insert_all(table, [rows(*range(300))])
    everything = members.read(table)

    members.deal_anew(MEMBERS[1:])
    if backups == 0:
        with pytest.raises(OperationalError, match="were lost with embedded-0, and") as error:
            members.read(table)
        assert error.value.sqlstate == "58030"
        return
    assert members.read(table) == everything
    members.deal_anew(MEMBERS[2:])
    if backups == 1:
        with pytest.raises(OperationalError, match="were lost with embedded-0, embedded-1, and"):
            members.read(table)
    else:
        assert members.read(table) == everything


def test_the_copies_that_are_missing_are_made_anew(members: Members) -> None:
    table = backed_table(members, 1)
    insert_all(table, [rows(*range(300))])
    everything = members.read(table)

    members.deal_anew(MEMBERS[1:])
    place_anew(table)
    assert table.in_place
    assert table.snapshot().held.backups == (
        ("embedded-1", ("embedded-2",)),
        ("embedded-2", ("embedded-1",)),
    )
    members.deal_anew(MEMBERS[2:])
    assert members.read(table) == everything
    place_anew(table)
    assert members.read(table) == everything
    assert table.snapshot().held.backups == ()  # there is nobody to hold one


def test_a_failed_write_leaves_no_backup(members: Members) -> None:
    table = backed_table(members, 1)
    insert_all(table, [rows(*range(300))])
    before = members.keys()
    members.fail = True
    with pytest.raises(OperationalError, match="as told"):
        insert_all(table, [rows(1000)])
    assert members.keys() == before


def test_empty_shares_have_backups(members: Members) -> None:
    table = backed_table(members, 1)
    insert_all(table, [rows(5)])
    check_backups(members, table, 1)
    members.deal_anew(MEMBERS[:2])
    assert members.read(table) == [(5, "5")]
    assert pa.table(SCHEMA.empty_table()).num_rows == 0
