"""Cache of a Spark session's names and settings, each asked for once.

The cache is cleared when views, tables or settings may have changed through this process
(:mod:`sqlfront_connectors.spark.sessions.watch`); changes of the catalog by other processes become visible
with the next change here.
"""

import threading
from collections.abc import Callable

from sqlfront.spark.same_answers import FIRST, OTHERS, first_other
from sqlfront.state.options import TIME_ZONE
from sqlfront_connectors import registry
from sqlfront_connectors.spark.link import SparkLink
from sqlfront_planner.catalog import DEFAULT_CATALOG, DEFAULT_DATABASE, SYSTEM_SCHEMAS
from sqlfront_values.errors import OperationalError


class SparkNameCache:
    """A cache of a Spark session's names and settings. Safe to use from several threads."""

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
        """The last change that was taken over: another object after each change."""
        return self._settled

    @property
    def is_outdated(self) -> bool:
        """Whether a change may have happened that was not taken over yet."""
        return self._changes.last is not self._settled

    def settle(self, follow: Callable[[], None]) -> None:
        """Read the settings, clear the names, and call ``follow`` to take over the change. If another thread
        is doing so, wait until it is done. Changes meanwhile are taken over next time."""
        with self._settling:
            change = self._changes.last
            if change is not self._settled:
                self._learn()
                follow()
                self._settled = change

    def _learn(self) -> None:
        """Read the settings and clear the names. A session that is gone has no settings and names, and
        changes no more."""
        try:
            found = {key: self.link.setting(key) for key in (TIME_ZONE, *FIRST)} | self.link.settings(OTHERS)
            self.database = self.link.database
        except OperationalError:
            self._names, self.other_answers = _Names(frozenset()), None
            return
        self._names, self.time_zone = _Names(), found[TIME_ZONE]
        self.other_answers = first_other(found)

    def has_view(self, name: str) -> bool:
        """Whether the Spark session has a temporary view with the name."""
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
        """See :meth:`~sqlfront_connectors.spark.link.SparkLink.whole_name`."""
        whole = self._names.whole
        if parts not in whole:
            whole[parts] = self.link.whole_name(parts)
        return whole[parts]


class _Changes:
    """A listener for a session's watcher. ``last`` stands for the last change: a new object after each
    change."""

    def __init__(self) -> None:
        self.last = object()

    def note(self) -> None:
        """Record that something may have changed."""
        self.last = object()


class _Names:
    """Names that were asked for between two changes. A caller whose answer arrives after a change stores the
    answer in the old object, which no other caller reads any more."""

    def __init__(self, views: frozenset[str] | None = None) -> None:
        """``views``: the names of the temporary views; None: not asked yet."""
        self.views = views
        #: Qualified names of relations, by the dotted names.
        self.whole: dict[tuple[str, ...], tuple[str, ...] | None] = {}


def reads_here(parts: tuple[str, ...]) -> bool:
    """Whether sqlfront itself reads the dotted name: its qualifier is a format of sqlfront, as in
    ``parquet.`path```.

    >>> reads_here(("parquet", "data/a")), reads_here(("default", "a"))
    (True, False)
    """
    return len(parts) == 2 and parts[0].lower() in (*SYSTEM_SCHEMAS, *registry.formats())
