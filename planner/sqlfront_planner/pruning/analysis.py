"""Analysis of conditions over a table's columns: the constraints on the table's key."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from sqlfront_planner.expressions.preimages import NoSuchValue, is_always_known, keeps_equality, keeps_order
from sqlfront_planner.expressions.rewriting import MIRRORED, is_fixed
from sqlfront_planner.pruning import MOST_KEYS
from sqlfront_planner.pruning.constraints import (
    Candidate,
    ColumnBound,
    Constraint,
    NotNull,
    OneOf,
    UnknownInRun,
    constant,
    is_enumerable,
)
from sqlfront_planner.pruning.key_condition import Box, KeyCondition
from sqlfront_values.evaluate import can_fail
from sqlfront_values.expressions import (
    Call,
    Cast,
    Column,
    Expr,
    Literal,
    Parameter,
    RunValue,
    columns_used,
    walk,
)
from sqlfront_values.settings import Settings
from sqlfront_values.types import BOOLEAN, is_decimal, is_interval, is_numeric

#: Alternatives of a condition up to which the condition is analysed: AND of ORs multiplies the alternatives,
#: each of which planning compares with the others.
MOST_BOXES: Final = 1000

_BOUNDS: Final = frozenset({"less", "less_equal", "greater", "greater_equal"})
_EQUALITIES: Final = frozenset({"equal", "equal_null_safe"})


def key_condition(
    columns: Sequence[int],
    types: Sequence[pa.DataType],
    conjuncts: Sequence[Expr],
    settings: Settings,
    limit: int = MOST_KEYS,
) -> KeyCondition | None:
    """Return the keys of the rows that can satisfy ``conjuncts``, conditions over the table's row; None if
    the conjuncts don't restrict the keys. ``columns`` are the key's columns (ordinals of the table),
    ``types`` their logical types. ``limit``: more keys than that count as no restriction.

    The analysis covers equality, IN, null-safe equality and IS NULL, also through casts that keep values
    distinct, comparisons of integers and dates, AND, OR, and conditions without columns. The compared value
    may be any deterministic expression without columns, evaluated once the arguments are known.
    """
    if not columns or any(map(is_interval, types)):
        return None
    analysis = _Analysis(tuple(columns), tuple(types), settings)
    space = _Space((Box(((),) * len(columns)),), exact=True)
    exact: list[Expr] = []
    is_open = is_followed = False
    for conjunct in conjuncts:
        said = analysis.space(conjunct)
        both = None if said is None else space.both(said)
        if said is None or both is None:
            continue
        space, is_followed, is_open = both, True, is_open or _is_open(conjunct)
        if said.exact:
            exact.append(conjunct)
    if not is_followed:
        return None
    condition = KeyCondition(analysis.columns, analysis.types, space.boxes, settings, limit)
    if is_open:
        most = _most(space.boxes)
        return replace(condition, most=most, exact=() if most is None or most > limit else tuple(exact))
    keys = condition.keys(lambda item: item)
    return None if keys is None else replace(condition, exact=tuple(exact), most=len(keys), known=keys)


def _most(boxes: Iterable[Box]) -> int | None:
    counts = [box.most for box in boxes]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


class _Space(msgspec.Struct, frozen=True):
    """A set of keys: the union of ``boxes``. It contains all keys for which a condition can be true;
    ``exact``: the condition is true for every key of the set."""

    boxes: tuple[Box, ...]
    exact: bool

    def both(self, other: "_Space") -> "_Space | None":
        """Return the set of the keys that are in both sets; None if it would consist of more than
        ``MOST_BOXES`` boxes (products of constraints on each column of the key)."""
        if len(self.boxes) * len(other.boxes) > MOST_BOXES:
            return None
        boxes = tuple(
            Box(
                tuple(mine + yours for mine, yours in zip(one.columns, two.columns, strict=True)),
                one.when + two.when,
            )
            for one in self.boxes
            for two in other.boxes
        )
        return _Space(boxes, self.exact and other.exact)

    def either(self, other: "_Space") -> "_Space | None":
        """Return the set of the keys that are in one of the sets; None if it would consist of more than
        ``MOST_BOXES`` boxes (products of constraints on each column of the key)."""
        exact = self.exact and other.exact
        if len(self.boxes) == len(other.boxes) == 1:
            merged = _merged(self.boxes[0], other.boxes[0])
            if merged is not None:
                return _Space((merged,), exact)
        boxes = self.boxes + other.boxes
        return None if len(boxes) > MOST_BOXES else _Space(boxes, exact)


def _merged(one: Box, two: Box) -> Box | None:
    """Merge two boxes that restrict the same single column to given values into one box, as ``k = 1 OR k =
    2`` into ``k IN (1, 2)``; None for any other boxes."""
    places = [place for place, constraints in enumerate(one.columns) if constraints]
    if one.when or two.when or len(places) != 1:
        return None
    (place,) = places
    if any(constraints for other, constraints in enumerate(two.columns) if other != place):
        return None
    match one.columns[place], two.columns[place]:
        case ((OneOf() as first,), (OneOf() as second,)):
            both = OneOf(first.candidates + second.candidates, first.or_null or second.or_null)
            return Box((*one.columns[:place], (both,), *one.columns[place + 1 :]))
        case _:
            return None


class _Analysis:
    """A translator of conditions over a table's row into sets of keys, for one key of the table:
    ``columns`` are the key's ordinals in the table, ``types`` their logical types."""

    def __init__(self, columns: tuple[int, ...], types: tuple[pa.DataType, ...], settings: Settings) -> None:
        self.columns = columns
        self.types = types
        self.settings = settings
        self.places = {ordinal: place for place, ordinal in enumerate(columns)}

    def space(self, condition: Expr) -> _Space | None:
        """Return the keys for which the condition can be true; None if the analysis finds no
        restriction."""
        if not columns_used(condition):
            return self._without_columns(condition)
        match condition:
            case Call(function="and", arguments=parts):
                return self._all(parts)
            case Call(function="or", arguments=parts):
                return self._any(parts)
            case Call(function="equal" | "equal_null_safe" as function, arguments=(left, right)):
                return self._equal(left, right, null_safe=function == "equal_null_safe")
            case Call(function="in", arguments=(tested, *values)):
                return self._among(tested, values)
            case Call(function="is_null", arguments=(operand,)):
                return self._said_of(operand, OneOf((), or_null=True))
            case Call(function="is_not_null", arguments=(operand,)):
                return self._said_of(operand, NotNull())
            case Call(function=function, arguments=(left, right)) if function in _BOUNDS:
                return self._bounded(function, left, right)
            case Column(type=kind) if kind == BOOLEAN:
                return self._equal(condition, Literal(BOOLEAN, True))
            case Call(function="not", arguments=(Column() as operand,)):
                return self._equal(operand, Literal(BOOLEAN, False))
            case _:
                return None

    def _box(self, place: int, constraint: Constraint) -> Box:
        count = len(self.columns)
        return Box(tuple((constraint,) if other == place else () for other in range(count)))

    def _without_columns(self, condition: Expr) -> _Space | None:
        if not is_fixed(condition):
            return None
        anything = ((),) * len(self.columns)
        if isinstance(condition, Literal):
            return _Space((Box(anything),) if condition.value is True else (), exact=True)
        return _Space((Box(anything, (condition,)),), exact=not can_fail(condition))

    def _all(self, parts: Sequence[Expr]) -> _Space | None:
        """Return the keys for which all of ``parts`` can be true, None without a restriction. A part
        without a restriction is ignored, and the result is then not exact."""
        result: _Space | None = None
        exact = True
        for part in parts:
            said = self.space(part)
            both = said if said is None or result is None else result.both(said)
            if both is None:
                exact = False
            else:
                result = both
        return result if exact or result is None else replace(result, exact=False)

    def _any(self, parts: Sequence[Expr]) -> _Space | None:
        result: _Space | None = _Space((), exact=True)
        for part in parts:
            said = self.space(part)
            if result is None or said is None:
                return None
            result = said if not result.boxes else result.either(said) if said.boxes else result
        return result

    def _key_column(self, expression: Expr) -> tuple[int, tuple[pa.DataType, ...]] | None:
        """Return the position in the key of the column that the expression is or casts, and the types from
        the column's to the last cast's; None if the expression is anything else, or if a cast doesn't keep
        equality."""
        steps = [expression.type]
        while isinstance(expression, Cast):
            expression = expression.operand
            if not keeps_equality(expression.type, steps[-1]):
                return None
            steps.append(expression.type)
        if not isinstance(expression, Column) or expression.ordinal not in self.places:
            return None
        return self.places[expression.ordinal], tuple(reversed(steps))

    def _said_of(self, operand: Expr, constraint: Constraint) -> _Space | None:
        found = self._key_column(operand)
        return None if found is None else _Space((self._box(found[0], constraint),), exact=True)

    def _equal(self, left: Expr, right: Expr, *, null_safe: bool = False) -> _Space | None:
        if _is_struct(left) or _is_struct(right):
            return self._equal_rows(left, right)
        found, other = self._key_column(left), right
        if found is None:
            found, other = self._key_column(right), left
        return None if found is None else self._one_of(*found, (other,), null_safe=null_safe)

    def _among(self, tested: Expr, values: Sequence[Expr]) -> _Space | None:
        if _is_struct(tested):
            return self._any([Call(BOOLEAN, "equal", (tested, value)) for value in values])
        found = self._key_column(tested)
        return None if found is None else self._one_of(*found, values)

    def _one_of(
        self, place: int, steps: tuple[pa.DataType, ...], values: Sequence[Expr], *, null_safe: bool = False
    ) -> _Space | None:
        candidates: list[Candidate] = []
        exact = True
        for value in values:
            if not is_fixed(value) or not _comparable(steps[-1], value):
                return None
            through = steps if steps[-1] == value.type else (*steps, value.type)
            candidate = Candidate(value, through if len(through) > 1 else (), null_safe)
            if not _is_open(value):
                try:
                    known = candidate.value(lambda item: item, self.settings)
                except NoSuchValue:
                    continue
                except UnknownInRun:
                    return None
                candidate = Candidate(Literal(self.types[place], known), (), known is None)
            elif not _is_told(value) or not _all_known(through):
                exact = False
            candidates.append(candidate)
        return _Space((self._box(place, OneOf(tuple(candidates))),), exact=exact)

    def _equal_rows(self, left: Expr, right: Expr) -> _Space | None:
        """Return the keys for which a condition such as ``(a, b) = (1, 2)`` is true, None without a
        restriction. The structs are compared field by field, where null equals null."""
        mine, yours = _fields(left), _fields(right)
        if mine is None or yours is None or len(mine) != len(yours):
            return None
        return self._all(
            [Call(BOOLEAN, "equal_null_safe", (one, two)) for one, two in zip(mine, yours, strict=True)]
        )

    def _bounded(self, function: str, left: Expr, right: Expr) -> _Space | None:
        found, other = self._key_column(left), right
        if found is None:
            found, other, function = self._key_column(right), left, MIRRORED[function]
        if found is None or not is_fixed(other):
            return None
        place, steps = found
        if not is_enumerable(self.types[place]):
            return None
        ordered = all(narrow == wide or keeps_order(narrow, wide) for narrow, wide in pairwise(steps))
        if not ordered or not (steps[-1] == other.type or (is_numeric(steps[-1]) and is_numeric(other.type))):
            return None
        if _is_open(other):
            return _Space((self._box(place, ColumnBound(function, other)),), exact=_is_told(other))
        try:
            known = Literal(other.type, constant(other, lambda item: item, self.settings))
        except UnknownInRun:
            return None
        return _Space((self._box(place, ColumnBound(function, known)),), exact=True)


