"""The decision whether a query over Spark's relations gets advice in its reason, or copies the relations
first."""

import threading
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import msgspec

from sqlfront.spark.copying.advice import Advice, advice_for
from sqlfront.spark.copying.automatic import AutomaticCopies, CopyWay
from sqlfront.spark.copying.readings import ReadCounts, names_elsewhere
from sqlfront.spark.ways import SparkWay
from sqlfront_planner.statements.query_parser import parse_query
from sqlfront_values.errors import Error

if TYPE_CHECKING:
    from sqlfront.lanes.request import StatementRequest
    from sqlfront.lanes.way import Way
    from sqlfront.state.context import Context
    from sqlfront.state.spark_beside import SparkBeside
    from sqlfront_planner.statements.structs import Query

T = TypeVar("T")

#: The reading of a relation from which on reasons hold advice: a single reading is no habit.
_REPEATED: Final = 2
#: Texts whose relations and advice are kept; the text that was asked longest ago makes room.
_TEXTS: Final = 256


class _Known(msgspec.Struct):
    """The facts about a statement's text. ``names``: Spark's relations that the text reads, as it writes
    them, in parts; ``wholes``: the same with catalog and database; ``repeated``: the text was run more than
    once; ``advice``: valid once ``is_advised`` is true. The facts hold as long as the versions of Spark's
    names and of the session's catalog are ``epoch``. Changed in place."""

    epoch: object
    names: tuple[tuple[str, ...], ...]
    wholes: tuple[tuple[str, ...], ...]
    repeated: bool = False
    is_advised: bool = False
    advice: Advice | None = None


class _EpochSet(Generic[T]):
    """A set that empties itself: it has the members that were added with the latest ``epoch``, an object that
    stands for the state in which a member is valid. Any thread may add."""

    def __init__(self) -> None:
        # Replaced as a whole.
        self._held: tuple[object, set[T]] = None, set()

    def has(self, member: T, epoch: object) -> bool:
        """Return whether ``member`` was added with this ``epoch`` (the state in which a member is valid), and
        no member with another epoch afterwards."""
        held, members = self._held
        return held == epoch and member in members

    def add(self, member: T, epoch: object) -> None:
        """Add a member that is valid in the state ``epoch``, and drop the members that were added with other
        epochs."""
        held, members = self._held
        if held != epoch:
            members = set()
            self._held = epoch, members
        members.add(member)


class Copier:
    """The part of a session that decides when to advise CACHE TABLE, and when to copy Spark's relations
    automatically, for queries that read them. Safe to use from several threads."""

    def __init__(self, spark: "SparkBeside", context: "Context") -> None:
        self._spark = spark
        self._context = context
        self._copies = AutomaticCopies(context)
        self._counts = ReadCounts()
        self._lock = threading.Lock()
        self._texts: OrderedDict[str, _Known] = OrderedDict()
        # Sets of relations about which a reason has held advice.
        self._told = _EpochSet[tuple[tuple[str, ...], ...]]()
        # Relations that could not be copied.
        self._refused = _EpochSet[tuple[str, ...]]()

    def way(self, request: "StatementRequest", otherwise: SparkWay, *, may_copy: bool) -> "Way":
        """Return the way of a query that reads relations of Spark's and that Spark would run by the way
        ``otherwise``. From the second query on that reads the same relations, the reason of that way includes
        advice. If ``may_copy``, and the relations have been read as many times as the setting
        ``sqlfront.autocache`` says, the way copies the relations first.

        Advice takes Spark some 40 ms, once for each text. A new text gets none if another text over the same
        relations has got it.
        """
        known = self._known(request)
        if known is None or not known.names:
            return otherwise
        count = self._counts.of if request.parsed is not None else self._counts.count
        readings = min([count(whole) for whole in known.wholes])
        wanted = self._context.options.autocache
        is_due = 0 < wanted <= readings
        is_told = not known.repeated and self._told.has(known.wholes, known.epoch)
        if not is_due and (readings < _REPEATED or is_told):
            return otherwise
        advice = self._advice(known, request)
        if advice is None:
            return otherwise
        self._told.add(known.wholes, known.epoch)
        if may_copy and advice.follows and is_due and not self._is_refused(known):
            begun, failed = partial(self._count_anew, known), partial(self._refuse, known)
            return CopyWay(known.names, self._copies, otherwise, begun, failed)
        return SparkWay(self._spark, f"{otherwise.reason}; {advice.text}", otherwise.ours)

    def _known(self, request: "StatementRequest") -> _Known | None:
        """Return the facts about the request's text, from the cache if they are valid; None for a text that
        sqlfront can't parse or whose names Spark can't resolve."""
        text, epoch = request.text, (self._spark.epoch, self._context.catalog.version)
        known = self._texts.get(text)
        if known is None or known.epoch != epoch:
            try:
                query = request.parsed or parse_query(text)
                names = tuple(names_elsewhere(query.tree, self._context.catalog))
                wholes = tuple(self._spark.whole_name(name) or name for name in names)
            except Error:
                return None
            known = _Known(epoch, names, wholes)
            with self._lock:
                self._texts[text] = known
                self._texts.move_to_end(text)
                if len(self._texts) > _TEXTS:
                    self._texts.popitem(last=False)
        else:
            known.repeated = True
            with self._lock:
                if text in self._texts:
                    self._texts.move_to_end(text)
        return known

    def _advice(self, known: _Known, request: "StatementRequest") -> Advice | None:
        if not known.is_advised:
            query: Query = request.parsed or parse_query(request.text)
            known.advice = advice_for(query, request.arguments, known.names, self._spark, self._context)
            known.is_advised = True
        return known.advice

    def _is_refused(self, known: _Known) -> bool:
        return any(self._refused.has(whole, self._spark.epoch) for whole in known.wholes)

    def _count_anew(self, known: _Known) -> None:
        for whole in known.wholes:
            self._counts.reset(whole)

    def _refuse(self, known: _Known) -> None:
        """Record that the relations can't be copied, so that no copy is tried until something changes in
        Spark."""
        for whole in known.wholes:
            self._refused.add(whole, self._spark.epoch)
