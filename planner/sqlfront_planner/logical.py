"""The logical plan: bound, typed, and frozen; columns are ordinals of the input row.

A join's output row is the left row followed by the right row (left only for semi and anti joins). Every node refuses to be
built wrong: :meth:`LogicalPlan.check` is run on the whole tree after every rule in tests.

Three subquery expressions extend the engine's expression language; the optimizer removes them all before lowering.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

import pyarrow as pa
from sqlfront_connectors.base import Snapshot, Table
from sqlfront_engine.expressions import AggregateCall, Expr, SortKey, WindowCall


class JoinKind(Enum):
    """How unmatched rows are treated."""

    INNER = "inner"
    """Only matches."""
    LEFT = "left"
    """Unmatched left rows with nulls."""
    RIGHT = "right"
    """Unmatched right rows with nulls."""
    FULL = "full"
    """Unmatched rows of both sides."""
    SEMI = "semi"
    """Left rows with at least one match, once."""
    ANTI = "anti"
    """Left rows without a match."""
    NULL_AWARE_ANTI = "null-aware anti"
    """NOT IN: left rows for which the condition is false (not null) for every right row."""


class LogicalPlan:
    """The base of all logical nodes (frozen dataclasses)."""

    @property
    def schema(self) -> pa.Schema:
        """Logical names and types of the output row; names need not be unique."""
        raise NotImplementedError

    def inputs(self) -> tuple["LogicalPlan", ...]:
        """The input plans, left to right."""
        return ()

    def with_inputs(self, inputs: tuple["LogicalPlan", ...]) -> "LogicalPlan":
        """The same node over other inputs of the same schemas."""
        assert not inputs
        return self


class Subquery(Expr, frozen=True, tag_field="kind", tag=True):
    """Base of the subquery expressions. ``plan`` may hold :class:`OuterColumn`."""

    plan: LogicalPlan


class OuterColumn(Expr, frozen=True, tag_field="kind", tag=True):
    """A column of the row of the enclosing query, seen from within a subquery."""

    ordinal: int
    name: str = ""


class ScalarSubquery(Subquery, frozen=True, tag_field="kind", tag=True):
    """The only value of the only row, null if there is no row; more than one row is an error."""


class Exists(Subquery, frozen=True, tag_field="kind", tag=True):
    """Whether there is a row."""


class InSubquery(Subquery, frozen=True, tag_field="kind", tag=True):
    """``(operands) IN (plan)``, three-valued; ``operands`` are over the enclosing row."""

    operands: tuple[Expr, ...]

    def children(self) -> tuple[Expr, ...]:
        return self.operands

    def with_children(self, children: tuple[Expr, ...]) -> "InSubquery":
        return InSubquery(self.type, self.plan, children)


@dataclass(frozen=True, slots=True)
class Scan(LogicalPlan):
    """A table's columns. ``columns`` are table ordinals; ``filters`` are conjuncts over *table* ordinals that are to be applied."""

    name: str
    table: Table
    snapshot: Snapshot
    columns: tuple[int, ...]
    filters: tuple[Expr, ...] = ()
    limit: int | None = None

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([self.table.schema.field(ordinal) for ordinal in self.columns])


@dataclass(frozen=True, slots=True)
class Values(LogicalPlan):
    """Literal rows; the expressions hold no column. No columns and one row is SQL's FROM-less SELECT."""

    output: pa.Schema
    rows: tuple[tuple[Expr, ...], ...]

    @property
    def schema(self) -> pa.Schema:
        return self.output


@dataclass(frozen=True, slots=True)
class Filter(LogicalPlan):
    """The rows for which ``condition`` is true."""

    input: LogicalPlan
    condition: Expr

    @property
    def schema(self) -> pa.Schema:
        return self.input.schema

    def inputs(self) -> tuple[LogicalPlan, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[LogicalPlan, ...]) -> LogicalPlan:
        return replace(self, input=inputs[0])


@dataclass(frozen=True, slots=True)
class Project(LogicalPlan):
    """One output column per expression."""

    input: LogicalPlan
    expressions: tuple[Expr, ...]
    names: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(
            [(name, item.type) for name, item in zip(self.names, self.expressions, strict=True)]
        )

    def inputs(self) -> tuple[LogicalPlan, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[LogicalPlan, ...]) -> LogicalPlan:
        return replace(self, input=inputs[0])


