"""The logical plan: bound, typed, and frozen; columns are ordinals of the input row.

A join's output row is the left row followed by the right row (only the left row for semi and anti joins).
Tests run :func:`sqlfront_planner.check.check` on the whole tree after every rule, which finds malformed
nodes.

Three subquery expressions extend the engine's expression language; the optimizer removes them all before
lowering.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from itertools import islice
from operator import is_not
from typing import Final, NamedTuple

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from sqlfront_connectors.base import Snapshot, Table
from sqlfront_engine.generators import Generator
from sqlfront_engine.join_kinds import FILTERING_JOINS, JoinKind
from sqlfront_values import expression_text as display
from sqlfront_values.expressions import (
    AggregateCall,
    Call,
    Column,
    Expr,
    SortKey,
    SortOrder,
    WindowCall,
    map_columns,
    walk,
)
from sqlfront_values.memo import Memo
from sqlfront_values.stacks import on_fresh_stack
from sqlfront_values.types import BOOLEAN

#: Results of :func:`_table_part` by the identity of the schema. The entry holds the schema, so that the
#: identity stays valid.
_TABLE_PARTS: Final = Memo[
    tuple[int, tuple[int, ...] | None], tuple[pa.Schema, pa.Schema, tuple[Column, ...]]
](1000)


class LogicalPlan(msgspec.Struct, frozen=True):
    """The base class of the nodes of a logical plan; a node with its inputs is a plan.

    A subclass implements :attr:`schema`, :meth:`row` and :attr:`width`; if it has inputs, :meth:`inputs` and
    :meth:`with_inputs`; if it evaluates expressions, :meth:`operands` and :meth:`with_operands`."""

    @property
    def label(self) -> str:
        """The operator's name in EXPLAIN and in errors, such as ``Filter``."""
        return type(self).__name__.removeprefix("Logical")

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the output row's columns; names need not be unique."""
        raise NotImplementedError

    def row(self) -> tuple[Column, ...]:
        """Return references to the columns of the output row, in order. They have the names and types of
        :attr:`schema`, at a tenth of its cost."""
        raise NotImplementedError

    @property
    def width(self) -> int:
        """The number of output columns."""
        raise NotImplementedError

    def inputs(self) -> tuple["LogicalPlan", ...]:
        """Return the input plans, left to right."""
        return ()

    def with_inputs(self, inputs: tuple["LogicalPlan", ...]) -> "LogicalPlan":
        """Return the node with other inputs, which have the same schemas as its inputs."""
        assert not inputs
        return self

    def operands(self) -> tuple[Expr, ...]:
        """Return all expressions that the node evaluates, in the order of the node's fields."""
        return ()

    def with_operands(self, operands: tuple[Expr, ...]) -> "LogicalPlan":
        """Return the node with other expressions, which have the types and the number of those that
        :meth:`operands` returns."""
        assert not operands
        return self


class UnaryPlan(LogicalPlan, frozen=True):
    """The base class of nodes with one input. A subclass still implements the output: :attr:`schema`,
    :meth:`row` and :attr:`width`."""

    input: LogicalPlan

    def inputs(self) -> tuple[LogicalPlan, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[LogicalPlan, ...]) -> LogicalPlan:
        return replace(self, input=inputs[0])


class PassingPlan(UnaryPlan, frozen=True):
    """The base class of nodes with one input whose output rows are rows of the input, with all its columns.
    This class implements the output's columns; a subclass decides which rows it passes on, in which order."""

    @property
    def schema(self) -> pa.Schema:
        return self.input.schema

    def row(self) -> tuple[Column, ...]:
        return self.input.row()

    @property
    def width(self) -> int:
        return self.input.width


class Subquery(Expr, frozen=True, tag_field="kind", tag=True):
    """The base class of subqueries in expressions. ``plan`` is the subquery's plan, in which an
    :class:`OuterColumn` reads the enclosing query's row."""

    plan: LogicalPlan

    def describe(self) -> str:
        """Return the expression's text in EXPLAIN, which prints the subquery's plan below the node that
        evaluates the expression."""
        return "(scalar subquery)"


