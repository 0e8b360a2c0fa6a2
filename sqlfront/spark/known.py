"""A cache of a Spark session's names and settings, so that Spark is asked for each of them once.

The cache is cleared when views, tables or settings may have changed through this process
(:mod:`sqlfront_connectors.spark.sessions.watch`). A change of the catalog by another process is noticed when
the cache is cleared the next time.
"""

import threading
from collections.abc import Callable

from sqlfront.state.options import TIME_ZONE
from sqlfront.state.same_answers import FIRST, OTHERS, first_other
from sqlfront_connectors import registry
from sqlfront_connectors.spark.link import SparkLink
from sqlfront_planner.catalog import DEFAULT_CATALOG, DEFAULT_DATABASE, SYSTEM_SCHEMAS
from sqlfront_values.errors import OperationalError


class SparkNameCache:
    """A cache of the names of tables and views in a Spark session, and of its settings, so that most
    statements need no call of Spark. Safe to use from several threads."""

    def __init__(self, link: SparkLink) -> None:
        """Read the session's time zone by ``link``, and begin to watch the session. Raises OperationalError
        if the Spark session is gone."""
        self.link = link
        # The link refers to this object alone, since the link outlives the session that closes it.
        self._changes = _Changes()
        #: The last change that was taken over; None before the first.
        self._settled: object = None
        self._settling = threading.Lock()
        self._names = _Names()
        #: The time zone of the Spark session.
        self.time_zone = link.setting(TIME_ZONE)
        #: The current catalog and database of the Spark session.
        self.database = (DEFAULT_CATALOG, DEFAULT_DATABASE)
        #: The first setting that makes Spark's answers differ from sqlfront's; None if no setting does.
        self.other_answers: str | None = None
        link.watch(self._changes.note)

    @property
    def epoch(self) -> object:
        """An object that stands for the state of Spark's names and settings in this cache: another object
        after each :meth:`settle` that found a change; None before the first :meth:`settle`."""
        return self._settled

    @property
    def is_outdated(self) -> bool:
        """Whether Spark's names or settings may have changed since the last :meth:`settle`."""
        return self._changes.last is not self._settled

    def settle(self, follow: Callable[[], None]) -> None:
        """If Spark's names or settings may have changed, read the settings, clear the cached names, and call
        ``follow``, by which the session adapts to the changes. If another thread is doing so, wait until it
        is done. Changes that happen meanwhile are left to the next call."""
        with self._settling:
            change = self._changes.last
            if change is not self._settled:
                self._learn()
                follow()
                self._settled = change

    def _learn(self) -> None:
        """Read the settings from Spark, and clear the cached names. If the Spark session is gone, the cache
        has no view and no setting that makes answers differ."""
        try:
            found = {key: self.link.setting(key) for key in (TIME_ZONE, *FIRST)} | self.link.settings(OTHERS)
            self.database = self.link.database
        except OperationalError:
            self._names, self.other_answers = _Names(frozenset()), None
            return
        self._names, self.time_zone = _Names(), found[TIME_ZONE]
        self.other_answers = first_other(found)

    def has_view(self, name: str) -> bool:
        """Return whether the Spark session has a temporary view with the name."""
        names = self._names
        if names.views is None:
            names.views = frozenset(view.lower() for view in self.link.views)
        return name.lower() in names.views

    def drop_view(self, name: str) -> bool:
        """Drop a temporary view of the Spark session. Return True if the view was dropped, False if no view
        has the name."""
        dropped = self.has_view(name) and self.link.drop_view(name)
        self._names = _Names()
        return dropped

    def whole_name(self, parts: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the full name (catalog, database and name, in parts) of the relation of Spark's that the
        dotted name ``parts`` stands for; None if Spark has no such relation. A temporary view has only its
        name."""
        whole = self._names.whole
        if parts not in whole:
            whole[parts] = self.link.whole_name(parts)
        return whole[parts]


class _Changes:
    """A listener for changes in a Spark session. ``last`` stands for the latest change: a new object after
    each change."""

    def __init__(self) -> None:
        self.last = object()

    def note(self) -> None:
        """Record that Spark's names or settings may have changed."""
        self.last = object()


class _Names:
    """The names that Spark was asked for since the last change. After a change a new object takes its place:
    an answer that arrives late is stored in the old object, which nobody reads any more."""

    def __init__(self, views: frozenset[str] | None = None) -> None:
        """``views``: the names of Spark's temporary views; None: Spark was not asked yet."""
        self.views = views
        #: Qualified names of relations, by the dotted names.
        self.whole: dict[tuple[str, ...], tuple[str, ...] | None] = {}


def reads_here(parts: tuple[str, ...]) -> bool:
    """Return whether sqlfront resolves the dotted name, not Spark: its qualifier is a format of sqlfront's
    connectors or a schema such as ``sys``, as in ``parquet.`path```.

    >>> reads_here(("parquet", "data/a")), reads_here(("default", "a"))
    (True, False)
    """
    return len(parts) == 2 and parts[0].lower() in (*SYSTEM_SCHEMAS, *registry.formats())
