"""The state of a table's backups, as of a member list."""

import pytest

from sqlfront_cluster.members.protocol.member_list import NOBODY, MemberInfo, MemberList
from sqlfront_connectors.memory.spread.backups import BackupState, HeldShare, held_shares

#: Four partitions on three members, with a backup each.
OWNERS = ("a", "b", "c", "a")
BACKUPS = (("a", ("b",)), ("b", ("c",)), ("c", ("a",)))


def listed(*owners: str, leaving: tuple[str, ...] = ()) -> MemberList:
    """A list of the owners of partitions, and of further members, which hand their rows over."""
    names = dict.fromkeys(owner for owner in owners if owner != NOBODY)
    infos = [MemberInfo(name) for name in names] + [MemberInfo(name, hands_over=True) for name in leaving]
    return MemberList(1, tuple(infos), owners)


def states(wanted: int, members: MemberList) -> dict[str, str]:
    return {share.owner: share.state.value for share in held_shares(OWNERS, BACKUPS, wanted, members)}


def test_a_share_tells_its_partitions_reader_and_backups() -> None:
    assert held_shares(OWNERS, BACKUPS, 1, listed(*OWNERS)) == (
        HeldShare("a", (0, 3), "a", ("b",), BackupState.COMPLETE),
        HeldShare("b", (1,), "b", ("c",), BackupState.COMPLETE),
        HeldShare("c", (2,), "c", ("a",), BackupState.COMPLETE),
    )


def test_the_holder_of_a_lost_members_backup_is_its_reader() -> None:
    assert held_shares(OWNERS, BACKUPS, 1, listed("a", "c", "c", "a")) == (
        HeldShare("a", (0, 3), "a", (), BackupState.BEING_MADE),
        HeldShare("b", (1,), "c", (), BackupState.BEING_MADE),
        HeldShare("c", (2,), "c", ("a",), BackupState.COMPLETE),
    )


@pytest.mark.parametrize(
    ("wanted", "members", "expected"),
    [
        (0, listed(*OWNERS), ("complete", "complete", "complete")),
        (2, listed(*OWNERS), ("being made", "being made", "being made")),
        (1, listed("a", "a", "a", "a"), ("pending", "lost", "pending")),
        (0, listed("a", "a", "a", "a"), ("complete", "lost", "complete")),
        # A member that hands its rows over can be read, and holds its backups, until it has gone.
        (1, listed("a", "b", "b", "a", leaving=("c",)), ("complete", "complete", "complete")),
        (1, listed(NOBODY, NOBODY, NOBODY, NOBODY), ("lost", "lost", "lost")),
    ],
)
def test_states(wanted: int, members: MemberList, expected: tuple[str, ...]) -> None:
    assert tuple(states(wanted, members).values()) == expected


def test_more_backups_than_other_members_are_pending() -> None:
    alone = held_shares(("a", "a"), (), 1, listed("a", "a"))
    assert [share.state for share in alone] == [BackupState.PENDING]
    two = held_shares(("a", "b"), (("a", ("b",)), ("b", ("a",))), 2, listed("a", "b"))
    assert [share.state for share in two] == [BackupState.PENDING] * 2


def test_the_state_of_several_shares_is_the_worst_of_theirs() -> None:
    worst = BackupState.of_all([BackupState.PENDING, BackupState.LOST, BackupState.BEING_MADE])
    assert worst is BackupState.LOST
    assert BackupState.of_all([]) is BackupState.COMPLETE
