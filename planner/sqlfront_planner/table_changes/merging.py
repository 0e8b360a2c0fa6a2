"""Plans of MERGE: one outer join of the target with the source, whose rows are the changes of the target.

Source: Spark's ``RewriteMergeIntoTable`` and ``MergeRows``. A joined row is about a matching pair, a source
row alone or a target row alone. The first clause about such rows whose condition is true decides about the
row; without any, a target row stays as it is and a source row is ignored. All conditions and values are
computed from the rows before the statement. If the statement has MATCHED clauses, a target row with several
matching source rows is an error, whether or not a clause applies; only for a single unconditional ``WHEN
MATCHED THEN DELETE`` it is none.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from sqlfront_connectors.base import Table
from sqlfront_engine.generators import Generator
from sqlfront_engine.join_kinds import JoinKind
from sqlfront_engine.row_actions import RowAction
from sqlfront_planner.binder.names.shown_names import quoted, unknown_column
from sqlfront_planner.expressions.rewriting import is_random, shift
from sqlfront_planner.logical import (
    LogicalFilter,
    LogicalGenerate,
    LogicalJoin,
    LogicalPlan,
    LogicalProject,
    LogicalScan,
    Subquery,
)
from sqlfront_planner.statements.merge_structs import Merge, MergeAction, MergeClause, MergeRows
from sqlfront_planner.table_changes.assignments import inserted_row, updated_row
from sqlfront_values.errors import InternalError, ProgrammingError, spark_error
from sqlfront_values.expressions import Call, Case, Cast, Column, Expr, Literal, map_columns, walk
from sqlfront_values.types import BIGINT, BOOLEAN, INT, TINYINT, VOID, is_integral, sql_name

#: Spark's name of the ON condition in errors.
SEARCH: Final = "SEARCH"
#: The number that stands for no clause: the row stays as it is.
_NO_CLAUSE: Final = -1
_TRUE: Final = Literal(BOOLEAN, True)
#: The kind of join, by the need for target rows without a match, and for source rows without one.
_KINDS: Final = {
    (False, False): JoinKind.INNER,
    (False, True): JoinKind.RIGHT,
    (True, False): JoinKind.LEFT,
    (True, True): JoinKind.FULL,
}
_ACTIONS: Final = {
    MergeAction.UPDATE: RowAction.UPDATE,
    MergeAction.DELETE: RowAction.DELETE,
    MergeAction.INSERT: RowAction.INSERT,
}


class BoundClause(msgspec.Struct, frozen=True):
    """A clause of MERGE, bound over the target's columns followed by the source's. ``condition``: None =
    always true. ``values``: the new value of each column of the target; empty for DELETE."""

    rows: MergeRows
    action: MergeAction
    condition: Expr | None
    values: tuple[Expr, ...]


class BoundMerge(msgspec.Struct, frozen=True):
    """A bound MERGE: the scan of the target, the plan of the source, the ON condition over the target's
    columns followed by the source's, and the clauses."""

    target: LogicalScan
    source: LogicalPlan
    condition: Expr
    clauses: tuple[BoundClause, ...]

    @property
    def checks_matches(self) -> bool:
        """Whether a target row with several matching source rows is an error."""
        matched = [clause for clause in self.clauses if clause.rows is MergeRows.MATCHED]
        match matched:
            case [BoundClause(action=MergeAction.DELETE, condition=None)]:
                return False
        return bool(matched)

    @property
    def only_inserts(self) -> bool:
        """Whether all rows of the target stay as they are."""
        return all(clause.rows is MergeRows.NOT_MATCHED for clause in self.clauses)

    def has(self, rows: MergeRows) -> bool:
        """Return whether a clause is about such rows."""
        return any(clause.rows is rows for clause in self.clauses)

    def sets(self, columns: Sequence[int]) -> bool:
        """Return whether an UPDATE may change the value of one of the target's ``columns``: it sets the
        column to something else than the column itself or what the ON condition makes equal to the column."""
        same = _equal_to_columns(self.condition)
        for clause in self.clauses:
            if clause.action is MergeAction.UPDATE:
                for place in columns:
                    kept = same.get(place, ()) if clause.rows is MergeRows.MATCHED else ()
                    value = _without_casts(clause.values[place])
                    if value != self.target.row()[place] and value not in kept:
                        return True
        return False


