"""What is known here of a Spark session's names and settings, which it is asked for once.

All of it is forgotten when views, tables or settings may have changed through this process
(:mod:`sqlfront_connectors.spark.watch`); what others change in the catalog is seen by the next change here.
"""

import threading
from collections.abc import Callable

from sqlfront.options import TIME_ZONE
from sqlfront.spark.same_answers import FIRST, OTHERS, first_other
from sqlfront_connectors import registry
from sqlfront_connectors.spark.link import SparkLink
from sqlfront_planner.catalog import DEFAULT_CATALOG, DEFAULT_DATABASE
from sqlfront_values.errors import OperationalError


class Known:
    """See the module. Safe to use from several threads."""

    def __init__(self, link: SparkLink) -> None:
        """Raises OperationalError if the session is gone."""
        self.link = link
        # The link refers to this alone, since it outlives the session that frees it.
        self._changes = _Changes()
        #: The last of the changes that was looked after; all of them are one before the first.
        self._settled: object = None
        self._settling = threading.Lock()
        self._names = _Names()
        #: The time zone of its session.
        self.time_zone = link.setting(TIME_ZONE)
        #: Its current catalog and database.
        self.database = (DEFAULT_CATALOG, DEFAULT_DATABASE)
        #: The first setting under which its answers are others than sqlfront's; None if there is none.
        self.other_answers: str | None = None
        link.watch(self._changes.note)

    @property
    def is_outdated(self) -> bool:
        """Whether something may have changed that nobody has looked after yet."""
        return self._changes.last is not self._settled

    def settle(self, follow: Callable[[], None]) -> None:
        """Ask for the settings, forget the names, and have ``follow`` do what follows from that, unless
        somebody else does: then wait until it is done. What changes meanwhile is looked after next time."""
        with self._settling:
            change = self._changes.last
            if change is not self._settled:
                self._learn()
                follow()
                self._settled = change

    def _learn(self) -> None:
        """A session that is gone has no settings and names, and changes no more."""
        try:
            found = {key: self.link.setting(key) for key in (TIME_ZONE, *FIRST)} | self.link.settings(OTHERS)
            self.database = self.link.database
        except OperationalError:
            self._names, self.other_answers = _Names(frozenset()), None
            return
        self._names, self.time_zone = _Names(), found[TIME_ZONE]
        self.other_answers = first_other(found)

    def has_view(self, name: str) -> bool:
        """Whether it has a temporary view of that name."""
        names = self._names
        if names.views is None:
            names.views = frozenset(view.lower() for view in self.link.views)
        return name.lower() in names.views

    def drop_view(self, name: str) -> bool:
        """Drop a temporary view; False if there is none of that name."""
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
    """What a session's watcher is told: ``last`` is another object after each change."""

    def __init__(self) -> None:
        self.last = object()

    def note(self) -> None:
        """Something may have changed."""
        self.last = object()


class _Names:
    """What was asked about names between two changes: who asks before the second and hears after it tells the
    first one's names, which nobody looks at any more."""

    def __init__(self, views: frozenset[str] | None = None) -> None:
        """``views``: the temporary ones; None: not asked yet."""
        self.views = views
        #: The whole names of relations.
        self.whole: dict[tuple[str, ...], tuple[str, ...] | None] = {}


def reads_here(parts: tuple[str, ...]) -> bool:
    """Whether the dotted name is one that sqlfront itself reads: it has a format for its qualifier, as in
    ``parquet.`path```.

    >>> reads_here(("parquet", "data/a")), reads_here(("default", "a"))
    (True, False)
    """
    return len(parts) == 2 and parts[0].lower() in ("sys", *registry.formats())
