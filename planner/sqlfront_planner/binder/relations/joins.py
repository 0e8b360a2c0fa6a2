"""Binding of JOIN: its kinds and conditions, and the columns of the joined row."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace
from sqlglot import exp

from sqlfront_engine.join_kinds import FILTERING_JOINS, JoinKind
from sqlfront_planner.binder import outer_columns
from sqlfront_planner.binder.expressions import predicates
from sqlfront_planner.binder.expressions.expression_binder import Clause, ExpressionBinder, unify
from sqlfront_planner.binder.names import shown_names
from sqlfront_planner.binder.protocols import Queries
from sqlfront_planner.binder.scope import Relation, Scope, ScopeColumn
from sqlfront_planner.binder.trees.handlers import failure, refuse_unknown, unsupported
from sqlfront_planner.expressions.rewriting import is_correlated, is_deterministic, shift
from sqlfront_planner.logical import LogicalJoin, ScalarSubquery, Subquery
from sqlfront_planner.tokens.marks import EXPLICIT_CROSS
from sqlfront_values import types
from sqlfront_values.expressions import Call, Expr, walk
from sqlfront_values.types import BOOLEAN

_KINDS: Final = {
    ("", ""): JoinKind.INNER,
    ("", "INNER"): JoinKind.INNER,
    ("", "CROSS"): JoinKind.INNER,
    ("", EXPLICIT_CROSS): JoinKind.INNER,
    ("LEFT", ""): JoinKind.LEFT,
    ("LEFT", "OUTER"): JoinKind.LEFT,
    ("RIGHT", ""): JoinKind.RIGHT,
    ("RIGHT", "OUTER"): JoinKind.RIGHT,
    ("FULL", ""): JoinKind.FULL,
    ("FULL", "OUTER"): JoinKind.FULL,
    ("LEFT", "SEMI"): JoinKind.SEMI,
    ("", "SEMI"): JoinKind.SEMI,
    ("LEFT", "ANTI"): JoinKind.ANTI,
    ("", "ANTI"): JoinKind.ANTI,
}
_CROSS: Final = ("CROSS", EXPLICIT_CROSS)


def join_kind(node: exp.Join) -> JoinKind:
    """Return the kind of join given by the words before JOIN. Raises INCOMPATIBLE_JOIN_TYPES for NATURAL
    CROSS, NotSupportedError for unknown words."""
    refuse_unknown(node, frozenset({"this", "side", "kind", "method", "on", "using", "pivots"}))
    method = _method(node)
    words = (str(node.args.get("side") or "").upper(), str(node.args.get("kind") or "").upper())
    kind = _KINDS.get(words)
    if method and words[1] in _CROSS:
        raise failure("INCOMPATIBLE_JOIN_TYPES", "The join types NATURAL and CROSS are incompatible.", node)
    if kind is None or method not in ("", "NATURAL"):
        raise unsupported(f"{' '.join(word for word in (method, *words) if word)} JOIN", node)
    return kind


def _method(node: exp.Join) -> str:
    """Return ``NATURAL`` for a natural join, else an empty text; :func:`join_kind` has refused other
    words."""
    return str(node.args.get("method") or "").upper()


def bind_join(
    queries: Queries,
    kind: JoinKind,
    left: Relation,
    right: Relation,
    node: exp.Join,
    parent: Scope | None,
) -> Relation:
    """Join two relations on the condition of ON, USING or NATURAL; without any of these, combine all pairs of
    rows. ``parent`` is the scope of the enclosing query.

    Raises JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE, UNRESOLVED_USING_COLUMN_FOR_JOIN.
    """
    using = [item.name for item in node.args.get("using") or []]
    if _method(node):
        if kind in FILTERING_JOINS:
            raise unsupported(f"NATURAL {kind.value.upper()} JOIN", node)
        using = _shared_names(left, right)
    if using:
        return _join_using(left, right, kind, using, queries, node)
    joined = side_by_side(left, right, kind)
    condition = node.args.get("on")
    if condition is None:
        return joined
    both = side_by_side(left, right, JoinKind.INNER) if kind in FILTERING_JOINS else joined
    bound = join_condition(queries, both, condition, parent, left.plan.width)
    plan = joined.plan
    assert isinstance(plan, LogicalJoin)
    return replace(joined, plan=replace(plan, condition=bound))


def join_condition(
    queries: Queries,
    both: Relation,
    condition: exp.Expr,
    parent: Scope | None,
    width: int,
    *,
    is_lateral: bool = False,
) -> Expr:
    """Bind the ``condition`` of ON over ``both``, the joined relations, the left one of which has ``width``
    columns; ``is_lateral``: the right one is LATERAL. Raises JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE, the error
    for a nondeterministic condition, and the errors of :func:`_check_subqueries`."""
    binder = ExpressionBinder(queries, both.scope(parent), Clause.JOIN)
    bound = binder.bind(condition)
    if bound.type != BOOLEAN:
        raise failure(
            "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE",
            f'The join condition "{binder.name(condition)}" has the invalid type '
            f'"{types.sql_name(bound.type)}", expected "BOOLEAN".',
            condition,
        )
    if not is_deterministic(bound) and is_lateral:
        raise failure(
            "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.LATERAL_JOIN_CONDITION_NON_DETERMINISTIC",
            "Unsupported subquery expression: Lateral join condition cannot be non-deterministic:"
            f" {binder.name(condition)}.",
            condition,
        )
    if not is_deterministic(bound):
        raise failure(
            "INVALID_NON_DETERMINISTIC_EXPRESSIONS",
            "The operator expects a deterministic expression, but the actual expression is"
            f' "{binder.name(condition)}".',
            condition,
        )
    if condition.find(exp.Query) is not None:
        _check_subqueries(bound, width, condition)
    return bound


def _check_subqueries(bound: Expr, width: int, condition: exp.Expr) -> None:
    """Raise UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY for a subquery in a join's condition that reads both
    inputs, and for a scalar subquery that reads one. ``width`` is the number of columns of the left input."""
    for item in walk(bound):
        if not isinstance(item, Subquery):
            continue
        sides = {ordinal < width for ordinal in outer_columns.ordinals_read(item)}
        if len(sides) > 1:
            raise failure(
                "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_CORRELATED_EXPRESSION_IN_JOIN_CONDITION",
                "Unsupported subquery expression: Correlated subqueries in the join predicate cannot "
                "reference both join inputs.",
                condition,
            )
        if isinstance(item, ScalarSubquery) and is_correlated(item.plan):
            raise failure(
                "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_CORRELATED_SCALAR_SUBQUERY",
                "Unsupported subquery expression: Correlated scalar subqueries can only be used in filters, "
                "aggregations, projections, and UPDATE/MERGE/DELETE commands.",
                condition,
            )


def side_by_side(left: Relation, right: Relation, kind: JoinKind) -> Relation:
    """Return the join of ``kind`` without a condition. Its columns are those of both relations, or of the
    left relation alone for the kinds that only filter its rows (SEMI, ANTI)."""
    plan = LogicalJoin(left.plan, right.plan, kind)
    if kind in FILTERING_JOINS:
        return Relation(plan, left.columns)
    return Relation(plan, (*left.columns, *_shifted(right.columns, left.plan.width)))


def _shifted(columns: Sequence[ScopeColumn], by: int) -> tuple[ScopeColumn, ...]:
    if by == 0:
        return tuple(columns)
    return tuple(
        [
            ScopeColumn(column.name, shift(column.expression, by), column.qualifier, column.hidden)
            for column in columns
        ]
    )


def _shared_names(left: Relation, right: Relation) -> list[str]:
    """Return the names of the columns that NATURAL JOIN compares, in the order of the left relation, without
    duplicates."""
    theirs = {column.name.lower() for column in right.columns if not column.hidden}
    mine = {column.name.lower(): column.name for column in left.columns if not column.hidden}
    return [name for lowered, name in mine.items() if lowered in theirs]


def _join_using(
    left: Relation,
    right: Relation,
    kind: JoinKind,
    names: list[str],
    queries: Queries,
    node: exp.Join,
) -> Relation:
    """Join by ``USING (a, b)``, whose columns are ``names``. Each pair of compared columns becomes one
    column, before all others; each relation's own column remains reachable by its qualified name."""
    binder = ExpressionBinder(queries, Scope((), 0), Clause.USING)
    ours = [_side_column(left, name, "left", node) for name in names]
    moved = Relation(right.plan, _shifted(right.columns, left.plan.width))
    theirs = [_side_column(moved, name, "right", node) for name in names]
    condition: Expr | None = None
    merged = []
    for name, mine, other in zip(names, ours, theirs, strict=True):
        pair = predicates.comparable(binder, mine.expression, other.expression, node)
        equal = Call(BOOLEAN, "equal", pair)
        condition = equal if condition is None else Call(BOOLEAN, "and", (condition, equal))
        merged.append(_merged(binder, name, mine, other, kind))
    plan = LogicalJoin(left.plan, right.plan, kind, condition)
    rest = [column for column in left.columns if column not in ours]
    if kind in FILTERING_JOINS:
        return Relation(plan, (*ours, *rest))
    hidden = [
        ScopeColumn(column.name, column.expression, column.qualifier, hidden=True)
        for column in (*ours, *theirs)
        if column not in merged
    ]
    return Relation(
        plan, (*merged, *rest, *(column for column in moved.columns if column not in theirs), *hidden)
    )