def bound_merge(statement: Merge, pairs: LogicalPlan, source: LogicalPlan, target: LogicalPlan) -> BoundMerge:
    """Put a bound MERGE together from the bound queries of the statement.

    Raises UNSUPPORTED_EXPR_FOR_OPERATOR for aggregate, window and generator functions,
    JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE for another ON condition than a boolean,
    INVALID_NON_DETERMINISTIC_EXPRESSIONS for a condition or value with a random function,
    UNSUPPORTED_MERGE_CONDITION.SUBQUERY for a condition with a subquery, DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN
    for a condition of another type, and the errors of assignments.
    """
    scan, given = _inputs(pairs)
    assert isinstance(pairs, LogicalProject)
    read = _over(source, given.width) if _count(statement.clauses, MergeRows.NOT_MATCHED) else None
    kept = _over(target, scan.width)
    width = scan.width
    visible = width + source.width - _count(statement.clauses, MergeRows.NOT_MATCHED)
    columns = pairs.expressions[:visible]
    items = {
        MergeRows.MATCHED: _Items(pairs, len(columns)),
        MergeRows.NOT_MATCHED: _Items(read, visible - width, lambda item: shift(item, width)),
        MergeRows.NOT_MATCHED_BY_SOURCE: _Items(kept, width),
    }
    on = items[MergeRows.MATCHED].condition(SEARCH)
    parts = []
    for clause in statement.clauses:
        taken = items[clause.rows]
        condition = taken.condition(clause.action.value) if clause.conditional else None
        parts.append((clause, condition, taken.take(clause.assigned or 0)))
    keys = items[MergeRows.NOT_MATCHED_BY_SOURCE].take(
        sum(clause.assigned or 0 for clause in statement.clauses)
    )
    clauses = []
    for clause, condition, values in parts:
        own, keys = keys[: len(values)], keys[len(values) :]
        row = _new_row(statement.name, clause, list(zip(own, values, strict=True)), scan, columns)
        clauses.append(BoundClause(clause.rows, clause.action, condition, tuple(row)))
    return BoundMerge(scan, given, on, tuple(clauses))


class _Items:
    """The expressions of a bound query (None: of none) behind its first columns, taken in order. ``moved``
    makes an expression over the pairs' row of one over the query's row."""

    def __init__(
        self, query: LogicalProject | None, first: int, moved: Callable[[Expr], Expr] = lambda item: item
    ) -> None:
        shown = () if query is None else zip(query.names, query.expressions, strict=True)
        self._pairs = list(shown)[first:]
        self._moved = moved

    def take(self, count: int) -> list[Expr]:
        """Return the next expressions."""
        taken, self._pairs = self._pairs[:count], self._pairs[count:]
        found = [self._moved(item) for _, item in taken]
        for item in found:
            if is_random(item):
                raise spark_error(
                    "INVALID_NON_DETERMINISTIC_EXPRESSIONS",
                    "The operator MergeIntoTable expects a deterministic expression.",
                )
        return found

    def condition(self, name: str) -> Expr:
        """Return the next expression, the condition of ON (``name`` is ``SEARCH``) or of a clause with the
        action ``name``."""
        shown = self._pairs[0][0]
        (item,) = self.take(1)
        if any(isinstance(part, Subquery) for part in walk(item)):
            raise spark_error(
                "UNSUPPORTED_MERGE_CONDITION.SUBQUERY",
                f"MERGE operation contains unsupported {name} condition. Subqueries are not allowed.",
            )
        if name == SEARCH and item.type != BOOLEAN:
            raise ProgrammingError(
                f'The join condition "{shown}" has the invalid type "{sql_name(item.type)}", expected '
                '"BOOLEAN".',
                condition="JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE",
            )
        if item.type == VOID:
            return Literal(BOOLEAN, None)
        if item.type != BOOLEAN:
            raise ProgrammingError(
                f'Filter expression "{shown}" of type "{sql_name(item.type)}" is not a boolean.',
                condition="DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN",
            )
        return item