class OuterColumn(Expr, frozen=True, tag_field="kind", tag=True):
    """A column of the enclosing query's row, read by a subquery."""

    ordinal: int
    name: str = ""

    def describe(self) -> str:
        """Return the expression's text in EXPLAIN."""
        return f"outer.{self.name}#{self.ordinal}"


class ScalarSubquery(Subquery, frozen=True, tag_field="kind", tag=True):
    """A subquery as a value: the only value of its only row, or null if it has no row; more than one row is
    an error."""


class Exists(Subquery, frozen=True, tag_field="kind", tag=True):
    """A test that is true if the subquery has a row, else false."""

    def describe(self) -> str:
        return "EXISTS (subquery)"


class InSubquery(Subquery, frozen=True, tag_field="kind", tag=True):
    """A test ``(operands) IN (plan)`` in three-valued logic; ``operands`` are expressions over the enclosing
    row."""

    operands: tuple[Expr, ...]

    def children(self) -> tuple[Expr, ...]:
        return self.operands

    def with_children(self, children: tuple[Expr, ...]) -> "InSubquery":
        return InSubquery(self.type, self.plan, children)

    def describe(self) -> str:
        return f"({', '.join(display.describe(operand) for operand in self.operands)}) IN (subquery)"


class LogicalScan(LogicalPlan, frozen=True):
    """A scan of some columns of a table.

    ``columns`` are ordinals of the table. ``filters`` are conditions, whose columns are ordinals of the
    *table*, too; the scan returns only rows that satisfy all of them. At most ``limit`` of these rows are
    needed (None = all)."""

    name: str
    table: Table
    snapshot: Snapshot
    columns: tuple[int, ...]
    filters: tuple[Expr, ...] = ()
    limit: int | None = None

    @property
    def schema(self) -> pa.Schema:
        return _table_part(self.table.schema, self.columns)[1]

    def row(self) -> tuple[Column, ...]:
        return table_row(self.table.schema, self.columns)

    @property
    def width(self) -> int:
        return len(self.columns)

    def operands(self) -> tuple[Expr, ...]:
        return self.filters

    def with_operands(self, operands: tuple[Expr, ...]) -> "LogicalScan":
        return replace(self, filters=operands)


def table_row(schema: pa.Schema, ordinals: tuple[int, ...] | None = None) -> tuple[Column, ...]:
    """Return references to the columns ``ordinals`` of a table (None: to all columns), as the row of a
    scan."""
    return _table_part(schema, ordinals)[2]


def _table_part(
    schema: pa.Schema, ordinals: tuple[int, ...] | None
) -> tuple[pa.Schema, pa.Schema, tuple[Column, ...]]:
    """Return a table's schema, the schema of its columns ``ordinals`` (None: of all columns), and references
    to these columns. Results are cached: planning a join needs them dozens of times, and each
    ``schema.field`` makes a new object."""
    known = _TABLE_PARTS.get((id(schema), ordinals))
    if known is not None and known[0] is schema:
        return known
    fields = [schema.field(ordinal) for ordinal in (range(len(schema)) if ordinals is None else ordinals)]
    row = tuple([Column(field.type, place, field.name) for place, field in enumerate(fields)])
    return _TABLE_PARTS.keep((id(schema), ordinals), (schema, pa.schema(fields), row))


class LogicalValues(LogicalPlan, frozen=True):
    """Rows whose values are expressions that read no column, such as the rows of VALUES. A SELECT without
    FROM reads one row without columns."""

    output: pa.Schema
    rows: tuple[tuple[Expr, ...], ...]

    @property
    def schema(self) -> pa.Schema:
        return self.output

    def row(self) -> tuple[Column, ...]:
        return tuple(Column(field.type, place, field.name) for place, field in enumerate(self.output))

    @property
    def width(self) -> int:
        return len(self.output)

    def operands(self) -> tuple[Expr, ...]:
        return tuple(item for row in self.rows for item in row)

    def with_operands(self, operands: tuple[Expr, ...]) -> LogicalPlan:
        width = self.width
        starts = range(0, len(operands), width) if width else range(0)
        return replace(self, rows=tuple(operands[start : start + width] for start in starts) or self.rows)