def _is_told(expression: Expr) -> bool:
    """Return whether the expression, which holds parameters or values of the run, is sure to have a value
    in every run that Python can represent."""
    if isinstance(expression, Parameter | RunValue):
        return True
    return not can_fail(expression) and not pa.types.is_temporal(expression.type)


def _is_open(expression: Expr) -> bool:
    return any(isinstance(item, Parameter | RunValue) for item in walk(expression))


def _all_known(through: tuple[pa.DataType, ...]) -> bool:
    return all(is_always_known(narrow, wide) for narrow, wide in pairwise(through))


def _comparable(compared: pa.DataType, given: Expr) -> bool:
    """Return whether a value of type ``compared`` can be compared with the expression ``given`` without a
    cast."""
    if isinstance(given, Literal) and given.value is None:
        return True
    return compared == given.type or (is_decimal(compared) and is_decimal(given.type))


def _is_struct(expression: Expr) -> bool:
    return pa.types.is_struct(expression.type)


def _fields(expression: Expr) -> tuple[Expr, ...] | None:
    """Return the fields of a struct that the expression constructs, each with the cast that the expression
    applies to the struct; None if the expression constructs no struct."""
    match expression:
        case Call(function="struct", arguments=fields):
            return fields
        case Cast(type=kind, operand=Call(function="struct", arguments=fields), safe=safe):
            wanted = [kind.field(place).type for place in range(kind.num_fields)]
            return tuple(
                field if field.type == data_type else Cast(data_type, field, safe)
                for field, data_type in zip(fields, wanted, strict=True)
            )
        case _:
            return None