def _inputs(pairs: LogicalPlan) -> tuple[LogicalScan, LogicalPlan]:
    """Return the scan of the target and the plan of the source."""
    if not isinstance(pairs, LogicalProject) or not isinstance(pairs.input, LogicalJoin):
        raise _unsupported()
    scan = pairs.input.left
    if not isinstance(scan, LogicalScan):
        raise _unsupported()
    if scan.columns != tuple(range(len(scan.table.schema))):
        raise InternalError("a table's columns are bound in their order")
    return scan, pairs.input.right


def _over(query: LogicalPlan, width: int) -> LogicalProject:
    """Return the query as a projection of the relation that it reads, which has ``width`` columns."""
    if not isinstance(query, LogicalProject):
        query = LogicalProject(query, query.row(), tuple(query.schema.names))
    if query.input.width != width:
        raise _unsupported()
    return query


def _unsupported() -> ProgrammingError:
    return ProgrammingError(
        "The query operator MergeIntoTable contains one or more unsupported expressions. Consider to rewrite "
        "it to avoid window functions, aggregate functions, and generator functions in the MergeIntoTable "
        "operator.",
        condition="UNSUPPORTED_EXPR_FOR_OPERATOR",
    )


def _count(clauses: Sequence[MergeClause], rows: MergeRows) -> int:
    """Return the number of expressions that the clauses about such rows have in their query."""
    return sum(clause.conditional + (clause.assigned or 0) for clause in clauses if clause.rows is rows)


def _new_row(
    name: str,
    clause: MergeClause,
    assignments: list[tuple[Expr, Expr]],
    scan: LogicalScan,
    columns: tuple[Expr, ...],
) -> list[Expr]:
    """Return the value of each column of the target after the clause. ``columns``: the visible columns of a
    pair."""
    schema, width = scan.table.schema, scan.width
    if clause.action is MergeAction.DELETE:
        return []
    if clause.assigned is None:
        given = columns[width:]
        assignments = [(key, _same_name(key.name, given)) for key in scan.row()]
    if clause.action is MergeAction.INSERT:
        return inserted_row(schema, assignments, name)
    return updated_row(schema, scan.row(), assignments, name)


def _same_name(name: str, columns: Sequence[Expr]) -> Expr:
    """Return the source's column of that name, case-insensitive. Raises UNRESOLVED_COLUMN if there is none,
    AMBIGUOUS_REFERENCE for several."""
    names = [column.name if isinstance(column, Column) else "" for column in columns]
    found = [column for column, known in zip(columns, names, strict=True) if known.lower() == name.lower()]
    if not found:
        raise spark_error(*unknown_column((name,), [(known,) for known in names]))
    if len(found) > 1:
        raise spark_error(
            "AMBIGUOUS_REFERENCE",
            f"Reference {quoted((name,))} is ambiguous, {len(found)} columns of the source have this name.",
        )
    return found[0]


def _equal_to_columns(condition: Expr) -> dict[int, list[Expr]]:
    """Return for columns (by ordinal) the expressions that equal them in all rows for which the condition is
    true."""
    found: dict[int, list[Expr]] = {}
    items = [condition]
    for item in items:  # grows
        if not isinstance(item, Call):
            continue
        if item.function == "and":
            items += item.arguments
        elif item.function in ("equal", "equal_null_safe"):
            left, right = map(_without_casts, item.arguments)
            # Invariant: a value that equals the column is the column's value again when cast to its type.
            if left.type == right.type or (is_integral(left.type) and is_integral(right.type)):
                for one, other in ((left, right), (right, left)):
                    if isinstance(one, Column):
                        found.setdefault(one.ordinal, []).append(other)
    return found


def _without_casts(expression: Expr) -> Expr:
    while isinstance(expression, Cast):
        expression = expression.operand
    return expression


# ---- the plan


