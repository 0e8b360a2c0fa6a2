"""Facts: comparisons of columns with constants that hold for all rows of a plan; and the facts that follow
for columns equal to these columns."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from sqlfront_engine.join_kinds import JoinKind
from sqlfront_planner.expressions.preimages import keeps_equality, keeps_order, narrowed
from sqlfront_planner.expressions.rewriting import COMPARISONS, is_fixed, nameless, remap, shift
from sqlfront_planner.expressions.unwrap_casts import unwrap_cast
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalFilter,
    LogicalGenerate,
    LogicalJoin,
    LogicalLimit,
    LogicalPlan,
    LogicalProject,
    LogicalScan,
    LogicalSetOperation,
    LogicalSort,
    LogicalValues,
    LogicalWindow,
    SetKind,
)
from sqlfront_values.evaluate import can_fail
from sqlfront_values.expressions import Call, Cast, Column, Expr, Literal, Parameter, columns_used, conjuncts
from sqlfront_values.stacks import deep
from sqlfront_values.types import BOOLEAN, DOUBLE, is_decimal, is_integral

_EQUALITIES: Final = frozenset({"equal", "equal_null_safe", "in"})
_STATED: Final = COMPARISONS | _EQUALITIES
#: Rows of a Values node from which facts are derived: every value is looked at in each planning of the query.
_MOST_ROWS: Final = 100


# ---- facts


def is_fact(condition: Expr) -> bool:
    """Return whether a condition has the form of a fact: a combination by AND and OR of comparisons of
    columns with constants, whose evaluation can't fail. If such a condition holds for a column, it also holds
    for every column that is equal to it: even 0.0 and -0.0 compare alike.

    >>> import pyarrow as pa
    >>> a, five = Column(pa.int32(), 3, "a"), Literal(pa.int32(), 5)
    >>> is_fact(Call(BOOLEAN, "less", (a, five))), is_fact(Call(BOOLEAN, "less", (a, a)))
    (True, False)
    """
    match condition:
        case Call(function="and" | "or", arguments=parts):
            return all(map(is_fact, parts))
        case Call(function="is_null" | "is_not_null", arguments=(operand,)):
            return isinstance(operand, Column)
        case Call(function="in", arguments=(tested, *values)):
            return _is_subject(tested) and all(map(_is_constant, values))
        case Call(function=function, arguments=(left, right)) if function in _STATED:
            return (_is_subject(left) and _is_constant(right)) or (_is_constant(left) and _is_subject(right))
        case _:
            return False


def _is_subject(expression: Expr) -> bool:
    """Return whether the expression is a column, or a struct of columns."""
    if isinstance(expression, Call) and expression.function == "struct":
        return all(isinstance(field, Column) for field in expression.arguments)
    return isinstance(expression, Column)


def _is_constant(expression: Expr) -> bool:
    return is_fixed(expression) and not can_fail(expression)


@deep
def facts(plan: LogicalPlan) -> tuple[Expr, ...]:
    """Return conditions on the plan's output columns that hold for every row of the plan; each compares
    columns with constants, in the form that :func:`is_fact` accepts."""
    match plan:
        case LogicalFilter():
            parts = conjuncts(plan.condition)
            known = (*filter(is_fact, parts), *facts(plan.input))
            return (*known, *restated(known, Equalities(parts), lambda _: True)) if known else ()
        case LogicalScan(filters=(_, *_)):
            places = {column: place for place, column in enumerate(plan.columns)}
            return _moved(filter(is_fact, plan.filters), places)
        case LogicalProject():
            return _project_facts(plan)
        case LogicalValues():
            return _values_facts(plan)
        case LogicalJoin(kind=JoinKind.INNER):
            right = (shift(fact, plan.left.width) for fact in facts(plan.right))
            stated = () if plan.condition is None else filter(is_fact, conjuncts(plan.condition))
            return (*facts(plan.left), *right, *stated)
        case LogicalJoin(kind=JoinKind.RIGHT):
            return tuple(shift(fact, plan.left.width) for fact in facts(plan.right))
        case LogicalJoin() if plan.kind is not JoinKind.FULL:
            return facts(plan.left)
        case LogicalAggregate():
            keys = {key.ordinal: place for place, key in enumerate(plan.keys) if isinstance(key, Column)}
            return _moved(facts(plan.input), keys) if keys else ()
        case LogicalWindow() | LogicalSort() | LogicalLimit() | LogicalGenerate():
            return facts(plan.input)
        case LogicalSetOperation():
            return _set_facts(plan)
        case _:
            return ()


def _moved(found: Iterable[Expr], places: Mapping[int, int]) -> tuple[Expr, ...]:
    return tuple(remap(fact, places) for fact in found if columns_used(fact) <= places.keys())


def _project_facts(plan: LogicalProject) -> tuple[Expr, ...]:
    places = {item.ordinal: place for place, item in enumerate(plan.expressions) if isinstance(item, Column)}
    row = plan.row()
    stated = tuple(
        Call(BOOLEAN, "equal", (row[place], item))
        for place, item in enumerate(plan.expressions)
        if isinstance(item, Literal) and item.value is not None
    )
    return (*_moved(facts(plan.input), places), *stated) if places else stated


def _values_facts(plan: LogicalValues) -> tuple[Expr, ...]:
    if not 0 < len(plan.rows) <= _MOST_ROWS:
        return ()
    found: list[Expr] = []
    for place, column in enumerate(plan.row()):
        values = [row[place] for row in plan.rows]
        if all(isinstance(value, Literal) and value.value is not None for value in values):
            found.append(Call(BOOLEAN, "in", (column, *values)))
    return tuple(found)


def _set_facts(plan: LogicalSetOperation) -> tuple[Expr, ...]:
    """Find the facts of a set operation: for INTERSECT those of all branches, for EXCEPT those of the first
    branch, for UNION ALL the facts that all branches share."""
    first, *others = (facts(branch) for branch in plan.branches)
    match plan.kind:
        case SetKind.INTERSECT | SetKind.INTERSECT_ALL:
            return (*first, *(fact for other in others for fact in other))
        case SetKind.EXCEPT | SetKind.EXCEPT_ALL:
            return first
        case _:
            stated = [{nameless(fact) for fact in other} for other in others]
            return tuple(fact for fact in first if all(nameless(fact) in other for other in stated))


# ---- equalities


class _Link(msgspec.Struct, frozen=True):
    """An equality that a column is part of: ``other`` is the other operand, a column, perhaps under casts.
    ``type`` is the type to which the first column is cast in the equality, None = it isn't cast."""

    other: Expr
    type: pa.DataType | None