@dataclass(frozen=True, slots=True)
class Join(LogicalPlan):
    """Rows of both sides that satisfy ``keys`` and ``condition``.

    ``keys`` are pairs (expression over the left row, expression over the right row) compared by ``=`` (of one type), filled by the
    optimizer; ``condition`` is over the concatenated row, None = true. A cross join is INNER without either.
    """

    left: LogicalPlan
    right: LogicalPlan
    kind: JoinKind
    condition: Expr | None = None
    keys: tuple[tuple[Expr, Expr], ...] = ()

    @property
    def schema(self) -> pa.Schema:
        if self.kind in (JoinKind.SEMI, JoinKind.ANTI, JoinKind.NULL_AWARE_ANTI):
            return self.left.schema
        return pa.schema([*self.left.schema, *self.right.schema])

    def inputs(self) -> tuple[LogicalPlan, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: tuple[LogicalPlan, ...]) -> LogicalPlan:
        return replace(self, left=inputs[0], right=inputs[1])


@dataclass(frozen=True, slots=True)
class Aggregate(LogicalPlan):
    """One row per distinct key (null is a key); without keys exactly one row. Output: keys, then aggregates. DISTINCT is an
    Aggregate without calls."""

    input: LogicalPlan
    keys: tuple[Expr, ...]
    calls: tuple[AggregateCall, ...]
    names: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        types = [*(key.type for key in self.keys), *(call.type for call in self.calls)]
        return pa.schema(list(zip(self.names, types, strict=True)))

    def inputs(self) -> tuple[LogicalPlan, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[LogicalPlan, ...]) -> LogicalPlan:
        return replace(self, input=inputs[0])


@dataclass(frozen=True, slots=True)
class Window(LogicalPlan):
    """The input row followed by one column per call; all calls share partitioning and ordering, whose expressions are over the
    input row (``order`` as (expression, descending, nulls first))."""

    input: LogicalPlan
    partition: tuple[Expr, ...]
    order: tuple[tuple[Expr, bool, bool], ...]
    calls: tuple[WindowCall, ...]
    names: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        added = [(name, call.type) for name, call in zip(self.names, self.calls, strict=True)]
        return pa.schema([*self.input.schema, *(pa.field(name, kind) for name, kind in added)])

    def inputs(self) -> tuple[LogicalPlan, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[LogicalPlan, ...]) -> LogicalPlan:
        return replace(self, input=inputs[0])


@dataclass(frozen=True, slots=True)
class Sort(LogicalPlan):
    """The rows in the order of ``keys`` (ordinals of the input); ``limit``/``offset`` make it a top-n."""

    input: LogicalPlan
    keys: tuple[SortKey, ...]
    limit: int | None = None
    offset: int = 0

    @property
    def schema(self) -> pa.Schema:
        return self.input.schema

    def inputs(self) -> tuple[LogicalPlan, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[LogicalPlan, ...]) -> LogicalPlan:
        return replace(self, input=inputs[0])


@dataclass(frozen=True, slots=True)
class Limit(LogicalPlan):
    """At most ``count`` rows (None = all) after skipping ``offset``, in the input's order."""

    input: LogicalPlan
    count: int | None
    offset: int = 0

    @property
    def schema(self) -> pa.Schema:
        return self.input.schema

    def inputs(self) -> tuple[LogicalPlan, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[LogicalPlan, ...]) -> LogicalPlan:
        return replace(self, input=inputs[0])


class SetKind(Enum):
    """Which rows a set operation keeps; the binder turns UNION (distinct) into an Aggregate over UNION ALL."""

    UNION_ALL = "union all"
    """All rows of all branches."""
    INTERSECT = "intersect"
    """Distinct rows that are in both."""
    INTERSECT_ALL = "intersect all"
    """Rows in both, as often as in the side that has fewer."""
    EXCEPT = "except"
    """Distinct rows of the left that are not in the right."""
    EXCEPT_ALL = "except all"
    """Rows of the left, less the right's occurrences."""


@dataclass(frozen=True, slots=True)
class SetOperation(LogicalPlan):
    """Branches of equal types, column by column; names of the first. INTERSECT and EXCEPT have two branches; null equals null."""

    kind: SetKind
    branches: tuple[LogicalPlan, ...]

    @property
    def schema(self) -> pa.Schema:
        return self.branches[0].schema

    def inputs(self) -> tuple[LogicalPlan, ...]:
        return self.branches

    def with_inputs(self, inputs: tuple[LogicalPlan, ...]) -> LogicalPlan:
        return replace(self, branches=inputs)


def walk_plan(plan: LogicalPlan) -> Iterator[LogicalPlan]:
    """The plan and everything below it, parents first (not into subquery expressions)."""
    yield plan
    for child in plan.inputs():
        yield from walk_plan(child)


def transform_plan(plan: LogicalPlan, rewrite: Callable[[LogicalPlan], LogicalPlan]) -> LogicalPlan:
    """Rewrite bottom-up; nodes under which nothing changed are kept as they are."""
    inputs = plan.inputs()
    changed = tuple(transform_plan(child, rewrite) for child in inputs)
    if any(new is not old for new, old in zip(changed, inputs, strict=True)):
        plan = plan.with_inputs(changed)
    return rewrite(plan)
