"""The bound expression language, shared by the logical plan, the connectors' pushdown and the DAG.

An expression is plain frozen data: it prints, compares, hashes and can be sent to other members. Columns are
ordinals of the input row, every node knows its (logical) type, and all of Spark's implicit casts are already
written out as :class:`Cast`.

The set is closed; :mod:`sqlfront_values.evaluate` matches over it. The planner adds subquery expressions of
its own (:mod:`sqlfront_planner.logical`) and removes them before the engine sees the plan. Therefore a field
of an object that is sent to other members is annotated with :data:`EngineExpr`, the closed set, not with the
open base.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from operator import is_not
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
import pyarrow as pa
from msgspec.structs import force_setattr

from sqlfront_values import literal_values
from sqlfront_values.stacks import on_fresh_stack
from sqlfront_values.types import BOOLEAN

if TYPE_CHECKING:
    LiteralValue: TypeAlias = object
else:
    LiteralValue = msgspec.Raw


class Expr(msgspec.Struct, frozen=True, array_like=True, tag_field="kind", tag=True):
    """The base of all bound expressions; ``type`` is a logical Arrow type."""

    type: pa.DataType

    def children(self) -> tuple["Expr", ...]:
        """Return the direct operands, in evaluation order."""
        return ()

    def with_children(self, children: tuple["Expr", ...]) -> "Expr":
        """Return a node of the same kind and type with ``children`` as its operands. ``children`` has the
        length and the order of :meth:`children`."""
        assert not children
        return self


class Column(Expr, frozen=True, tag_field="kind", tag=True):
    """The input row's column at position ``ordinal``, counted from 0. ``name`` is for display only:
    evaluation never reads the name, though ``==`` compares it."""

    ordinal: int
    name: str = ""


class Literal(Expr, frozen=True, tag_field="kind", tag=True):
    """A constant: ``value`` is the Python object that ``pa.scalar(value, type).as_py()`` gives (date,
    Decimal, datetime, str, ...), or None for null."""

    value: LiteralValue

    def __post_init__(self) -> None:
        if type(self.value) is msgspec.Raw:
            force_setattr(self, "value", literal_values.decode_value(self.type, self.value))


class Parameter(Expr, frozen=True, tag_field="kind", tag=True):
    """A placeholder for argument number ``index`` of a plan; before the engine begins a run, a literal with
    the run's value replaces the placeholder.

    ``sample`` serves only the planner's estimates: the argument's value, as a number, in the run for which
    the query was planned; None if the value is not a number."""

    index: int
    sample: float | None = None


class RunValue(Expr, frozen=True, tag_field="kind", tag=True):
    """A placeholder for a value that is the same during an entire run, such as ``current_date``; a literal
    replaces the placeholder before the engine begins. ``name`` is the function's Spark name."""

    name: str


class Call(Expr, frozen=True, tag_field="kind", tag=True):
    """A scalar function or operator of the registry, applied to operands whose types the registry entry
    accepts.

    Operators have function names too (:data:`sqlfront_values.functions.registry.OPERATORS`). ``and``, ``or``
    and ``coalesce`` evaluate an operand only for the rows that still need it, as Spark does.
    """

    function: str
    arguments: tuple["EngineExpr", ...]

    def children(self) -> tuple[Expr, ...]:
        return self.arguments

    def with_children(self, children: tuple[Expr, ...]) -> "Call":
        return Call(self.type, self.function, children)


class Cast(Expr, frozen=True, tag_field="kind", tag=True):
    """A conversion of ``operand`` to ``type``. A value that cannot be converted becomes null if ``safe``
    (``try_cast``), else the value raises Spark's error."""

    operand: "EngineExpr"
    safe: bool = False

    def children(self) -> tuple[Expr, ...]:
        return (self.operand,)

    def with_children(self, children: tuple[Expr, ...]) -> "Cast":
        return Cast(self.type, children[0], self.safe)


class Case(Expr, frozen=True, tag_field="kind", tag=True):
    """``CASE WHEN condition THEN value ... ELSE otherwise END``; a branch is evaluated only for the rows that
    take the branch."""

    branches: tuple[tuple["EngineExpr", "EngineExpr"], ...]
    otherwise: "EngineExpr"

    def children(self) -> tuple[Expr, ...]:
        return (*(operand for branch in self.branches for operand in branch), self.otherwise)

    def with_children(self, children: tuple[Expr, ...]) -> "Case":
        pairs = tuple(zip(children[:-1:2], children[1:-1:2], strict=True))
        return Case(self.type, pairs, children[-1])


class Previous(Expr, frozen=True, tag_field="kind", tag=True):
    """A placeholder in a link of a :class:`Chain`, for the value of the link before (in the first link: of
    the chain's ``first``)."""