def _merged(
    binder: ExpressionBinder, name: str, left: ScopeColumn, right: ScopeColumn, kind: JoinKind
) -> ScopeColumn:
    """Return the column ``name`` that USING or NATURAL JOIN makes of two compared columns: for a right join
    the right column; for a full join the first of the two values that isn't null, row by row; else the left
    column."""
    if kind is JoinKind.RIGHT:
        return right
    if kind is JoinKind.FULL:
        both = unify(binder, [left.expression, right.expression])
        assert both is not None
        return ScopeColumn(name, Call(both[0].type, "coalesce", tuple(both)))
    return left


def _side_column(side: Relation, name: str, which: str, node: exp.Join) -> ScopeColumn:
    """Return the first column called ``name`` of ``side``, a relation of a join; ``which`` is "left" or
    "right", for the message. Spark accepts several columns of the name. Raises
    UNRESOLVED_USING_COLUMN_FOR_JOIN if the relation has no such column."""
    match = side.scope().resolve((name,))
    if match is None:
        known = ", ".join(shown_names.quoted((column.name,)) for column in side.columns if not column.hidden)
        raise failure(
            "UNRESOLVED_USING_COLUMN_FOR_JOIN",
            f"USING column {shown_names.quoted((name,))} cannot be resolved on the {which} side of "
            f"the join. The {which}-side columns: [{known}].",
            next((item for item in node.args.get("using") or [] if item.name == name), node),
        )
    return match.columns[0]