class LogicalFilter(PassingPlan, frozen=True):
    """A filter, which returns the rows for which ``condition`` is true."""

    condition: Expr

    def operands(self) -> tuple[Expr, ...]:
        return (self.condition,)

    def with_operands(self, operands: tuple[Expr, ...]) -> LogicalPlan:
        return replace(self, condition=operands[0])


class LogicalProject(UnaryPlan, frozen=True):
    """A projection, whose output has one column per expression."""

    expressions: tuple[Expr, ...]
    names: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(name, item.type) for name, item in zip(self.names, self.expressions, strict=True)])

    def row(self) -> tuple[Column, ...]:
        pairs = zip(self.names, self.expressions, strict=True)
        return tuple([Column(item.type, place, name) for place, (name, item) in enumerate(pairs)])

    @property
    def width(self) -> int:
        return len(self.expressions)

    def operands(self) -> tuple[Expr, ...]:
        return self.expressions

    def with_operands(self, operands: tuple[Expr, ...]) -> LogicalPlan:
        return replace(self, expressions=operands)


class JoinKey(NamedTuple):
    """An equality between the two sides of a join; both expressions have one type. ``null_safe``: null equals
    null (``<=>``), else null equals nothing."""

    left: Expr
    """The expression over the left row."""
    right: Expr
    """The expression over the right row, whose columns count from 0."""
    null_safe: bool = False
    """Whether null equals null (``<=>``)."""

    def over_both(self, left_width: int) -> Expr:
        """Return the key as a condition over the joined row, which has the left columns first; ``left_width``
        is the number of left columns."""
        moved = map_columns(
            self.right, lambda column: Column(column.type, column.ordinal + left_width, column.name)
        )
        return Call(BOOLEAN, "equal_null_safe" if self.null_safe else "equal", (self.left, moved))


class LogicalJoin(LogicalPlan, frozen=True, dict=True):
    """A join. INNER returns the pairs of rows that satisfy ``keys`` and ``condition``; :class:`JoinKind` says
    what the other kinds return.

    The optimizer fills ``keys``. ``condition`` is over the concatenated row, None = true. A cross join is
    INNER without keys and condition.
    """

    left: LogicalPlan
    right: LogicalPlan
    kind: JoinKind
    condition: Expr | None = None
    keys: tuple[JoinKey, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        if self.kind in FILTERING_JOINS:
            return self.left.schema
        return pa.schema([*self.left.schema, *self.right.schema])

    def row(self) -> tuple[Column, ...]:
        # Cached, and computed from the innermost join outward: in a chain of joins each join's row is needed
        # many times.
        for join in self._unknown("_row"):
            row = join.left.row()
            if join.kind not in FILTERING_JOINS:
                width = len(row)
                right = [Column(item.type, width + item.ordinal, item.name) for item in join.right.row()]
                row = (*row, *right)
            join.__dict__["_row"] = row
        known: tuple[Column, ...] = self.__dict__["_row"]
        return known

    @property
    def width(self) -> int:
        for join in self._unknown("_width"):
            right = 0 if join.kind in FILTERING_JOINS else join.right.width
            join.__dict__["_width"] = join.left.width + right
        known: int = self.__dict__["_width"]
        return known

    def _unknown(self, name: str) -> "list[LogicalJoin]":
        """Return the joins along the left inputs, from this join down, that have no cached value of the
        attribute ``name`` yet; the innermost join comes first."""
        found: list[LogicalJoin] = []
        plan: LogicalPlan = self
        while isinstance(plan, LogicalJoin) and name not in plan.__dict__:
            found.append(plan)
            plan = plan.left
        found.reverse()
        return found

    def operands(self) -> tuple[Expr, ...]:
        keys = tuple([side for key in self.keys for side in (key.left, key.right)])
        return keys if self.condition is None else (*keys, self.condition)

    def with_operands(self, operands: tuple[Expr, ...]) -> LogicalPlan:
        count = 2 * len(self.keys)
        sides = zip(operands[0:count:2], operands[1:count:2], self.keys, strict=True)
        keys = tuple(JoinKey(left, right, key.null_safe) for left, right, key in sides)
        return replace(self, keys=keys, condition=None if self.condition is None else operands[count])

    def inputs(self) -> tuple[LogicalPlan, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: tuple[LogicalPlan, ...]) -> LogicalPlan:
        return replace(self, left=inputs[0], right=inputs[1])


class LogicalAggregate(UnaryPlan, frozen=True):
    """An aggregation, which returns one row per distinct key (null is a key); without keys exactly one row.
    The output columns are the keys, then the values of the calls. DISTINCT is an Aggregate without calls."""

    keys: tuple[Expr, ...]
    calls: tuple[AggregateCall, ...]
    names: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(item.name, item.type) for item in self.row()])

    def row(self) -> tuple[Column, ...]:
        types = (*(key.type for key in self.keys), *(call.type for call in self.calls))
        pairs = zip(self.names, types, strict=True)
        return tuple(Column(data_type, place, name) for place, (name, data_type) in enumerate(pairs))

    @property
    def width(self) -> int:
        return len(self.keys) + len(self.calls)

    def operands(self) -> tuple[Expr, ...]:
        return (*self.keys, *(operand for call in self.calls for operand in call_operands(call)))

    def with_operands(self, operands: tuple[Expr, ...]) -> LogicalPlan:
        rest = iter(operands)
        keys = tuple(islice(rest, len(self.keys)))
        return replace(self, keys=keys, calls=tuple(with_call_operands(call, rest) for call in self.calls))


