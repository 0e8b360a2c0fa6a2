"""The cache of plans, by the text without literals and all further inputs of planning.

The key of a plan consists of the skeleton of the text (:mod:`sqlfront_planner.literal_lifting`), the
session's settings, the types of the arguments and of the literals, the values of the arguments and literals
whose values planning used, the numbers of digits of the whole numbers of which planning used this number
alone (beside a decimal, a whole number has the type of its digits), and the bounds of the arguments that are
numbers of LIMIT and OFFSET (a plan serves all numbers of a bound). Which values planning uses depends on the
types, so that it is known for each combination of types: an argument NULL, or a number of another type, has
plans of its own and doesn't change how the plans for other arguments are found. A plan is valid if the names
in the text still stand for the same relations and, for a plan that reads fixed versions of its tables, the
versions are still current; an invalid plan is removed.
"""

import threading
import time
from collections.abc import Callable, Iterator, Set
from typing import Final, Generic, Protocol, TypeVar
from weakref import WeakSet

import msgspec
import pyarrow as pa

from sqlfront_connectors.base import Snapshot, Table
from sqlfront_planner.binder import Arguments, Binding
from sqlfront_planner.binder.context import row_bound
from sqlfront_planner.catalog import Catalog, Lookups
from sqlfront_planner.literal_lifting import plain_literal, spaced, spans, split
from sqlfront_values import types

#: The divisor of a full cache's size that gives the number of plans evicted at once, least recently used
#: first: finding the oldest plans is a walk over the cache, which a larger part makes rarer.
_EVICTED: Final = 8

PlanT = TypeVar("PlanT")

Skeleton = tuple[str, ...]
#: The key of a shape: skeleton, codes of the literals' types and, if there are arguments, codes of the
#: arguments' types, the arguments' names, and the session's variables.
_ShapeKey = tuple[object, ...]


