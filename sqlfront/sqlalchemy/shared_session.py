"""The session of an engine, which all connections of the engine's pool share, so that tables in memory, views
and settings are the same in each of them.

A session without a name belongs to one engine and ends with ``Engine.dispose``. A named session
(``sqlfront://?session=name``) is shared by all engines of the process whose URLs are equal, and lives until
the process ends. With a pool that closes every connection (``NullPool``), only a named session keeps its
tables.
"""

import os
import threading
import weakref
from collections.abc import Callable, Hashable
from typing import Final

from sqlfront.connection import Connection
from sqlfront.session import Session


class SharedConnection(Connection):
    """A connection to a session that other connections use, too. :meth:`close` leaves the session open, and
    calls ``released``, by which the session learns that it has one connection less."""

    def __init__(self, session: Session, released: Callable[[], None]) -> None:
        super().__init__(session)
        self._released = released

    def close(self) -> None:
        """Close this connection, but not the session; closing twice is no error."""
        if not self._closed:
            self._closed = True
            self._released()


class SharedSession:
    """A session that several connections share. The first connection opens it. After :meth:`release`, the
    session closes with its last connection, and a later connection opens a new session. A new session is also
    opened in a forked process, and after the session was closed by another caller."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users: _Users | None = None
        _sessions.add(self)

    def unlock(self) -> None:
        """Replace the lock, in a forked process: a thread of the parent process may have held the lock at the
        fork, and no thread here would release it."""
        self._lock = threading.Lock()

    def connect(self, begin: Callable[[], Connection]) -> SharedConnection:
        """Return a new connection to the session. If no session is open, ``begin`` opens one, and returns a
        connection to it."""
        with self._lock:
            if self._users is None or self._users.session.closed:
                self._users = _Users(begin().session)
            users = self._users
            users.count += 1
        return SharedConnection(users.session, lambda: self._left(users))

    def release(self) -> None:
        """Close the session when its last connection is closed; a later connection opens a new session."""
        with self._lock:
            users, self._users = self._users, None
        if users is not None and users.count == 0:
            users.session.close()

    def _left(self, users: "_Users") -> None:
        with self._lock:
            users.count -= 1
            ended = users.count == 0 and users is not self._users
        if ended:
            users.session.close()


class _Users:
    """A session and the number of its open connections."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.count = 0


_sessions: "Final[weakref.WeakSet[SharedSession]]" = weakref.WeakSet()
_named: Final[dict[Hashable, SharedSession]] = {}


def named_session(key: Hashable) -> SharedSession:
    """Return the process's shared session with the ``key`` (the session's name and settings): the same object
    for each call with an equal key."""
    return _named.setdefault(key, SharedSession())


def _unlock_all() -> None:
    for session in _sessions:
        session.unlock()


os.register_at_fork(after_in_child=_unlock_all)