class LogicalWindow(UnaryPlan, frozen=True):
    """A computation of window functions: the output row is the input row followed by one column per call. All
    calls share the partitioning and the order, whose expressions are over the input row (``order`` has pairs
    of expression and sort order)."""

    partition: tuple[Expr, ...]
    order: tuple[tuple[Expr, SortOrder], ...]
    calls: tuple[WindowCall, ...]
    names: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        below, added = self._added()
        return pa.schema([*below.schema, *(pa.field(name, call.type) for name, call in added)])

    def row(self) -> tuple[Column, ...]:
        below, added = self._added()
        before = below.row()
        return (
            *before,
            *(Column(call.type, place, name) for place, (name, call) in enumerate(added, len(before))),
        )

    @property
    def width(self) -> int:
        below, added = self._added()
        return below.width + len(added)

    def _added(self) -> tuple[LogicalPlan, list[tuple[str, WindowCall]]]:
        """Return the plan under a stack of window nodes, and the columns that all nodes of the stack add, as
        pairs of name and call. Going through the stack in a loop makes one schema, where a recursion would
        make one per node."""
        plan: LogicalPlan = self
        windows: list[LogicalWindow] = []
        while isinstance(plan, LogicalWindow):
            windows.append(plan)
            plan = plan.input
        return plan, [
            pair for window in reversed(windows) for pair in zip(window.names, window.calls, strict=True)
        ]

    def operands(self) -> tuple[Expr, ...]:
        order = (expression for expression, _ in self.order)
        return (*self.partition, *order, *(operand for call in self.calls for operand in call.arguments))

    def with_operands(self, operands: tuple[Expr, ...]) -> LogicalPlan:
        rest = iter(operands)
        partition = tuple(islice(rest, len(self.partition)))
        order = tuple((next(rest), order) for _, order in self.order)
        calls = tuple(
            WindowCall(
                call.function,
                tuple(islice(rest, len(call.arguments))),
                call.type,
                call.frame,
                call.ignore_nulls,
            )
            for call in self.calls
        )
        return replace(self, partition=partition, order=order, calls=calls)


class LogicalGenerate(UnaryPlan, frozen=True):
    """A generation of rows: for each input row the rows that ``generator`` makes of ``arguments``, which are
    over the input row. The output row is the input row followed by the generated columns, called ``names``
    and of the types ``types``. ``outer``: an input row without generated rows gives one row, in which the
    generated columns are null."""

    generator: Generator
    arguments: tuple[Expr, ...]
    outer: bool
    names: tuple[str, ...]
    types: tuple[pa.DataType, ...]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(column.name, column.type) for column in self.row()])

    def row(self) -> tuple[Column, ...]:
        before = self.input.row()
        added = enumerate(zip(self.names, self.types, strict=True), len(before))
        return (*before, *(Column(kind, place, name) for place, (name, kind) in added))

    @property
    def width(self) -> int:
        return self.input.width + len(self.names)

    def operands(self) -> tuple[Expr, ...]:
        return self.arguments

    def with_operands(self, operands: tuple[Expr, ...]) -> LogicalPlan:
        return replace(self, arguments=operands)