class Equalities:
    """The equalities between columns that ``predicates`` state, directly or through casts that keep distinct
    values distinct. In a boolean context False if there are none."""

    def __init__(self, predicates: Iterable[Expr]) -> None:
        self._links: dict[int, list[_Link]] = {}
        for predicate in predicates:
            match predicate:
                case Call(function="equal" | "equal_null_safe", arguments=(left, right)):
                    mine, other = _cast_column(left), _cast_column(right)
                    if mine is not None and other is not None and mine.ordinal != other.ordinal:
                        self._learn(mine, left, right)
                        self._learn(other, right, left)
                case _:
                    pass

    def _learn(self, column: Column, cast: Expr, other: Expr) -> None:
        """Record that ``column`` equals ``other``. ``cast`` is the operand of the equality that has
        ``column``, with its casts."""
        link = _Link(other, None if cast is column else cast.type)
        self._links.setdefault(column.ordinal, []).append(link)

    def __bool__(self) -> bool:
        return bool(self._links)

    def reached(self, ordinal: int) -> Iterator[tuple[int, _Link]]:
        """Yield every column that equals the column ``ordinal``, except that column itself, nearest first:
        its ordinal, and the last equality of the chain that leads to it. A chain ends at an equality with a
        cast."""
        seen, waiting = {ordinal}, [ordinal]
        while waiting:
            for link in self._links.get(waiting.pop(0), ()):
                column = _cast_column(link.other)
                assert column is not None
                if column.ordinal in seen:
                    continue
                seen.add(column.ordinal)
                yield column.ordinal, link
                if link.type is None and link.other is column:
                    waiting.append(column.ordinal)


def _cast_column(expression: Expr) -> Column | None:
    """Return the column inside of casts that can't fail and keep distinct values distinct; None if the
    expression is anything else."""
    while isinstance(expression, Cast):
        if not keeps_equality(expression.operand.type, expression.type):
            return None
        expression = expression.operand
    return expression if isinstance(expression, Column) else None


