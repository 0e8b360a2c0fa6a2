"""Binding of WITH RECURSIVE: the reference of a common table expression to itself, and Spark's rules for it.

Spark allows the reference in the second branch of a UNION ALL that is the whole query, and there in no
aggregation, window or sort, and on no side of a join whose missing rows the join would show.
"""

from typing import Final

import msgspec
import pyarrow as pa
from sqlglot import exp

from sqlfront_engine.join_kinds import JoinKind
from sqlfront_planner import types as coercion
from sqlfront_planner.binder.context import BindSettings
from sqlfront_planner.binder.scope import BoundQuery
from sqlfront_planner.binder.trees.handlers import failure, span
from sqlfront_planner.coercion import Coercion
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalJoin,
    LogicalPlan,
    LogicalScan,
    LogicalSort,
    LogicalWindow,
    Subquery,
)
from sqlfront_planner.recursion import LevelRows, level_scan
from sqlfront_planner.shared_rows import SharedRows
from sqlfront_planner.tokens.marks import RecursionMark
from sqlfront_values import types
from sqlfront_values.errors import ProgrammingError, spark_error
from sqlfront_values.expressions import walk

#: For each kind of join, the sides on which the reference may stand: the left one, the right one.
_SIDES: Final = {
    JoinKind.INNER: (True, True),
    JoinKind.LEFT: (True, False),
    JoinKind.SEMI: (True, False),
    JoinKind.ANTI: (True, False),
    JoinKind.RIGHT: (False, True),
}

#: The greatest number that MAX RECURSION LEVEL takes: the largest INT.
_MOST_LEVELS: Final = 2**31 - 1


class SelfReference(msgspec.Struct):
    """The name of a recursive common table expression inside of its own query. ``name`` is as written.

    While the anchor is bound, ``level`` is None, and no reference is allowed. Then it is the table of the
    rows of the level before, with columns called ``names``. ``uses`` counts the references."""

    name: str
    level: LevelRows | None = None
    names: tuple[str, ...] = ()
    uses: int = 0

    def read(self) -> BoundQuery:
        """Return the query that a reference stands for. Raises INVALID_RECURSIVE_CTE where no reference is
        allowed."""
        if self.level is None:
            raise invalid_recursion()
        self.uses += 1
        return BoundQuery(level_scan(self.level), self.names)

    def begin_step(self, anchor: BoundQuery, names: tuple[str, ...]) -> LevelRows:
        """Allow references, to the rows of a level with the columns of ``anchor``, called ``names``; return
        the table of these rows."""
        row = anchor.plan.row()
        fields = [(name, column.type) for name, column in zip(names, row, strict=True)]
        self.level, self.names = LevelRows(self.name, pa.schema(fields)), names
        return self.level


def invalid_recursion() -> Exception:
    """Return Spark's error for a recursion of another form than a UNION ALL of an anchor and a step."""
    return spark_error(
        "INVALID_RECURSIVE_CTE",
        "Invalid recursive definition found. Recursive queries must contain an UNION or an UNION ALL "
        "statement with 2 children. The first child needs to be the anchor term without any recursive "
        "references. Any top level inner CTE must not contain self references.",
    )


def distinct_recursion(node: exp.Expr) -> Exception:
    """Return Spark's error for a recursion by UNION without ALL."""
    return failure(
        "UNION_NOT_SUPPORTED_IN_RECURSIVE_CTE",
        "The UNION operator is not yet supported within recursive common table expressions (WITH clauses "
        "that refer to themselves, directly or indirectly). Please use UNION ALL instead.",
        node,
    )


def check_places(step: LogicalPlan, level: LevelRows, node: exp.Expr, name: str) -> None:
    """Raise INVALID_RECURSIVE_REFERENCE.PLACE if the plan of the step, bound from ``node``, reads ``level``
    in a place where Spark allows no reference. ``name``: the name of the common table expression."""
    if _Places(level.key, _has_groups(node, name)).is_misplaced(step, True):
        raise spark_error(
            "INVALID_RECURSIVE_REFERENCE.PLACE",
            "Invalid recursive reference found inside WITH RECURSIVE clause. Recursive references cannot be "
            "used on the right side of left outer/semi/anti joins, on the left side of right outer joins, in "
            "full outer joins, in aggregates, window functions or sorts",
        )