class Chain(Expr, frozen=True, tag_field="kind", tag=True):
    """Thousands of operators in a row, such as ``a + b + c + ...``, without the deep nesting. ``first`` is
    evaluated, then link after link; in a link, :class:`Previous` stands for the value evaluated before. The
    chain's value is the value of its last link. A link evaluates :class:`Previous` for all rows of the chain,
    never for some of them only."""

    first: "EngineExpr"
    links: tuple["EngineExpr", ...]

    def children(self) -> tuple[Expr, ...]:
        return (self.first, *self.links)

    def with_children(self, children: tuple[Expr, ...]) -> "Chain":
        return Chain(self.type, children[0], children[1:])


class Lambda(msgspec.Struct, frozen=True, array_like=True, tag_field="kind", tag=True):
    """A function of ``parameters`` values, for a :class:`HigherOrder` call. Its ``body`` is an expression
    over a row of its own: the columns ``0`` to ``parameters - 1`` are the parameters, the columns after them
    the values that the call captures."""

    parameters: int
    body: "EngineExpr"


class HigherOrder(Expr, frozen=True, tag_field="kind", tag=True):
    """A call of a function that takes lambdas, such as ``transform(a, x -> x + b)``.

    ``arguments`` are the operands that are no lambdas, in their order. ``captured`` are the parts of the
    lambdas that read the row outside of the lambdas, such as ``b``: all lambdas of the call read their values
    as columns, see :class:`Lambda`. The bodies are no children, since their columns are of other rows: code
    that rewrites or collects columns sees all that the call reads in ``arguments`` and ``captured``. Code
    that asks for a property of the whole computation uses :func:`walk_computation`."""

    function: str
    arguments: tuple["EngineExpr", ...]
    captured: tuple["EngineExpr", ...]
    lambdas: tuple[Lambda, ...]

    def children(self) -> tuple[Expr, ...]:
        return (*self.arguments, *self.captured)

    def with_children(self, children: tuple[Expr, ...]) -> "HigherOrder":
        count = len(self.arguments)
        return HigherOrder(self.type, self.function, children[:count], children[count:], self.lambdas)


if TYPE_CHECKING:
    EngineExpr: TypeAlias = Expr
else:
    #: Any of the engine's own expressions: the base class to a type checker, the closed set to msgspec.
    EngineExpr = Column | Literal | Parameter | RunValue | Call | Cast | Case | Chain | Previous | HigherOrder


class AggregateCall(msgspec.Struct, frozen=True, array_like=True, tag_field="kind", tag=True):
    """An aggregate function over the rows of a group: ``arguments`` are expressions over the input row,
    ``type`` is the type of the result. If ``distinct``, rows with equal arguments count once. Only rows for
    which ``filter``, SQL's FILTER clause, is true count; None = all rows. ``count`` without arguments counts
    rows."""

    function: str
    arguments: tuple[EngineExpr, ...]
    type: pa.DataType
    distinct: bool = False
    filter: EngineExpr | None = None


class SortOrder(Enum):
    """The order of values and nulls in ORDER BY. A null counts as less than every value, so that nulls are
    first ascending and last descending, unless the item says otherwise (NULLS FIRST, NULLS LAST)."""

    ASCENDING = "ASC NULLS FIRST"
    """From the least value to the greatest; nulls first."""
    ASCENDING_NULLS_LAST = "ASC NULLS LAST"
    """From the least value to the greatest; nulls last."""
    DESCENDING = "DESC NULLS LAST"
    """From the greatest value to the least; nulls last."""
    DESCENDING_NULLS_FIRST = "DESC NULLS FIRST"
    """From the greatest value to the least; nulls first."""

    @property
    def descends(self) -> bool:
        """Whether the greatest value comes before the least."""
        return self in (SortOrder.DESCENDING, SortOrder.DESCENDING_NULLS_FIRST)

    @property
    def nulls_first(self) -> bool:
        """Whether nulls come before all values."""
        return self in (SortOrder.ASCENDING, SortOrder.DESCENDING_NULLS_FIRST)


class SortKey(msgspec.Struct, frozen=True, array_like=True, tag_field="kind", tag=True):
    """One key of an ordering: the input column at position ``ordinal``, sorted in ``order``."""

    ordinal: int
    order: SortOrder = SortOrder.ASCENDING


class FrameUnit(Enum):
    """The unit of a window frame's offsets."""

    ROWS = "rows"
    """Rows before and after the current one."""
    RANGE = "range"
    """Rows whose order key lies between two keys; offset 0 stands for the peers of the current row."""


class WindowFrame(msgspec.Struct, frozen=True, array_like=True, tag_field="kind", tag=True):
    """A window frame: the rows from offset ``start`` to offset ``end``, both included. Offsets are relative
    to the current row: negative = before, 0 = the row (ROWS) or its peers (RANGE), None = the bound of the
    partition.

    An expression, in RANGE frames of a window with one order key, is the bound's key, computed from the
    current row's key, the expression's only column."""

    unit: FrameUnit
    start: int | EngineExpr | None
    end: int | EngineExpr | None