class LogicalSort(PassingPlan, frozen=True):
    """A sort of the rows by ``keys``, ordinals of the input. With ``limit`` or ``offset`` it is a top-n: it
    skips ``offset`` rows of the order and returns at most ``limit`` rows (None = all)."""

    keys: tuple[SortKey, ...]
    limit: int | None = None
    offset: int = 0


class LogicalLimit(PassingPlan, frozen=True):
    """A limit, which skips ``offset`` rows and returns at most ``count`` further rows (None = all), in the
    input's order.

    ``run_count`` and ``run_offset``: parameters and literals whose sum is the number in a run; ``count`` or
    ``offset`` is then a bound, and at least 1. Empty = the number is ``count`` or ``offset``."""

    count: int | None
    offset: int = 0
    run_count: tuple[Expr, ...] = ()
    run_offset: tuple[Expr, ...] = ()

    @property
    def varies(self) -> bool:
        """Whether arguments say how many rows the limit returns or skips."""
        return bool(self.run_count or self.run_offset)

    def operands(self) -> tuple[Expr, ...]:
        return (*self.run_count, *self.run_offset)

    def with_operands(self, operands: tuple[Expr, ...]) -> LogicalPlan:
        counted = len(self.run_count)
        return replace(self, run_count=operands[:counted], run_offset=operands[counted:])


class SetKind(Enum):
    """The kind of a set operation, which says which rows it returns. UNION (distinct) is an Aggregate over
    UNION ALL."""

    UNION_ALL = "union all"
    """All rows of all branches."""
    INTERSECT = "intersect"
    """Distinct rows that are in both branches."""
    INTERSECT_ALL = "intersect all"
    """Rows in both branches, as often as in the branch with fewer occurrences."""
    EXCEPT = "except"
    """Distinct rows of the left branch that are not in the right branch."""
    EXCEPT_ALL = "except all"
    """Rows of the left branch, less their occurrences in the right branch."""


class LogicalSetOperation(LogicalPlan, frozen=True):
    """A set operation over branches that have the same types, column by column; the columns have the first
    branch's names. INTERSECT and EXCEPT have two branches; null equals null."""

    kind: SetKind
    branches: tuple[LogicalPlan, ...]

    @property
    def schema(self) -> pa.Schema:
        return self.branches[0].schema

    def row(self) -> tuple[Column, ...]:
        return self.branches[0].row()

    @property
    def width(self) -> int:
        return self.branches[0].width

    def inputs(self) -> tuple[LogicalPlan, ...]:
        return self.branches

    def with_inputs(self, inputs: tuple[LogicalPlan, ...]) -> LogicalPlan:
        return replace(self, branches=inputs)


class LogicalScalarRow(PassingPlan, frozen=True):
    """A node that returns the only row of its input, or a row of nulls if the input is empty. If the input
    has more rows, the run raises SCALAR_SUBQUERY_TOO_MANY_ROWS. The optimizer turns an uncorrelated scalar
    subquery into this node."""


def call_operands(call: AggregateCall) -> tuple[Expr, ...]:
    """Return the expressions that an aggregate call evaluates: the arguments, then the condition of FILTER if
    it has one."""
    return call.arguments if call.filter is None else (*call.arguments, call.filter)


def with_call_operands(call: AggregateCall, operands: Iterator[Expr]) -> AggregateCall:
    """Return the call with the expressions that it evaluates (:func:`call_operands`) replaced by the next
    items of ``operands``."""
    arguments = tuple(islice(operands, len(call.arguments)))
    condition = None if call.filter is None else next(operands)
    return AggregateCall(call.function, arguments, call.type, call.distinct, condition)


def walk_plan(plan: LogicalPlan) -> Iterator[LogicalPlan]:
    """Yield the plan and all nodes below, parents first, without the plans of subquery expressions."""
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.inputs())


