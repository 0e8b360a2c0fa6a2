"""The choice of the members that hold backups."""

import random
from collections import Counter

from sqlfront_cluster.members.keeper.partition_table import backup_members


def test_members_of_one_host_back_each_other_up_in_a_ring() -> None:
    assert backup_members(("a", "b", "c", "d"), 2) == {
        "a": ("b", "c"),
        "b": ("c", "d"),
        "c": ("d", "a"),
        "d": ("a", "b"),
    }


def test_backups_that_have_no_member_are_left_out() -> None:
    assert backup_members((), 2) == {}
    assert backup_members(("a",), 2) == {"a": ()}
    assert backup_members(("a", "b"), 2) == {"a": ("b",), "b": ("a",)}
    assert backup_members(("a", "b"), 0) == {"a": (), "b": ()}


def test_a_backup_is_on_another_host() -> None:
    chosen = backup_members(("a", "b", "c", "d"), 1, {"a": "x", "b": "x", "c": "y", "d": "y"})

    assert chosen == {"a": ("c",), "b": ("d",), "c": ("a",), "d": ("b",)}


def test_whatever_the_hosts_backups_are_elsewhere_and_evenly_spread_where_they_can_be() -> None:
    generator = random.Random(7)
    for _ in range(500):
        members = [f"m{number}" for number in range(generator.randint(1, 7))]
        count = generator.randint(0, 2)
        hosts = {member: generator.choice("xyz") for member in members if generator.random() < 0.8}
        chosen = backup_members(members, count, hosts)
        assert [*chosen] == members
        for owner, backups in chosen.items():
            assert owner not in backups
            assert len({*backups}) == len(backups) == min(count, len(members) - 1)
            known = {hosts[other] for other in members if other in hosts}
            if backups and owner in hosts and len(known) > 1:
                assert hosts.get(backups[0]) != hosts[owner]
        alone = backup_members(members, count)
        held = Counter(backup for backups in alone.values() for backup in backups)
        assert len({held[member] for member in members}) == 1