class WindowCall(msgspec.Struct, frozen=True, array_like=True, tag_field="kind", tag=True):
    """A ranking, offset or aggregate function over a window frame; ``arguments`` are expressions over the
    input row, ``type`` is the type of the result. If ``ignore_nulls``, the function skips rows whose value is
    null (SQL's IGNORE NULLS)."""

    function: str
    arguments: tuple[EngineExpr, ...]
    type: pa.DataType
    frame: WindowFrame
    ignore_nulls: bool = False


def walk(expression: Expr) -> Iterator[Expr]:
    """Yield the expression and every expression below it, parents first."""
    waiting = [expression]
    while waiting:
        item = waiting.pop()
        yield item
        children = item.children()
        if children:
            waiting += reversed(children)


def walk_computation(expression: Expr) -> Iterator[Expr]:
    """Yield the expression, every expression below it, and those in the bodies of lambdas, whose columns are
    columns of the lambdas' rows; parents first."""
    for item in walk(expression):
        yield item
        if isinstance(item, HigherOrder):
            for function in item.lambdas:
                yield from walk_computation(function.body)


def expressions_in(value: object) -> Iterator[Expr]:
    """Yield the expressions that ``value``, a field of a plan, holds: the value itself if it is an
    expression, the arguments and the filter of an aggregate or window call, and the expressions of each item
    of a tuple. Yields nothing for other values."""
    match value:
        case Expr():
            yield value
        case AggregateCall():
            yield from value.arguments
            if value.filter is not None:
                yield value.filter
        case WindowCall():
            yield from value.arguments
        case tuple():
            for item in value:
                yield from expressions_in(item)


def transform(expression: Expr, rewrite: Callable[[Expr], Expr]) -> Expr:
    """Rewrite the expression bottom-up. The pure function ``rewrite`` is called with each node, after its
    children have been replaced by their rewritten forms, and returns the node's replacement. A node whose
    children did not change reaches ``rewrite`` as the same object."""
    try:
        changed = expression
        children = expression.children()
        if children:
            rewritten = tuple([transform(child, rewrite) for child in children])
            if any(map(is_not, rewritten, children)):
                changed = expression.with_children(rewritten)
        return rewrite(changed)
    except RecursionError:
        return on_fresh_stack(transform, expression, rewrite)


def map_columns(expression: Expr, move: Callable[[Column], Expr]) -> Expr:
    """Return the expression with each column replaced by ``move(column)``. Nodes below which no column
    changed stay the same objects."""
    try:
        if isinstance(expression, Column):
            return move(expression)
        children = expression.children()
        if not children:
            return expression
        moved = tuple([map_columns(child, move) for child in children])
        return expression.with_children(moved) if any(map(is_not, moved, children)) else expression
    except RecursionError:
        return on_fresh_stack(map_columns, expression, move)


def columns_used(expression: Expr) -> frozenset[int]:
    """Return the ordinals of all input columns that the expression reads."""
    if isinstance(expression, Column):
        return frozenset((expression.ordinal,))
    items, found = list(expression.children()), set[int]()
    for item in items:  # the list grows in the loop
        if isinstance(item, Column):
            found.add(item.ordinal)
        else:
            items += item.children()
    return frozenset(found)


def conjuncts(expression: Expr) -> tuple[Expr, ...]:
    """Return the operands of a (nested) AND, left to right. For any other expression, return a tuple of the
    expression itself."""
    return operands_of("and", expression)


def operands_of(function: str, expression: Expr) -> tuple[Expr, ...]:
    """Return the operands of nested calls of ``function``, which must be associative, left to right. For an
    expression that is not a call of ``function``, return a tuple of the expression itself."""
    if not isinstance(expression, Call) or expression.function != function:
        return (expression,)
    found: list[Expr] = []
    waiting: list[Expr] = [expression]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Call) and item.function == function:
            waiting += reversed(item.arguments)
        else:
            found.append(item)
    return tuple(found)


def conjunction(parts: tuple[Expr, ...]) -> Expr | None:
    """Return the parts joined by AND; the part itself if there is only one, None if there are none."""
    return connected("and", parts) if parts else None


#: Operands of AND or OR that nest in one another; a longer list is halved, and each half again, so that the
#: depth grows with the logarithm of the number.
_MOST_NESTED: Final = 16


def connected(function: str, parts: Sequence[Expr]) -> Expr:
    """Return the parts, at least one, joined by ``function``, ``and`` or ``or``; the part itself if there is
    only one. Many parts are joined as a balanced tree, which evaluates them in the same order."""
    if len(parts) > _MOST_NESTED:
        middle = len(parts) // 2
        halves = connected(function, parts[:middle]), connected(function, parts[middle:])
        return Call(BOOLEAN, function, halves)
    result = parts[0]
    for part in parts[1:]:
        result = Call(BOOLEAN, function, (result, part))
    return result