class CachedPlan(msgspec.Struct, Generic[PlanT], eq=False, weakref=True):
    """A plan in the cache, and its dependencies. ``text``: the text for which it was made. ``lookups``: the
    relation that each name in the text stood for, confirmed at the catalog's version ``catalog_version``.
    ``snapshots``: the versions of tables that the plan reads, empty if each run reads the current versions.
    ``pinned``: the positions of the arguments whose values the plan depends on; ``sized``: the positions of
    those whose number of digits it depends on; ``bounded``: the positions of those whose bound it depends on.
    ``literals``: the values of the text's literals that are parameters. ``hits``: how often the plan was
    found. ``last_used`` is in nanoseconds, ``made`` in seconds since the epoch."""

    plan: PlanT
    text: str
    lookups: Lookups
    snapshots: tuple[tuple[Table, Snapshot], ...]
    pinned: tuple[int, ...]
    sized: tuple[int, ...]
    bounded: tuple[int, ...]
    catalog_version: int
    literals: tuple[object, ...] = ()
    hits: int = 0
    last_used: int = 0
    made: float = msgspec.field(default_factory=time.time)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables and views that the text names, directly or through views."""
        found = (lookup for lookup, entry in self.lookups.items() if entry is not None)
        return tuple(sorted({".".join(lookup[0]) for lookup in found if isinstance(lookup, tuple)}))

    def is_current(self, catalog: Catalog) -> bool:
        """Return whether planning again would find the same relations and, if the plan reads fixed
        versions, the same versions of the tables."""
        version = catalog.version
        if version != self.catalog_version:
            if not catalog.agrees(self.lookups):
                return False
            self.catalog_version = version
        snapshots = self.snapshots
        return not snapshots or all(table.snapshot() is snapshot for table, snapshot in snapshots)


class _Shape(msgspec.Struct, Generic[PlanT], eq=False):
    """The plans of the texts that differ only in literals, for arguments and literals of the same types.
    ``lifted``: the literals that are parameters (number, and True for a literal after a minus sign);
    ``fixed``: the numbers of all other literals; ``pinned``: the positions of the arguments whose values
    the plans depend on; ``sized``: the positions of the arguments, and behind them of the literals, whose
    number of digits the plans depend on; ``bounded``: the positions of the arguments whose bound the plans
    depend on; ``plans``: by :func:`_key`."""

    lifted: tuple[tuple[int, bool], ...]
    fixed: tuple[int, ...]
    pinned: tuple[int, ...]
    sized: tuple[int, ...]
    bounded: tuple[int, ...]
    plans: dict[object, CachedPlan[PlanT]] = msgspec.field(default_factory=dict)


class PlanHolder(Protocol):
    """An object that holds a plan outside of the cache, such as a prepared statement."""

    def sweep(self, catalog: Catalog) -> None:
        """Drop the held plan if it is no longer current, since ``catalog`` has changed."""


class PlanCache(Generic[PlanT]):
    """The plans of one session; safe to use from several threads. ``size``: the greatest number of cached
    plans, 0 = none."""

    def __init__(self, size: int) -> None:
        self._size = size
        # Guards changes; a reader may find and use a plan that is being removed.
        self._lock = threading.Lock()
        self._shapes: dict[_ShapeKey, _Shape[PlanT]] = {}
        # The skeleton by its form with normalized white space; the skeleton may have no plans any more.
        self._alike: dict[Skeleton, Skeleton] = {}
        self._count = 0
        # The version of the catalog with which all plans were current, if none of them reads fixed versions
        # of tables; None = not known.
        self._settled: int | None = None
        # Changed and copied under the lock only.
        self._holders: WeakSet[PlanHolder] = WeakSet()

    def find(
        self,
        text: str,
        arguments: Arguments,
        settings: object,
        catalog: Catalog,
        accept: Callable[[CachedPlan[PlanT]], bool] | None = None,
    ) -> tuple[CachedPlan[PlanT], tuple[object, ...]] | None:
        """Find the plan for a text; ``settings`` are the settings of the session on which the plan depends.
        Return the plan, and the values of the text's literals that are parameters, which follow the
        arguments' values; None if no current plan exists. A plan that is no longer current is removed.
        ``accept``: a condition on the plan; a plan for which it returns False isn't used and stays in the
        cache. None = every plan serves."""
        skeleton, literals = split(text)
        parsed = [plain_literal(literal) for literal in literals]
        place = _shape_key(skeleton, arguments, parsed)
        shape = self._shapes.get(place)
        if shape is None:
            # A new text may equal a known text except for white space.
            place = (self._alike.get(spaced(skeleton), skeleton), *place[1:])
            shape = self._shapes.get(place)
            if shape is None:
                return None
        values: list[object] = []
        kinds: list[object] = []
        for number, negative in shape.lifted:
            known = plain_literal(f"-{literals[number]}") if negative else parsed[number]
            if known is None:
                return None
            values.append(known[0])
            if negative:
                kinds.append(_code(known[1]))
            if arguments.given + number in shape.sized:
                kinds.append(_digits(known[0]))
        key = _key(shape, arguments, settings, literals, tuple(kinds))
        cached = shape.plans.get(key)
        if cached is None or (accept is not None and not accept(cached)):
            return None
        if not cached.is_current(catalog):
            self._remove(place, shape, key)
            return None
        cached.hits += 1
        cached.last_used = time.time_ns()
        if len(values) == len(cached.literals):
            return cached, tuple(values)
        # A plan may have parameters for more literals than its shape lifts: the values of the others are in
        # the plan's key.
        filled = list(cached.literals)
        for (number, _), value in zip(shape.lifted, values, strict=True):
            filled[number] = value
        return cached, tuple(filled)

    def add(
        self,
        text: str,
        arguments: Arguments,
        settings: object,
        binding: Binding,
        plan: PlanT,
        *,
        pins: bool,
        catalog_version: int,
    ) -> CachedPlan[PlanT] | None:
        """Add a plan that was made of ``binding`` for these arguments and settings. Return the cached plan;
        None if the plan can't be used for a second run, or the cache's size is 0. ``pins``: the plan reads
        the versions that it was bound to, else each run reads the current versions. ``catalog_version``:
        the version of the catalog at binding, or an earlier version."""
        if not binding.repeatable or self._size <= 0:
            return None
        given = arguments.given
        skeleton, literals = split(text)
        lifted = {
            place - given: negative
            for place, negative in binding.lifted.items()
            if place not in binding.pinned
        }
        pinned = {place for place in binding.pinned if place < given}
        sized = {place for place in binding.sized if place not in binding.pinned}
        bounded = binding.bounded - pinned
        cached = CachedPlan(
            plan,
            text,
            binding.lookups,
            binding.snapshots if pins else (),
            tuple(sorted(pinned)),
            tuple(sorted(place for place in sized if place < given)),
            tuple(sorted(bounded)),
            catalog_version,
            binding.arguments.values[given:],
            last_used=time.time_ns(),
        )
        with self._lock:
            if len(self._alike) > self._size:
                self._alike = {}
            self._alike[spaced(skeleton)] = skeleton
            parsed = [plain_literal(literal) for literal in literals]
            place = _shape_key(skeleton, arguments, parsed)
            shape = self._shaped(place, len(literals), lifted, pinned, sized, bounded)
            kinds: list[object] = []
            for number, negative in shape.lifted:
                if negative:
                    kinds.append(_code(binding.arguments.types[given + number]))
                if given + number in shape.sized:
                    kinds.append(_digits(binding.arguments.values[given + number]))
            key = _key(shape, arguments, settings, literals, tuple(kinds))
            self._count += key not in shape.plans
            shape.plans[key] = cached
            self._settled = None
            if self._count > self._size:
                self._evict()
        return cached

    def _shaped(
        self,
        place: _ShapeKey,
        count: int,
        lifted: dict[int, bool],
        pinned: set[int],
        sized: set[int],
        bounded: Set[int],
    ) -> _Shape[PlanT]:
        """Return the shape in which a new plan is stored under the key ``place``. ``count``: the number of
        literals; ``lifted``, ``pinned``, ``sized`` and ``bounded``: as the new plan needs them. A literal is
        lifted only if the existing shape lifts it, too; an argument is pinned, sized or bounded if either
        does so. If the existing shape doesn't fit, an empty shape replaces it. The caller holds the lock."""
        known = self._shapes.get(place)
        if known is not None:
            before = dict(known.lifted)
            lifted = {number: negative for number, negative in lifted.items() if number in before}
            pinned, sized = pinned | set(known.pinned), sized | set(known.sized)
            bounded = bounded | set(known.bounded)
            used = before, set(known.pinned), set(known.sized), set(known.bounded)
            if (lifted, pinned, sized, bounded) == used:
                return known
            self._count -= len(known.plans)
        fixed = tuple(number for number in range(count) if number not in lifted)
        shape = _Shape[PlanT](
            tuple(sorted(lifted.items())),
            fixed,
            tuple(sorted(pinned)),
            tuple(sorted(sized)),
            tuple(sorted(bounded)),
        )
        self._shapes[place] = shape
        return shape

    def add_holder(self, holder: PlanHolder) -> None:
        """Register an object that holds a plan outside of the cache, so that :meth:`sweep` also calls its
        ``sweep``; the registration ends when nothing else refers to the object."""
        with self._lock:
            self._holders.add(holder)

    def sweep(self, catalog: Catalog) -> None:
        """Remove the plans whose tables have changed or are gone from the cache, and from the objects that
        each hold a plan, such as prepared statements: such plans keep old versions of the tables in
        memory."""
        with self._lock:
            holders = tuple(self._holders)
        for holder in holders:
            holder.sweep(catalog)
        version = catalog.version
        if version == self._settled:  # each write of a row comes here
            return
        self._settled = version
        for place, shape in tuple(self._shapes.items()):
            for key, cached in tuple(shape.plans.items()):
                if not cached.is_current(catalog):
                    self._remove(place, shape, key)
                elif cached.snapshots:
                    self._settled = None

    def entries(self) -> Iterator[CachedPlan[PlanT]]:
        """Yield the cached plans, least recently used first."""
        found = [cached for shape in tuple(self._shapes.values()) for cached in tuple(shape.plans.values())]
        return iter(sorted(found, key=lambda cached: cached.last_used))

    def __len__(self) -> int:
        return self._count

    def clear(self) -> None:
        """Remove all plans from the cache. A prepared statement keeps the plan that it holds."""
        with self._lock:
            self._shapes, self._alike, self._count = {}, {}, 0

    def _remove(self, place: _ShapeKey, shape: _Shape[PlanT], key: object) -> None:
        with self._lock:
            if shape.plans.pop(key, None) is None or self._shapes.get(place) is not shape:
                return
            self._count -= 1
            if not shape.plans:
                del self._shapes[place]

    def _evict(self) -> None:
        """Remove the least recently used plans, an eighth of the cache's size; the caller holds the lock."""
        plans = [
            (cached.last_used, place, shape, key)
            for place, shape in self._shapes.items()
            for key, cached in shape.plans.items()
        ]
        plans.sort(key=lambda plan: plan[0])
        for _, place, shape, key in plans[: max(1, self._size // _EVICTED)]:
            del shape.plans[key]
            self._count -= 1
            if not shape.plans:
                del self._shapes[place]


def with_literals(text: str, arguments: Arguments) -> Arguments:
    """Return the user's ``arguments``, followed by a placeholder (None, of the type void) for each literal of
    the ``text``. The binder fills a placeholder if it turns the literal into a parameter."""
    return arguments.with_room_for(spans(text))


def _shape_key(
    skeleton: Skeleton, arguments: Arguments, literals: list[tuple[object, pa.DataType] | None]
) -> _ShapeKey:
    """Return the key of the shape that holds the plans for these arguments and literals, whatever their
    values. ``literals``: value and type of each literal, None for a text that is no valid literal."""
    kinds = tuple([known and (_CODES.get(id(known[1])) or _code(known[1])) for known in literals])
    if not arguments.values:
        return skeleton, kinds
    given = tuple([_CODES.get(id(kind)) or _code(kind) for kind in arguments.types[: arguments.given]])
    return skeleton, kinds, given, arguments.names, arguments.variables


def _key(
    shape: _Shape[PlanT],
    arguments: Arguments,
    settings: object,
    literals: list[str],
    kinds: tuple[object, ...],
) -> object:
    """Return the key of a plan in ``shape.plans``: the session's ``settings``, the texts of the fixed
    literals, ``kinds`` (the codes of the types of the lifted literals after a minus sign, which may have
    another type than without the sign, and the numbers of digits of the sized literals), the values of the
    pinned arguments, the numbers of digits of the sized arguments, and the bounds of the bounded ones."""
    fixed = tuple([literals[number] for number in shape.fixed]) if shape.fixed else ()
    if not shape.pinned and not shape.sized and not shape.bounded:
        return settings, fixed, kinds
    sized = tuple([place for place in shape.sized if place < arguments.given])
    return settings, fixed, kinds, _values(arguments, shape.pinned, sized, shape.bounded)


def arguments_key(arguments: Arguments, plan: CachedPlan[PlanT]) -> object:
    """Return the part of the key of ``plan`` that depends on the user's arguments: their names and types,
    the values of the arguments that the plan pins, the numbers of digits of those that it sizes, and the
    bounds of those that it bounds."""
    values: tuple[object, ...] = ()
    if plan.pinned or plan.sized or plan.bounded:
        values = _values(arguments, plan.pinned, plan.sized, plan.bounded)
    given = tuple([_code(arguments.types[place]) for place in range(arguments.given)])
    return arguments.names, given, values, arguments.variables


def _values(
    arguments: Arguments, pinned: tuple[int, ...], sized: tuple[int, ...], bounded: tuple[int, ...]
) -> tuple[object, ...]:
    values = arguments.values
    return (
        *[repr(values[place]) for place in pinned],
        *[_digits(values[place]) for place in sized],
        *[row_bound(values[place]) for place in bounded],
    )


def _digits(value: object) -> int:
    """Return the number of digits of a whole number, 0 for any other value."""
    return len(str(abs(value))) if isinstance(value, int) else 0


#: Codes of types by identity, since hashing a type is too slow for a lookup.
_CODES: Final[dict[int, int]] = {
    id(kind): number
    for number, kind in enumerate((types.INT, types.BIGINT, types.STRING, types.DOUBLE, types.BOOLEAN), 1)
}


def _code(kind: pa.DataType) -> object:
    """Return a hashable code of a type; equal types, and no others, have equal codes."""
    return _CODES.get(id(kind)) or _CODES_BY_TEXT.get(text := str(kind), text)


_CODES_BY_TEXT: Final[dict[str, int]] = {
    str(kind): _CODES[id(kind)]
    for kind in (types.INT, types.BIGINT, types.STRING, types.DOUBLE, types.BOOLEAN)
}
