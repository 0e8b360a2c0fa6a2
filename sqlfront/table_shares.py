"""The places of the rows of memory tables and of their backups, for ``sys.partitions`` and ``sys.shares``."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

from sqlfront.state.cached_table import CachedTable
from sqlfront_cluster.members.member import Member
from sqlfront_cluster.members.protocol.member_list import NOBODY, MemberList
from sqlfront_connectors.memory.keyed_table import KeyedSnapshot, KeyedTable
from sqlfront_connectors.memory.spread.backups import BackupState
from sqlfront_connectors.memory.spread.share_sizes import ShareSize, decode_sizes, encode_question
from sqlfront_connectors.memory.spread.snapshot import SpreadSnapshot
from sqlfront_connectors.memory.spread.store import STORE
from sqlfront_engine.engine import Engine
from sqlfront_planner.catalog import Entry, TableEntry
from sqlfront_values.errors import Error, OperationalError
from sqlfront_values.settings import DEFAULT_PARTITIONS, EMBEDDED

#: Seconds in which a member has to tell its sizes: a user waits for them.
_PATIENCE: Final = 1.0

#: A memory table's name in the catalog, and its version.
NamedVersion: TypeAlias = tuple[str, KeyedSnapshot]
Row: TypeAlias = tuple[object, ...]


def memory_tables(entries: Iterable[Entry]) -> Iterator[NamedVersion]:
    """Yield the current version of each memory table among the catalog's entries, of a cached relation that
    of its copy."""
    for entry in entries:
        if isinstance(entry, TableEntry):
            table = entry.table.copy if isinstance(entry.table, CachedTable) else entry.table
            if isinstance(table, KeyedTable):
                yield entry.name, table.snapshot()


def partition_rows(members: MemberList, tables: Iterable[NamedVersion]) -> list[Row]:
    """Return the rows of ``sys.partitions``: each partition with its number, its owner, the members that hold
    backups of its rows of any table, and the state of these backups."""
    holders: list[set[str]] = [set() for _ in members.owners]
    states: list[set[BackupState]] = [set() for _ in members.owners]
    for _, version in tables:
        for share in version.shares() if isinstance(version, SpreadSnapshot) else ():
            for partition in share.partitions:
                holders[partition].update(share.backups)
                states[partition].add(share.state)
    return [
        (
            number,
            None if owner == NOBODY else owner,
            tuple(sorted(holders[number])),
            BackupState.of_all(states[number]).value,
        )
        for number, owner in enumerate(members.owners)
    ]


def share_rows(runner: Engine | Member, tables: Sequence[NamedVersion]) -> list[Row]:
    """Return the rows of ``sys.shares``, by table and member. A member that doesn't tell its sizes within a
    second has nulls there."""
    sizes = _sizes(runner, tables) if isinstance(runner, Member) else {}
    return [row for name, version in tables for row in _rows(name, version, sizes)]


def _rows(name: str, version: KeyedSnapshot, sizes: Mapping[str, Mapping[str, ShareSize]]) -> Iterator[Row]:
    if not isinstance(version, SpreadSnapshot):
        known, complete = version.statistics, BackupState.COMPLETE.value
        yield name, EMBEDDED, DEFAULT_PARTITIONS, known.rows, known.size, (), 0, complete
        return
    for share in sorted(version.shares(), key=lambda share: share.owner):
        told = sizes.get(share.owner, {}).get(version.held.key or "")
        counted = (None, None, None) if told is None else (told.rows, told.bytes, told.backup_bytes)
        rows, size, backup_size = counted
        state, count = share.state.value, len(share.partitions)
        yield name, share.owner, count, rows, size, share.backups, backup_size, state


class _Patience:
    """A wait for answers that ends after :data:`_PATIENCE` seconds."""

    def __init__(self) -> None:
        self._end: float | None = None

    def stopped(self, now: Callable[[], float]) -> OperationalError | None:
        """Return an error once the time is over."""
        if self._end is None:
            self._end = now() + _PATIENCE
        return OperationalError("the members tell no sizes") if now() > self._end else None


def _sizes(member: Member, tables: Iterable[NamedVersion]) -> dict[str, Mapping[str, ShareSize]]:
    """Return for each member that answers the sizes of what it holds, by the keys of the versions."""
    held = [version.held for _, version in tables if isinstance(version, SpreadSnapshot)]
    question = encode_question([each.key for each in held if each.key is not None])
    owners = {owner for each in held if each.key is not None for owner in each.owners}
    asked = owners.intersection(member.members.data_members)
    found: dict[str, Mapping[str, ShareSize]] = {}
    # All at once, and if one of them has no answer each alone.
    for names in (asked, *({name} for name in asked)):
        if not names <= found.keys():
            with suppress(Error):
                answers = member.requests.ask(STORE, dict.fromkeys(names, question), _Patience())
                found.update((name, decode_sizes(answer)) for name, answer in answers.items())
    return found
