"""The rules of implicit casts of a session: :class:`Coercion` with ANSI mode on, :class:`LegacyCoercion` with
``spark.sql.ansi.enabled=false``.

Source of the rules: Spark's ``AnsiTypeCoercion`` (in :mod:`.types`) and ``TypeCoercion``, checked against a
running Spark in the tests.
"""

from collections.abc import Callable, Iterable
from typing import Final

import pyarrow as pa

from sqlfront_planner import types as ansi
from sqlfront_values import casts
from sqlfront_values.casts.legacy import can_cast_legacy
from sqlfront_values.errors import DatabaseError, spark_error
from sqlfront_values.functions.numbers import decimal_rules
from sqlfront_values.functions.registry import ArgumentType
from sqlfront_values.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRALS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    IntervalType,
    TimeType,
    common_interval,
    holds,
    is_decimal,
    is_fractional,
    is_integral,
    is_interval,
    is_numeric,
    is_string,
    is_time,
)

_NUMBERS: Final = (*INTEGRALS, FLOAT, DOUBLE)
_TypeRule = Callable[[pa.DataType, pa.DataType], pa.DataType | None]


class Coercion:
    """The rules of implicit casts with ANSI mode on."""

    #: Whether ANSI mode is on.
    ansi = True

    def wider_type(self, left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
        """Return the type to which Spark casts values of both types to make one column or one value of them,
        as UNION, CASE and coalesce do; None if there is no such type."""
        return ansi.least_common_type(left, right)

    def common_type(self, all_types: Iterable[pa.DataType]) -> pa.DataType | None:
        """Return the :meth:`wider_type` of any number of types: VOID if there are none, None if they have no
        common type."""
        return ansi.common_type(all_types)

    def unpromoted_type(self, all_types: Iterable[pa.DataType]) -> pa.DataType | None:
        """Return the :meth:`common_type` of the arguments of functions, such as greatest, that make no
        string of another value beside a string; None if there is none."""
        return ansi.common_type(all_types)

    def compared_type(self, left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
        """Return the type in which Spark compares values of both types; None if it doesn't compare them."""
        return ansi.least_common_type(left, right)

    def operand_type(self, left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
        """Return the type to which Spark casts both operands of an arithmetic or bitwise operator; None if
        there is no such type. Of decimals the operators have rules of their own."""
        return ansi.least_common_type(left, right)

    def implicit_cast(self, source: pa.DataType, wanted: ArgumentType) -> pa.DataType | None:
        """Return the type to which Spark casts a function's argument of type ``source`` if the function
        requires ``wanted`` (``source`` itself if no cast is needed); None if Spark refuses the argument."""
        return ansi.implicit_cast(source, wanted)

    def is_implicit(self, source: pa.DataType, target: pa.DataType) -> bool:
        """Return whether Spark casts from ``source`` to ``target`` implicitly, for an argument."""
        return ansi.is_implicit(source, target)

    def can_cast(self, source: pa.DataType, target: pa.DataType) -> bool:
        """Return whether Spark allows a CAST between the types."""
        return casts.can_cast(source, target)


class LegacyCoercion(Coercion):
    """The rules of implicit casts with ANSI mode off: a string beside another value becomes a string as part
    of a column, a double as an operand, and the other value's type in a comparison."""

    ansi = False

    def wider_type(self, left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
        found = _tightest(left, right) or _with_decimal(left, right) or _with_string(left, right)
        return found or _of_parts(left, right, self.wider_type)

    def common_type(self, all_types: Iterable[pa.DataType]) -> pa.DataType | None:
        kinds = list(all_types)
        texts, others = list(filter(_has_string, kinds)), [kind for kind in kinds if not _has_string(kind)]
        return _folded([*dict.fromkeys(texts), *others], self.wider_type)

    def unpromoted_type(self, all_types: Iterable[pa.DataType]) -> pa.DataType | None:
        return _folded(all_types, _without_strings)

    def compared_type(self, left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
        if is_string(left) != is_string(right) and VOID not in (left, right):
            other = right if is_string(left) else left
            if is_decimal(other):
                return DOUBLE
            return None if is_interval(other) or pa.types.is_nested(other) else other
        return _tightest(left, right) or _with_decimal(left, right)

    def operand_type(self, left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
        if is_string(left) or is_string(right):
            return None
        return _tightest(left, right) or _with_decimal(left, right)

    def implicit_cast(self, source: pa.DataType, wanted: ArgumentType) -> pa.DataType | None:
        return ansi.implicit_cast(source, wanted, self.is_implicit)

    def is_implicit(self, source: pa.DataType, target: pa.DataType) -> bool:
        if is_string(source) and target == BOOLEAN:
            return False
        if pa.types.is_list(source) and pa.types.is_list(target):
            return self.is_implicit(source.value_type, target.value_type)
        return ansi.is_implicit(source, target)

    def can_cast(self, source: pa.DataType, target: pa.DataType) -> bool:
        return can_cast_legacy(source, target)


class _WithoutTime(Coercion):
    """The rules of a session in which no value becomes a TIME (``spark.sql.timeType.enabled=false``): where
    the rules of the other base class cast to TIME, they raise UNSUPPORTED_TIME_TYPE instead."""

    def wider_type(self, left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
        return _without_time(super().wider_type(left, right), left, right)

    def common_type(self, all_types: Iterable[pa.DataType]) -> pa.DataType | None:
        kinds = list(all_types)
        return _without_time(super().common_type(kinds), *kinds)

    def unpromoted_type(self, all_types: Iterable[pa.DataType]) -> pa.DataType | None:
        kinds = list(all_types)
        return _without_time(super().unpromoted_type(kinds), *kinds)

    def compared_type(self, left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
        return _without_time(super().compared_type(left, right), left, right)

    def implicit_cast(self, source: pa.DataType, wanted: ArgumentType) -> pa.DataType | None:
        return _without_time(super().implicit_cast(source, wanted), source)

    def can_cast(self, source: pa.DataType, target: pa.DataType) -> bool:
        _without_time(target, source)
        return super().can_cast(source, target)


class _CoercionWithoutTime(_WithoutTime, Coercion):
    pass


class _LegacyCoercionWithoutTime(_WithoutTime, LegacyCoercion):
    pass


#: The rules of a session with ANSI mode on.
ANSI: Final = Coercion()
#: The rules of a session with ANSI mode off.
LEGACY: Final = LegacyCoercion()
_RULES: Final[dict[tuple[bool, bool], Coercion]] = {
    (True, True): ANSI,
    (True, False): _CoercionWithoutTime(),
    (False, True): LEGACY,
    (False, False): _LegacyCoercionWithoutTime(),
}


def rules(*, ansi: bool, takes_time: bool) -> Coercion:
    """Return the rules of a session. ``takes_time``: whether values may be cast to TIME
    (``spark.sql.timeType.enabled``); if not, the rules raise UNSUPPORTED_TIME_TYPE where they would cast."""
    return _RULES[ansi, takes_time]


def time_refused() -> DatabaseError:
    """Build Spark's error for a TIME in a session that doesn't take the type."""
    return spark_error("UNSUPPORTED_TIME_TYPE", "The data type TIME is not supported.")


def refuse_time(kind: pa.DataType) -> None:
    """Raise UNSUPPORTED_TIME_TYPE if the type is TIME or contains it, in a session that doesn't take it."""
    if is_time(kind) or (pa.types.is_nested(kind) and holds(kind, is_time)):
        raise time_refused()


def _without_time(target: pa.DataType | None, *sources: pa.DataType) -> pa.DataType | None:
    """Return ``target``, the type to which values of the types ``sources`` are cast. Raises
    UNSUPPORTED_TIME_TYPE if that makes times."""
    if target is not None and any(source != target for source in sources):
        refuse_time(target)
    return target


def _folded(kinds: Iterable[pa.DataType], rule: _TypeRule) -> pa.DataType | None:
    result: pa.DataType | None = VOID
    for kind in kinds:
        result = None if result is None else rule(result, kind)
    return result


def _has_string(kind: pa.DataType) -> bool:
    while pa.types.is_list(kind):
        kind = kind.value_type
    return is_string(kind)


def _tightest(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """Return the type that both types widen to without a string, or a decimal beside another type than NULL
    and whole numbers that it holds; None if there is none (Spark: ``findTightestCommonType``)."""
    if left == right or right == VOID:
        return left
    if left == VOID:
        return right
    if is_decimal(left) != is_decimal(right):
        whole, other = (right, left) if is_decimal(left) else (left, right)
        if is_integral(whole) and decimal_rules.wider_type(ansi.as_decimal(whole), other) == other:
            return other
        return None
    if left in _NUMBERS and right in _NUMBERS:
        return max(left, right, key=_NUMBERS.index)
    if isinstance(left, IntervalType) and isinstance(right, IntervalType):
        return common_interval(left, right)
    if left in ansi.DATETIMES and right in ansi.DATETIMES:
        return max(left, right, key=ansi.DATETIMES.index)
    if isinstance(left, TimeType) and isinstance(right, TimeType):
        return ansi.finer_time(left, right)
    return _of_parts(left, right, _tightest)


def _with_decimal(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    if not (is_decimal(left) or is_decimal(right)) or not (is_numeric(left) and is_numeric(right)):
        return None
    if is_fractional(left) or is_fractional(right):
        return DOUBLE
    return decimal_rules.wider_type(ansi.as_decimal(left), ansi.as_decimal(right))


def _with_string(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    if is_string(left) == is_string(right):
        return None
    other = right if is_string(left) else left
    return None if pa.types.is_nested(other) or other in (BINARY, BOOLEAN) else STRING


def _without_strings(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    return _tightest(left, right) or _with_decimal(left, right) or _of_parts(left, right, _without_strings)


def _of_parts(left: pa.DataType, right: pa.DataType, rule: _TypeRule) -> pa.DataType | None:
    """Return the common type of two arrays, maps or structs, whose parts' common types ``rule`` gives; None
    for other types, or if a part has none. A map's keys can't become a type in which one may be null."""
    if pa.types.is_list(left) and pa.types.is_list(right):
        item = rule(left.value_type, right.value_type)
        return None if item is None else pa.list_(item)
    if pa.types.is_map(left) and pa.types.is_map(right):
        key, item = rule(left.key_type, right.key_type), rule(left.item_type, right.item_type)
        if key is None or item is None or _loses(left.key_type, key) or _loses(right.key_type, key):
            return None
        return pa.map_(key, item)
    if pa.types.is_struct(left) and pa.types.is_struct(right) and left.num_fields == right.num_fields:
        fields = []
        for ours, theirs in zip(left, right, strict=True):
            kind = rule(ours.type, theirs.type)
            if kind is None or ours.name.lower() != theirs.name.lower():
                return None
            fields.append((ours.name, kind))
        return pa.struct(fields)
    return None


def _loses(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether a cast of map keys may give null, as Spark says (``Cast.forceNullable``)."""
    if source in (target, VOID) or target == STRING:
        return False
    if is_decimal(target):
        wider = is_numeric(source) and not is_fractional(source)
        return not wider or decimal_rules.wider_type(ansi.as_decimal(source), target) != target
    return target in (DATE, TIMESTAMP_NTZ) or (target == TIMESTAMP and source not in ansi.DATETIMES)
