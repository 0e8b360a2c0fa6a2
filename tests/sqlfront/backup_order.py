"""The order of rows in backups: a change by key names rows by their numbers, so that a backup has to have the
rows of its share under the same numbers."""

from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.spread.version import TableVersion
from sqlfront_connectors.memory.spread.version_keys import share_key
from sqlfront_values.errors import OperationalError
from tests.sqlfront.simulated import TableTown


class BackupOrder:
    """Compares the backups of each version that a session of the town adopts with their shares, as far as
    the members still have both."""

    def __init__(self, town: TableTown) -> None:
        self._town = town
        #: The version that was looked at last, by the client's name.
        self.latest: dict[str, TableVersion] = {}
        self._compared: set[tuple[str, str]] = set()

    def check(self) -> None:
        """Raise AssertionError if a backup of a session's present version has other rows than its share, or
        has them in another order."""
        for name, session in self._town.sessions.items():
            table = session.only_table()
            if table is not None and table.snapshot().held is not self.latest.get(name):
                self.latest[name] = held = table.snapshot().held
                self._check(held)

    def _check(self, held: TableVersion) -> None:
        if held.key is None:
            return
        for owner, holders in held.backups:
            found = share_key(held.key, owner), owner
            if found not in self._compared:
                self._compared.add(found)
                self._compare(held.key, owner, holders)

    def _compare(self, version: str, owner: str, holders: tuple[str, ...]) -> None:
        share = self._share(owner, version)
        for holder in holders:
            backup = self._share(holder, version, owner)
            if share is not None and backup is not None:
                same = are_alike(share, backup)
                assert same, f"{holder}'s backup of {owner} in {version} has other rows, or in another order"

    def _share(self, member: str, version: str, owner: str | None = None) -> TableShare | None:
        try:
            return self._town.services[member]._store.share(version, "t", owner)
        except OperationalError:
            return None


def are_alike(share: TableShare, backup: TableShare) -> bool:
    """Return whether both have the same rows under the same numbers, and the same ones are deleted."""
    if len(share.segments) != len(backup.segments):
        return False
    return all(
        ours.batch.equals(theirs.batch) and str(ours.deleted) == str(theirs.deleted)
        for ours, theirs in zip(share.segments, backup.segments, strict=True)
    )