def distinct_nodes(plan: LogicalPlan) -> Iterator[LogicalPlan]:
    """Yield the plan and all nodes below, parents first, without the plans of subquery expressions; a node
    object that stands in several places of the plan comes once."""
    waiting, seen = [plan], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            waiting += reversed(node.inputs())


def all_nodes(
    plan: LogicalPlan, *, repeated: bool = False, seen: set[int] | None = None
) -> Iterator[LogicalPlan]:
    """Yield the plan's nodes, including the nodes of its subquery expressions: each node object once, or with
    ``repeated`` once for each of its places in the plan.

    Nodes whose ``id()`` is in ``seen`` are left out with everything below them. Unless ``repeated``, the ids
    of the yielded nodes are added to ``seen``."""
    waiting, passed = [plan], set[int]() if seen is None else seen
    while waiting:
        node = waiting.pop()
        if id(node) in passed:
            continue
        if not repeated:
            passed.add(id(node))
        yield node
        waiting += reversed(_below(node))


def _below(node: LogicalPlan) -> list[LogicalPlan]:
    """Return a node's inputs, then the plans of its subquery expressions."""
    subqueries = (item for operand in node.operands() for item in walk(operand) if isinstance(item, Subquery))
    return [*node.inputs(), *(subquery.plan for subquery in subqueries)]


def repeats(plan: LogicalPlan) -> int:
    """Return how many nodes the plan would have more if each node that stands in several places were copied
    for each place, plans of subquery expressions included."""
    sizes: dict[int, int] = {}
    waiting = [(plan, False)]
    while waiting:
        node, is_ready = waiting.pop()
        if is_ready:
            sizes[id(node)] = 1 + sum(sizes[id(child)] for child in _below(node))
        elif id(node) not in sizes:
            waiting.append((node, True))
            waiting += [(child, False) for child in _below(node) if id(child) not in sizes]
    return sizes[id(plan)] - len(sizes)


def over(plan: LogicalPlan, inputs: Iterable[LogicalPlan]) -> LogicalPlan:
    """Return the node with ``inputs`` as its inputs, which have the same schemas as its present inputs; the
    node itself if they are its present inputs."""
    given = tuple(inputs)
    return plan.with_inputs(given) if any(map(is_not, given, plan.inputs())) else plan


def map_inputs(plan: LogicalPlan, rewrite: Callable[[LogicalPlan], LogicalPlan]) -> LogicalPlan:
    """Return the node with ``rewrite`` applied to each of its inputs; the node itself if no input changes."""
    inputs = plan.inputs()
    return over(plan, [rewrite(child) for child in inputs]) if inputs else plan


def transform_plan(plan: LogicalPlan, rewrite: Callable[[LogicalPlan], LogicalPlan]) -> LogicalPlan:
    """Apply ``rewrite`` to every node of the plan, bottom-up, and return the new plan. A node below which
    nothing changes is passed to ``rewrite`` as it is. A node object that stands in several places stays one
    object, so ``rewrite`` must be pure."""
    chain: list[UnaryPlan] = []
    node = plan
    while isinstance(node, UnaryPlan):  # a chain of nodes with one input each needs no recursion
        chain.append(node)
        node = node.input
    try:
        result = _transformed(node, rewrite, {}) if node.inputs() else rewrite(node)
        for link in reversed(chain):
            result = rewrite(link if result is link.input else link.with_inputs((result,)))
    except RecursionError:
        return on_fresh_stack(transform_plan, plan, rewrite)
    return result


def _transformed(
    plan: LogicalPlan, rewrite: Callable[[LogicalPlan], LogicalPlan], done: dict[int, LogicalPlan]
) -> LogicalPlan:
    known = done.get(id(plan))
    if known is not None:
        return known
    try:
        result = plan
        if inputs := plan.inputs():
            changed = tuple([_transformed(child, rewrite, done) for child in inputs])
            if any(map(is_not, changed, inputs)):
                result = plan.with_inputs(changed)
        result = rewrite(result)
    except RecursionError:
        result = on_fresh_stack(_transformed, plan, rewrite, done)
    done[id(plan)] = result
    return result
