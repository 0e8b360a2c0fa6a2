"""The keys of a spread table's versions, and of the members' shares of the versions.

A version that a job has made has one share under the version's own key on each member. A version that
changes a few rows has new shares only on the members of these rows; its key names these members with the ids
of their shares, so that every member finds its share by the version's key alone, whatever messages it has
missed. The key of a share's backup follows from the share's key.
"""

from collections.abc import Iterable, Mapping
from threading import RLock
from typing import Final

#: Between an attempt's own text and the version of the table's document that it expects.
_EXPECTS: Final = "+"
#: Between the parts of a version's key: the key of the version that made all shares anew, then for each
#: member with a later share the member's name and the share's id.
_MARK: Final = "\x1f"
#: Between the key of a share and, for the key of the share's backup, the name of the share's member.
_BACKUP: Final = "\x1e"
#: Members that a key names at most; a change of further members makes all shares anew, so that keys stay
#: short.
MOST_NAMED: Final = 8


def share_key(version: str, member: str) -> str:
    """Return the key under which the member named ``member`` has its share of the version with the key
    ``version``.

    >>> version = changed_key("memory:1@a.1", {"x": "memory:1@b.2"})
    >>> share_key(version, "x"), share_key(version, "y")
    ('memory:1@b.2', 'memory:1@a.1')
    """
    if _MARK not in version:
        return version
    whole, *later = version.split(_MARK)
    for name, made in zip(later[::2], later[1::2], strict=False):
        if name == member:
            return f"{whole.partition('@')[0]}@{made}"
    return whole


def changed_key(base: str, shares: Mapping[str, str]) -> str | None:
    """Return the key of a version in which some members have new shares and all others those of the version
    ``base``. ``shares``: the key of the new share by the member's name. None if the key would be too long."""
    whole, *parts = base.split(_MARK)
    later = dict(zip(parts[::2], parts[1::2], strict=True))
    later |= {name: key.partition("@")[2] for name, key in shares.items()}
    if len(later) > MOST_NAMED or any(_MARK in name or _BACKUP in name for name in later):
        return None
    return _MARK.join((whole, *(part for pair in sorted(later.items()) for part in pair)))


def backup_key(version: str, owner: str) -> str:
    """Return the key under which members have the backup of the share of ``owner`` of the version with the
    key ``version``."""
    return f"{share_key(version, owner)}{_BACKUP}{owner}"


def uses(version: str, key: str, member: str) -> bool:
    """Return whether the share or backup with the key ``key``, which the member named ``member`` has, belongs
    to the version with the key ``version``.

    >>> uses("memory:1@a.1", backup_key("memory:1@a.1", "x"), "y"), uses("memory:1@a.1", "memory:1@b.2", "y")
    (True, False)
    """
    made, _, owner = key.partition(_BACKUP)
    return share_key(version, owner or member) == made


def attempt_token(token: str, expected: int) -> str:
    """Return the token of an attempt to change a table without a turn, from which :func:`expected_version`
    and :func:`writer_of` follow. ``token``: the writer's name, a dot, and a text unique to the attempt.
    ``expected``: the version of the table's document that the publication expects."""
    return f"{token}{_EXPECTS}{expected}"


def token_of(key: str) -> str:
    """Return the token of the turn or attempt in which the share or backup with the key ``key`` was made."""
    return key.partition("@")[2].partition(_BACKUP)[0].rpartition(".")[0]


def expected_version(token: str) -> int | None:
    """Return the version of the table's document that an attempt's publication expects; None for the token
    of a turn.

    >>> expected_version(attempt_token("client.4711", 5)), expected_version("client.4711")
    (5, None)
    """
    _, marked, expected = token.rpartition(".")[2].partition(_EXPECTS)
    return int(expected) if marked else None


def writer_of(token: str) -> str:
    """Return the name of the member that writes with the token of a turn or an attempt.

    >>> writer_of(attempt_token("client.one.4711", 5))
    'client.one'
    """
    return token.rpartition(".")[0]


class LiveVersions:
    """The versions that somebody may read in a process that has all members of its cluster. Safe to use from
    several threads."""

    def __init__(self) -> None:
        # Reentrant because finalizers call :meth:`forget`.
        self._lock = RLock()
        self._live: set[str] = set()

    def add(self, version: str | None) -> None:
        """Note that the version with the key ``version`` has been published."""
        if version is not None:
            with self._lock:
                self._live.add(version)

    def forget(self, version: str) -> None:
        """Note that nobody reads the version ``version`` any more, or that it was never published."""
        with self._lock:
            self._live.discard(version)

    def unneeded(self, version: str, member: str, keys: Iterable[str]) -> list[str]:
        """Return the keys of the shares and backups of the version ``version`` that no published version
        uses: among ``keys``, which the member named ``member`` has, and the key of the member's share, which
        it may not have yet."""
        table = version.partition("@")[0] + "@"
        with self._lock:
            # A list first: a finalizer on this thread may change the set in the midst of a loop.
            others = [key for key in list(self._live) if key.startswith(table)]
        own = [key for key in keys if uses(version, key, member)]
        return [
            key
            for key in dict.fromkeys((share_key(version, member), *own))
            if not any(uses(other, key, member) for other in others)
        ]