def changes(merge: BoundMerge, numbered: Table, homes: tuple[int, ...]) -> LogicalPlan:
    """Plan the changes that a MERGE makes in a memory table. The rows have the columns of ``numbered``, which
    are the table's columns and, last, the row number by which the table finds the row again; then a
    :class:`~sqlfront_engine.row_actions.RowAction`. ``homes``: the ordinals of the columns that tell a row's
    member: UPDATE becomes MOVE and INSERT if it may change one of the table's columns among them."""
    scan = merge.target
    places = tuple(range(len(numbered.schema)))
    rows = replace(scan, table=numbered, snapshot=numbered.snapshot(), columns=places)
    plan = _actions(merge, rows, keeps=False)
    own = tuple(place for place in homes if place < scan.width)
    return _split_moves(merge, plan, scan.width) if merge.sets(own) else _without_old(plan, scan.width)


def all_rows(merge: BoundMerge) -> LogicalPlan:
    """Plan all rows of the target as they are after a MERGE, and the rows that vanish; only the new rows if
    the statement changes no others. The columns are the target's, then a number that is different for each
    target row (null for an inserted row), then a :class:`~sqlfront_engine.row_actions.RowAction`."""
    scan = merge.target
    number = Call(BIGINT, "monotonically_increasing_id", ())
    rows = LogicalProject(scan, (*scan.row(), number), (*scan.schema.names, "number"))
    return _without_old(_actions(merge, rows, keeps=not merge.only_inserts), scan.width)


def _actions(merge: BoundMerge, rows: LogicalPlan, *, keeps: bool) -> LogicalProject:
    """Join the target ``rows``, whose last column is never null, with the source. The result has the columns
    of ``rows`` with their new values, the action, and the old values of the target's columns. ``keeps``: the
    result has the target rows that stay as they are, too."""
    width, extended = merge.target.width, rows.width
    source = merge.source
    marked = LogicalProject(source, (*source.row(), _TRUE), (*source.schema.names, "source"))

    def moved(item: Expr) -> Expr:
        """Return the expression over the joined row."""
        return _moved(item, width, extended - width)

    joined = _joined(merge, rows, marked, moved(merge.condition), keeps=keeps)
    row = joined.row()
    has_target = Call(BOOLEAN, "isnotnull", (row[extended - 1],))
    has_source = Call(BOOLEAN, "isnotnull", (row[-1],))
    number = _clause_number(merge, has_target, has_source, moved)
    numbered = LogicalProject(joined, (*row, number), tuple(map(str, range(len(row) + 1))))
    clause = numbered.row()[-1]
    wanted = Call(BOOLEAN, "greater_equal", (clause, Literal(INT, 0)))
    if keeps:
        wanted = Call(BOOLEAN, "or", (wanted, has_target))
    elif merge.checks_matches:
        wanted = Call(BOOLEAN, "or", (wanted, Call(BOOLEAN, "and", (has_target, has_source))))
    kept = LogicalFilter(numbered, wanted)
    values = [
        _by_clause(
            clause,
            [moved(each.values[place]) if each.values else row[place] for each in merge.clauses],
            row[place],
        )
        for place in range(width)
    ]
    extra: list[Expr] = list(row[width:extended])
    if len(extra) > 1:  # the home of a row without a partition key
        extra[0] = Call(BIGINT, "coalesce", (extra[0], _home(values)))
    action = _by_clause(
        clause,
        [Literal(TINYINT, _ACTIONS[each.action].value) for each in merge.clauses],
        Literal(TINYINT, RowAction.KEEP.value),
    )
    items = (*values, *extra, action, *row[:width])
    return LogicalProject(kept, items, tuple(map(str, range(len(items)))))


def _moved(item: Expr, width: int, by: int) -> Expr:
    """Return the expression for a row with ``by`` more columns behind the first ``width`` columns."""

    def move(column: Column) -> Column:
        place = column.ordinal if column.ordinal < width else column.ordinal + by
        return Column(column.type, place, column.name)

    return map_columns(item, move)


def _joined(
    merge: BoundMerge, target: LogicalPlan, source: LogicalPlan, condition: Expr, *, keeps: bool
) -> LogicalPlan:
    """Join the target with the source on the condition; the result has the columns of both, and the rows that
    the clauses are about. ``keeps``: the result has all rows of the target."""
    pairs = merge.has(MergeRows.MATCHED)
    targets = keeps or merge.has(MergeRows.NOT_MATCHED_BY_SOURCE)
    sources = merge.has(MergeRows.NOT_MATCHED)
    if not pairs and not targets:
        return _unmatched(target, source, condition)
    kind = _KINDS[targets, sources]
    return LogicalJoin(target, source, kind, condition)


