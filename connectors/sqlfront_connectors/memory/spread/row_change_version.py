"""The making of the version of a spread table in which a few rows are added, deleted or replaced."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from sqlfront_cluster.codec.rows import Encoded
from sqlfront_connectors.base import Key, RowValues
from sqlfront_connectors.memory.keyed_table import NewValues
from sqlfront_connectors.memory.spread.key_changes import encode_key_change, read_answers
from sqlfront_connectors.memory.spread.next_version import ChangeMode, NextVersion
from sqlfront_connectors.memory.spread.row_changes import by_owner, encode_change
from sqlfront_connectors.memory.spread.share_statistics import (
    changed,
    decode_share_change,
    decode_statistics,
)
from sqlfront_connectors.memory.spread.store import STORE
from sqlfront_connectors.memory.spread.version_keys import changed_key
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_values.partitioning.partitions import key_hasher


class RowChangeVersion(NextVersion):
    """A version in which a few rows are added, deleted or replaced, by a question to the members that have
    the rows, and to those with their backups, without a job. The new shares are made where those of the
    previous version are, whoever owns the partitions now."""

    def _placement(self) -> tuple[int, tuple[str, ...]]:
        return self.base.dealt, self.base.owners

    def _is_placed(self) -> bool:
        return self.base.is_changeable(self.members)

    def change_rows(self, rows: Sequence[RowValues], query: QueryRun | None) -> int:
        """Ask the members with some rows, and those with backups of the rows, to make their shares of the new
        version with these rows deleted or replaced, and publish the version; all other members keep their
        shares. Each item of ``rows`` ends with the number of the row to delete; the values before it are the
        new row that replaces it, or those that determine the row's member. For a change that adds rows
        (APPEND), each item is a new row. ``query``: when this query ends, the method stops waiting for the
        members. Returns the number of ``rows``."""
        table, base = self.table, self.base
        assert base.key is not None
        assert table.partitioning is not None
        stores, numbered = self._how is not ChangeMode.DELETE, self._how is not ChangeMode.APPEND
        kinds = [table.schema.field(column).type for column in self.keys]
        keys = self.keys if stores else tuple(range(len(self.keys)))
        shares = by_owner(rows, key_hasher(kinds), keys, base.owners, stores=stores, numbered=numbered)
        key = changed_key(base.key, dict.fromkeys(shares, self._made_key))
        if key is None:
            shares = {owner: shares.get(owner, ([], [])) for owner in base.owners}
        else:
            self._key = key
        whole = key is None
        encode = partial(encode_change, self._made_key, base.key, table.name, self.members.dealt, whole)
        asked = self._asked(shares)
        answers = table.members.ask(
            STORE,
            {
                member: encode([(owner, shares[owner]) for owner in owners])
                for member, owners in asked.items()
            },
            query,
        )
        more = {ChangeMode.APPEND: len(rows), ChangeMode.DELETE: -len(rows)}.get(self._how, 0)
        values = dict(enumerate(zip(*rows, strict=True))) if stores else {}  # a number at the end is ignored
        self._publish_changes([answers[owner] for owner in sorted(shares)], more, values, whole=whole)
        return len(rows)

    def change_keys(self, keys: Sequence[Key], new: NewValues | None, query: QueryRun | None) -> int:
        """Ask the members that own the ``keys``, and those with backups of their rows, to make their shares
        of the new version with the keys' rows changed; publish the version if there are such rows, and return
        their number. ``new``: the values that the rows get, None = the rows are deleted. ``query``: when this
        query ends, the method stops waiting for the members. Raises OverflowError or TooManyRows if the rows
        can't be changed as Python values."""
        table, base, owners = self.table, self.base, self.base.owners
        assert base.key is not None
        hash_key = key_hasher([table.schema.field(column).type for column in self.keys])
        shares: dict[str, list[Key]] = {}
        for key in keys:
            shares.setdefault(owners[hash_key(key) % len(owners)], []).append(key)
        asked_key = changed_key(base.key, dict.fromkeys(shares, self._made_key))
        whole = asked_key is None
        if whole:
            shares = {owner: shares.get(owner, []) for owner in owners}
        encode = partial(
            encode_key_change, self._made_key, base.key, table.name, self.members.dealt, new, whole
        )
        asked = self._asked(shares)
        answers = table.members.ask(
            STORE,
            {member: encode([(owner, shares[owner]) for owner in held]) for member, held in asked.items()},
            query,
        )
        found = read_answers(table.name, asked, answers)
        made = sorted(owner for owner, (count, _) in found.items() if count or whole)
        total = sum(count for count, _ in found.values())
        if made:
            if len(made) < len(shares):
                asked_key = changed_key(base.key, dict.fromkeys(made, self._made_key))
            self._key = asked_key or self._made_key
            more = -total if new is None else 0
            values = (
                {place: (new.values[at],) for at, place in enumerate(new.places)} if new and total else {}
            )
            self._publish_changes([found[owner][1] for owner in made], more, values, whole=whole)
        return total

    def _asked(self, shares: Collection[str]) -> dict[str, list[str]]:
        """Return the members to ask for a change of the ``shares``, named by their owners: each with the
        owners of those shares that it has, as its own or as a backup."""
        asked: dict[str, list[str]] = {}
        for owner, holders in {**dict.fromkeys(shares, ()), **dict(self.base.backups)}.items():
            for member in (owner, *holders) if owner in shares else ():
                asked.setdefault(member, []).append(owner)
        return asked

    def _publish_changes(
        self,
        changes: Sequence[Encoded],
        more: int,
        values: Mapping[int, Sequence[object]],
        *,
        whole: bool,
    ) -> None:
        """Publish the new version. ``changes``: what the owners tell of their new shares; ``whole``: whether
        all shares are new, so that each owner tells all statistics. ``more``: the change of the number of
        rows. ``values``: the new values by their columns' ordinals, without columns that get none."""
        table, known = self.table, self.base.known
        if whole:
            self.publish_shares([decode_statistics(each, table.schema) for each in changes])
            return
        told = [decode_share_change(each, len(table.schema)) for each in changes]
        self._publish(changed(known, told, known.rows + more, values, table.schema, table.partitioning))