def restated(known: Iterable[Expr], equalities: Equalities, belongs: Callable[[int], bool]) -> list[Expr]:
    """Return the facts (see :func:`is_fact`) that follow from the facts ``known`` for equal columns.
    ``belongs(ordinal)`` says which columns the new facts may have.

    From ``a = b`` and ``a = 5 OR a = 7`` follows ``b = 5 OR b = 7``, from ``cast(a as bigint) = b`` and
    ``a = 5`` follows ``b = 5`` (a bigint).
    """
    if not equalities:
        return []
    found: list[Expr] = []
    for fact in known:
        for links in _ways(sorted(columns_used(fact)), equalities, belongs):
            said = _restate(fact, links)
            if said is not None:
                found.append(said)
    return found


def _ways(
    used: Sequence[int], equalities: Equalities, belongs: Callable[[int], bool]
) -> Iterator[dict[int, _Link]]:
    """Yield replacements of the columns ``used``, each a mapping from the ordinals of replaced columns to the
    equality that gives the new column. Every column after the replacement is one that ``belongs`` accepts;
    each replacement replaces at least one column."""
    if not used:
        return
    choices: list[list[_Link | None]] = []
    for ordinal in used:
        others: list[_Link | None] = [link for other, link in equalities.reached(ordinal) if belongs(other)]
        choices.append([None, *others] if belongs(ordinal) else others)
    if len(used) == 1:
        for link in choices[0]:
            if link is not None:
                yield {used[0]: link}
    elif all(choices):
        links = {ordinal: link for ordinal, (link, *_) in zip(used, choices, strict=True) if link is not None}
        if links:
            yield links


def _restate(condition: Expr, links: Mapping[int, _Link]) -> Expr | None:
    match condition:
        case Call(function="and" | "or", arguments=parts):
            said = [_restate(part, links) for part in parts]
            known = tuple(part for part in said if part is not None)
            return replace(condition, arguments=known) if len(known) == len(said) else None
        case Call(function=function, arguments=arguments):
            return _restate_call(condition, function, arguments, links)
        case _:
            return None


def _restate_call(
    condition: Call, function: str, arguments: tuple[Expr, ...], links: Mapping[int, _Link]
) -> Expr | None:
    columns = [item for item in arguments if isinstance(item, Column)]
    if len(columns) != 1:
        return _restate_rows(condition, links)
    (column,) = columns
    link = links.get(column.ordinal)
    if link is None:
        return condition
    constants_type = link.type
    if constants_type is None and link.other.type != column.type:
        constants_type = link.other.type
    if constants_type is None:
        moved = tuple(link.other if item is column else item for item in arguments)
    else:
        keeps = (
            keeps_equality
            if function in (*_EQUALITIES, "not_equal", "is_null", "is_not_null")
            else keeps_order
        )
        if not keeps(column.type, constants_type):
            return None
        moved = tuple(
            link.other if item is column else _converted(item, constants_type) for item in arguments
        )
    return unwrap_cast(replace(condition, arguments=moved))


def _converted(constant: Expr, wide: pa.DataType) -> Expr:
    """Return the constant in the type ``wide``, which can hold its value: as a literal or parameter of that
    type if possible, else as a cast."""
    if isinstance(constant, Literal) and isinstance(constant.value, int) and wide == DOUBLE:
        return Literal(wide, float(constant.value))
    if isinstance(constant, Literal) and (is_integral(wide) or is_decimal(wide)):
        return narrowed(constant, wide) or Cast(wide, constant)
    if isinstance(constant, Parameter) and is_integral(constant.type) and is_integral(wide):
        return Parameter(wide, constant.index, constant.sample)
    return Cast(wide, constant)


def _restate_rows(condition: Call, links: Mapping[int, _Link]) -> Expr | None:
    """Return a comparison of several columns at once, such as structs, with all columns replaced by their
    equals in ``links``. Return None if a replacement has another type or a cast, or if a column stands deeper
    in an expression, as in ``cast(a as double) IN (0.5, 1.5)``."""
    if any(link.type is not None or not isinstance(link.other, Column) for link in links.values()):
        return None
    others = {ordinal: link.other for ordinal, link in links.items() if isinstance(link.other, Column)}

    def move(item: Expr) -> Expr:
        match item:
            case Call(function="struct", arguments=fields):
                return replace(item, arguments=tuple(map(move, fields)))
            case Column(ordinal=ordinal):
                return others.get(ordinal, item)
            case _:
                return item

    moved = replace(condition, arguments=tuple(map(move, condition.arguments)))
    return None if columns_used(moved) & links.keys() else moved
