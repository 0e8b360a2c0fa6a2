"""What is known here of a Spark session's names and settings, which it is asked for once.

All of it is forgotten when views, tables or settings may have changed through this process
(:mod:`sqlfront_connectors.spark.watch`); what others change in the catalog is seen by the next change here.
"""

import threading
from collections.abc import Mapping
from typing import Final

from sqlfront.options import TIME_ZONE
from sqlfront_connectors import registry
from sqlfront_connectors.spark.link import SparkLink
from sqlfront_engine.errors import OperationalError

#: The settings under which sqlfront's answers are Spark's.
_SAME_ANSWERS: Final = {"spark.sql.ansi.enabled": "true", "spark.sql.caseSensitive": "false"}


class Known:
    """See the module. Safe to use from several threads."""

    def __init__(self, link: SparkLink) -> None:
        """Raises OperationalError if the session is gone."""
        self.link = link
        # Set when something may have changed. The link refers to this alone, since it outlives the session
        # that frees it.
        self._outdated = threading.Event()
        self._outdated.set()
        self._views: frozenset[str] | None = None
        self._tables: dict[tuple[str, ...], bool] = {}
        #: The time zone of its session.
        self.time_zone = link.setting(TIME_ZONE)
        #: The first setting under which its answers are others than sqlfront's; None if there is none.
        self.other_answers: str | None = None
        link.watch(self._outdated.set)

    @property
    def is_outdated(self) -> bool:
        """Whether something may have changed since :meth:`learn`."""
        return self._outdated.is_set()

    def learn(self) -> None:
        """Ask for the settings, and forget the names. A session that is gone has none, and changes no
        more."""
        self._outdated.clear()
        try:
            found = {key: self.link.setting(key) for key in (TIME_ZONE, *_SAME_ANSWERS)}
        except OperationalError:
            self._views, self._tables, self.other_answers = frozenset(), {}, None
            return
        self._views, self._tables, self.time_zone = None, {}, found[TIME_ZONE]
        self.other_answers = first_other(found)

    def has_view(self, name: str) -> bool:
        """Whether it has a temporary view of that name."""
        views = self._views
        if views is None:
            views = self._views = frozenset(view.lower() for view in self.link.views)
        return name.lower() in views

    def has_table(self, parts: tuple[str, ...]) -> bool:
        """Whether it has any relation of that dotted name."""
        tables = self._tables
        known = tables.get(parts)
        if known is None:
            known = tables[parts] = self.link.relation(parts) is not None
        return known


def reads_here(parts: tuple[str, ...]) -> bool:
    """Whether the dotted name is one that sqlfront itself reads: it has a format for its qualifier, as in
    ``parquet.`path```.

    >>> reads_here(("parquet", "data/a")), reads_here(("default", "a"))
    (True, False)
    """
    return len(parts) == 2 and parts[0].lower() in ("sys", *registry.formats())


def first_other(settings: Mapping[str, str]) -> str | None:
    """The first of these settings under which the answers are others than sqlfront's, in words; None if there
    is none.

    >>> first_other({"spark.sql.ansi.enabled": "false"})
    'spark.sql.ansi.enabled is false'
    """
    for key, same in _SAME_ANSWERS.items():
        if settings.get(key, same) != same:
            return f"{key} is {settings[key]}"
    return None