def _has_groups(node: exp.Expr, name: str) -> bool:
    """Return whether a SELECT with GROUP BY reads the common table expression ``name``, or a common table
    expression of its step. In the plan, a GROUP BY of all columns looks like DISTINCT, which is allowed."""
    names = {name.lower(), *(item.alias.lower() for item in node.find_all(exp.CTE))}
    return any(
        select.args.get("group") is not None
        and any(table.name.lower() in names for table in select.find_all(exp.Table))
        for select in node.find_all(exp.Select)
    )


class _Places(msgspec.Struct, frozen=True):
    """A walk over the plan of a step. ``key``: the key of the rows of the level before. ``groups``: whether
    an aggregation without calls may be one by GROUP BY."""

    key: str
    groups: bool

    def is_misplaced(self, plan: LogicalPlan, allowed: bool) -> bool:
        """Return whether the plan reads the level in a wrong place; ``allowed``: whether the plan itself
        stands in a right one."""
        match plan:
            case LogicalScan(table=LevelRows() as level):
                return not allowed and level.key == self.key
            case LogicalScan(table=SharedRows() as shared):
                return self.is_misplaced(shared.plan, allowed)
            case LogicalJoin(kind=kind):
                left, right = _SIDES.get(kind, (False, False))
                sides = [allowed and left, allowed and right]
            case LogicalAggregate() if self.groups or plan.calls or plan.keys != plan.input.row():
                sides = [False]
            case LogicalWindow() | LogicalSort():
                sides = [False]
            case _:
                sides = [allowed] * len(plan.inputs())
        inputs = zip(plan.inputs(), sides, strict=True)
        if any(self.is_misplaced(child, side) for child, side in inputs):
            return True
        below = allowed and not isinstance(plan, LogicalAggregate | LogicalWindow)
        return any(
            self.is_misplaced(item.plan, below)
            for operand in plan.operands()
            for item in walk(operand)
            if isinstance(item, Subquery)
        )


def common_types(rules: Coercion, anchor: LogicalPlan, step: LogicalPlan) -> list[pa.DataType]:
    """Return the types of the anchor's columns, to which the columns of the step are cast, by the session's
    ``rules``. Raises
    CANNOT_MERGE_INCOMPATIBLE_DATA_TYPE if a column of the step has a type that isn't narrower."""
    kinds = []
    for mine, other in zip(anchor.row(), step.row(), strict=True):
        common = rules.wider_type(mine.type, other.type)
        if common != mine.type and not coercion.same_but_for_names(mine.type, other.type):
            raise spark_error(
                "CANNOT_MERGE_INCOMPATIBLE_DATA_TYPE",
                f'Failed to merge incompatible data types "{types.sql_name(mine.type)}" and '
                f'"{types.sql_name(other.type)}". Please check the data types of the columns being merged '
                "and ensure that they are compatible. If necessary, consider casting the columns to "
                "compatible data types before attempting the merge.",
            )
        kinds.append(mine.type)
    return kinds


def limits_of(name: object, settings: BindSettings) -> tuple[int, int]:
    """Return the most levels and the most rows of the recursive common table expression ``name``, the value
    of its identifier: by MAX RECURSION LEVEL, else by the session's settings."""
    if not isinstance(name, RecursionMark):
        return settings.recursion_levels, settings.recursion_rows
    if int(name.level) > _MOST_LEVELS:
        raise ProgrammingError(f'For input string: "{name.level}"')
    return int(name.level), settings.recursion_rows


def refuse_limit(name: exp.Expr) -> None:
    """Raise Spark's error for MAX RECURSION LEVEL in a WITH without RECURSIVE; ``name``: the identifier of a
    common table expression."""
    if isinstance(name.this, RecursionMark):
        raise ProgrammingError(
            "Operation not allowed: Cannot specify MAX RECURSION LEVEL when the CTE is not marked as "
            "RECURSIVE.",
            position=span(name),
        )
