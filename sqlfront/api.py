"""The two functions at the front door."""

import threading
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sqlfront.config import Config
from sqlfront.result import Parameters, Result
from sqlfront.session import Session
from sqlfront_engine.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront import connection
    from sqlfront_connectors.arrow import ArrowStream
else:
    connection = lazy_module("sqlfront.connection")

_lock = threading.Lock()
_default: list[Session] = []


def connect(
    config: Config | None = None,
    *,
    workers: int | None = None,
    members: int | None = None,
    memory_limit: int | None = None,
    timeout: float | None = None,
    time_zone: str | None = None,
) -> "connection.Connection":
    """A connection to a new session, whose tables live as long as it does. Keywords override ``config``
    (:class:`~sqlfront.config.Config` explains them).

    >>> with connect() as connection:
    ...     connection.execute("select 1 + ?", [2]).fetchall()
    [(3,)]
    """
    given = {
        "workers": workers,
        "members": members,
        "memory_limit": memory_limit,
        "timeout": timeout,
        "time_zone": time_zone,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    return connection.Connection(Session(replace(config or Config(), **changes)))


def sql(text: str, args: Parameters | None = None, **frames: "ArrowStream") -> Result:
    """Run one statement in the process's default session, as ``spark.sql`` does: ``:name`` or ``?`` take
    ``args``, and ``{name}`` in the text stands for the Arrow data given as keyword ``name``.

    >>> sql("select :x + 1 as y", {"x": 1}).collect()
    [Row(y=2)]
    """
    return default_session().sql(text, args, **frames)


def default_session() -> Session:
    """The session behind :func:`sql`, made when it is first used."""
    with _lock:
        if not _default or _default[0].closed:
            _default[:] = [Session(Config())]
        return _default[0]