def _unmatched(target: LogicalPlan, source: LogicalPlan, condition: Expr) -> LogicalPlan:
    """Return the rows of the source that match no row of the target, behind nulls for the target's
    columns."""
    width, first = target.width, source.width

    def swap(column: Column) -> Column:
        place = column.ordinal + first if column.ordinal < width else column.ordinal - width
        return Column(column.type, place, column.name)

    rows = LogicalJoin(source, target, JoinKind.ANTI, map_columns(condition, swap))
    nulls = [Literal(column.type, None) for column in target.row()]
    return LogicalProject(rows, (*nulls, *rows.row()), (*target.schema.names, *source.schema.names))


def _clause_number(
    merge: BoundMerge, has_target: Expr, has_source: Expr, moved: Callable[[Expr], Expr]
) -> Expr:
    """Return the number of the clause that decides about a joined row, :data:`_NO_CLAUSE` for none."""

    def first(rows: MergeRows) -> Expr:
        branches = tuple(
            (_TRUE if clause.condition is None else moved(clause.condition), Literal(INT, number))
            for number, clause in enumerate(merge.clauses)
            if clause.rows is rows
        )
        return Case(INT, branches, none) if branches else none

    none = Literal(INT, _NO_CLAUSE)
    pair = Call(BOOLEAN, "and", (has_target, has_source))
    branches = (
        (pair, first(MergeRows.MATCHED)),
        (has_source, first(MergeRows.NOT_MATCHED)),
        (has_target, first(MergeRows.NOT_MATCHED_BY_SOURCE)),
    )
    return Case(INT, branches, none)


def _by_clause(clause: Expr, values: Sequence[Expr], otherwise: Expr) -> Expr:
    """Return the one of the values that has the number ``clause``, ``otherwise`` for no clause."""
    branches = tuple(
        (Call(BOOLEAN, "equal", (clause, Literal(INT, number))), value)
        for number, value in enumerate(values)
        if value != otherwise
    )
    return Case(otherwise.type, branches, otherwise) if branches else otherwise


def _home(values: Sequence[Expr]) -> Expr:
    """Return an integer for a new row of a table without a partition key, whose hash says which member gets
    the row: the hash of the row's values."""
    hashed = tuple(value for value in values if not pa.types.is_nested(value.type))
    return Call(BIGINT, "xxhash64", hashed) if hashed else Literal(BIGINT, 0)


def _without_old(plan: LogicalProject, width: int) -> LogicalPlan:
    """Return the plan without the old values of the ``width`` columns of the target, its last columns."""
    count = plan.width - width
    return LogicalProject(plan.input, plan.expressions[:count], plan.names[:count])


def _split_moves(merge: BoundMerge, plan: LogicalProject, width: int) -> LogicalPlan:
    """Return the plan with a MOVE of the old row and an INSERT of the new one in place of each UPDATE, so
    that both rows can be sent to their own members; without the old values."""
    row = plan.row()
    action, number = row[-width - 1], row[-width - 2]
    kind = pa.list_(TINYINT)
    move, insert = (Literal(TINYINT, each.value) for each in (RowAction.MOVE, RowAction.INSERT))
    is_update = Call(BOOLEAN, "equal", (action, Literal(TINYINT, RowAction.UPDATE.value)))
    both = Call(kind, "array", (move, insert))
    parts = Case(kind, ((is_update, both),), Call(kind, "array", (action,)))
    split = LogicalGenerate(plan, Generator.EXPLODE, (parts,), False, ("part",), (TINYINT,))
    part = split.row()[-1]
    is_move, is_insert = (Call(BOOLEAN, "equal", (part, each)) for each in (move, insert))
    old = row[len(row) - width :]
    values = [Case(new.type, ((is_move, before),), new) for new, before in zip(row, old, strict=False)]
    placed = Case(BIGINT, ((is_insert, Literal(BIGINT, None)),), number)
    items = (*values, *row[width : -width - 2], placed, part)
    return LogicalProject(split, items, tuple(map(str, range(len(items)))))
