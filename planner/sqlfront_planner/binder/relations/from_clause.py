"""Binding of the items of FROM: tables, views, files by path, derived tables, VALUES and common table
expressions.

:mod:`.joins` combines the relations.
"""

from collections.abc import Set
from typing import Final

import pyarrow as pa
from msgspec.structs import replace
from sqlglot import exp

from sqlfront_connectors.base import Table
from sqlfront_engine.join_kinds import JoinKind
from sqlfront_planner import types as coercion
from sqlfront_planner.binder import pipe_steps
from sqlfront_planner.binder.expressions.arguments import function_name
from sqlfront_planner.binder.expressions.expression_binder import Clause, ExpressionBinder, cast_to
from sqlfront_planner.binder.expressions.literals import literal_of
from sqlfront_planner.binder.generator_calls import table_generator_of
from sqlfront_planner.binder.names import shown_names
from sqlfront_planner.binder.names.spark_functions import CALLABLE, IN_FROM
from sqlfront_planner.binder.protocols import Queries
from sqlfront_planner.binder.relations import (
    joins,
    lateral_subqueries,
    laterals,
    pivots,
    samples,
    table_functions,
)
from sqlfront_planner.binder.relations.aliases import aliased, wrong_arity
from sqlfront_planner.binder.relations.view_columns import as_created
from sqlfront_planner.binder.routines import tables as routine_tables
from sqlfront_planner.binder.scope import BoundQuery, Relation, Scope, relation
from sqlfront_planner.binder.trees.handlers import failure, refuse_unknown, span, unparenthesized, unsupported
from sqlfront_planner.binder.view_zones import refuse_other_zone
from sqlfront_planner.catalog import TableEntry, ViewEntry
from sqlfront_planner.expressions.rewriting import holds_outer_column, is_deterministic
from sqlfront_planner.logical import LogicalPlan, LogicalScan, LogicalValues
from sqlfront_planner.routines import Routine
from sqlfront_planner.shared_rows import varies_by_order_only
from sqlfront_planner.statements.query_parser import parse_query
from sqlfront_planner.tokens.marks import FUNCTION_MARK
from sqlfront_values import types
from sqlfront_values.errors import Error, ProgrammingError
from sqlfront_values.expressions import Expr
from sqlfront_values.room import check
from sqlfront_values.types import VOID, is_string


def bind_from(queries: Queries, select: exp.Expr, parent: Scope | None) -> Relation:
    """Bind the FROM clause and the joins of a SELECT to a relation; ``parent`` is the scope of the enclosing
    query, whose columns conditions of joins may read.

    A comma binds like JOIN, unlike in standard SQL: ``a, b RIGHT JOIN c`` joins a and b first.
    """
    source = select.args["from_"]
    refuse_unknown(source, frozenset({"this"}))
    if (routine := _lateral_routine(queries, source.this)) is not None:
        result = aliased(routine_tables.routine_relation(queries, *routine), source.this)
    elif _is_lateral_generator(source.this):
        result = laterals.lateral_table(queries, None, source.this)
    elif isinstance(source.this, exp.Lateral):
        result = _lateral(queries, source.this, queries.enclosing)
    else:
        result = bind_relation(queries, source.this)
    for join in select.args.get("joins") or []:
        result = _joined(queries, result, join, parent)
    return result


def bind_relation(queries: Queries, node: exp.Expr) -> Relation:
    """Bind one item of FROM, a table, a query in parentheses or VALUES, to a relation. Raises
    NotSupportedError for any other item."""
    source = _relation(queries, node)
    return pivots.with_pivots(queries, source, node) if node.args.get("pivots") else source


def _relation(queries: Queries, node: exp.Expr) -> Relation:
    """Bind one item of FROM without its PIVOT and UNPIVOT clauses."""
    source = _whole_relation(queries, node)
    sample = node.args.get("sample")
    return samples.sampled(queries, source, sample) if sample is not None else source


def _whole_relation(queries: Queries, node: exp.Expr) -> Relation:
    """Bind one item of FROM without its PIVOT, UNPIVOT and TABLESAMPLE clauses."""
    match node:
        case exp.Table():
            return _table(queries, node)
        case exp.Subquery():
            return _derived(queries, node)
        case exp.Values():
            refuse_unknown(node, frozenset({"expressions", "alias", "pivots"}))
            return aliased(inline_table(queries, node), node, rename_values=True)
        case exp.Lateral():
            raise unsupported("LATERAL VIEW" if node.args.get("view") else "LATERAL in this place", node)
        case _:
            raise unsupported(f"{type(node).__name__.upper()} in FROM", node)


def _is_lateral_generator(node: exp.Expr) -> bool:
    """Return whether an item of FROM is LATERAL before a call of a function."""
    return isinstance(node, exp.Lateral) and isinstance(node.this, exp.Anonymous)


def _joined(queries: Queries, left: Relation, node: exp.Join, parent: Scope | None) -> Relation:
    """Bind a join, or a comma. A PIVOT behind it is one of the joined rows, in Spark also behind a comma."""
    if (routine := _lateral_routine(queries, node.this)) is not None:
        scope = left.scope(parent)
        try:
            right = aliased(routine_tables.routine_relation(queries, *routine, scope), node.this)
        except ProgrammingError as error:
            raise laterals.without_suggestion(error, scope, routine[1]) from None
        return lateral_subqueries.join_subquery(queries, left, right, node, parent)
    is_lateral = _is_lateral_generator(node.this)
    if isinstance(node.this, exp.Lateral) and not is_lateral:
        return _join_lateral(queries, left, node, parent)
    if str(node.args.get("kind") or "") == "CROSS":
        if is_lateral:
            refuse_unknown(node, frozenset({"this", "kind"}))
            return laterals.lateral_table(queries, left, node.this)
        refuse_unknown(node, frozenset({"this", "kind", "pivots"}))
        result = joins.side_by_side(left, _relation(queries, node.this), JoinKind.INNER)
    elif is_lateral:
        return laterals.lateral_join(queries, left, node, parent)
    else:
        kind = joins.join_kind(node)
        result = joins.bind_join(queries, kind, left, _relation(queries, node.this), node, parent)
    for clauses in (node.this, node):
        if clauses.args.get("pivots"):
            result = pivots.with_pivots(queries, result, clauses)
    return result


def _lateral_routine(queries: Queries, node: exp.Expr) -> tuple[Routine, exp.Anonymous] | None:
    """Return the user's table function that an item ``LATERAL f(...)`` of FROM calls, and the call; None for
    any other item."""
    if not isinstance(node, exp.Lateral) or node.args.get("view"):
        return None
    call = node.this
    is_own = isinstance(call, exp.Dot) or (
        isinstance(call, exp.Anonymous) and function_name(call) not in IN_FROM | CALLABLE
    )
    if not is_own:
        return None
    refuse_unknown(node, frozenset({"this", "alias"}))
    return routine_tables.table_routine(queries, call)


def _join_lateral(queries: Queries, left: Relation, node: exp.Join, parent: Scope | None) -> Relation:
    """Bind a join with a LATERAL subquery, or a comma before it. A PIVOT behind it is one of the joined
    rows."""
    right = _lateral(queries, node.this, left.scope(parent))
    result = lateral_subqueries.join_subquery(queries, left, right, node, parent)
    for clauses in (node.this.this, node.this, node):
        if clauses.args.get("pivots"):
            result = pivots.with_pivots(queries, result, clauses)
    return result


def _lateral(queries: Queries, node: exp.Lateral, scope: Scope | None) -> Relation:
    """Bind ``LATERAL (SELECT ...) AS t(a, b)`` over the ``scope`` of the row that the subquery reads; None if
    there is none. Raises INVALID_SQL_SYNTAX.LATERAL_WITHOUT_SUBQUERY_OR_TABLE_VALUED_FUNC."""
    refuse_unknown(node, frozenset({"this", "alias", "pivots"}))
    inner = node.this
    if not isinstance(inner, exp.Identifier | exp.Subquery):
        raise unsupported("LATERAL in this place", node)
    if not isinstance(inner, exp.Subquery) or isinstance(inner.this, exp.Table):
        raise failure(
            "INVALID_SQL_SYNTAX.LATERAL_WITHOUT_SUBQUERY_OR_TABLE_VALUED_FUNC",
            "Invalid SQL syntax: LATERAL can only be used with subquery and table-valued functions.",
            node,
        )
    refuse_unknown(inner, _DERIVED - {"sample", "alias"} | _QUERY_CLAUSES)
    query = _with_modifiers(inner)
    bound = queries.bind(query) if scope is None else queries.within(query, scope)
    return aliased(Relation(bound.plan, relation(bound.names, bound.plan.row())), node)


# ---- tables


def _table(queries: Queries, node: exp.Table) -> Relation:
    if isinstance(node.this, exp.Anonymous):
        refuse_unknown(node, frozenset({"this", "db", "catalog", "alias", "pivots", "sample"}))
        is_qualified = bool(node.args.get("db") or node.args.get("catalog"))
        if not is_qualified and (call := table_generator_of(node.this)) is not None:
            return laterals.table_of_generator(queries, call, node)
        if is_qualified or function_name(node.this) not in IN_FROM:
            found = routine_tables.table_routine(queries, node)
            if found is not None:
                return aliased(routine_tables.routine_relation(queries, *found), node)
        table_of = table_functions.table_function(queries, node.this, node)
        return aliased(_scan(queries, table_of, "range", ()), node)
    refuse_unknown(node, frozenset({"this", "db", "catalog", "alias", "pivots", "sample"}))
    parts = tuple(part.name for part in node.parts)
    if len(parts) == 1:
        common = queries.common_table(parts[0])
        if common is not None:
            return aliased(Relation(common.plan, relation(common.names, common.plan.row(), parts)), node)
    context = queries.context
    entry = context.catalog.lookup(parts)
    if entry is not None and entry.temporary:
        context.temporary.append(entry.name)
    if isinstance(entry, ViewEntry):
        context.relations.append(entry.name)
        return aliased(_view(queries, entry, node), node)
    if isinstance(entry, TableEntry):
        context.relations.append(entry.name)
        return aliased(_scan(queries, entry.table, entry.name, entry.qualifier), node)
    try:
        table = context.path_table(parts)
    except Error as error:
        error.position = error.position or span(node)
        raise
    if table is None:
        raise _not_found(queries, parts, node)
    name = f"{parts[0].lower()}.`{parts[1]}`"
    return aliased(_scan(queries, table, name, (parts[0].lower(), parts[1].lower())), node)


def _scan(queries: Queries, table: Table, name: str, qualifier: tuple[str, ...]) -> Relation:
    plan = LogicalScan(name, table, queries.context.snapshot(table), tuple(range(len(table.schema))))
    row = plan.row()
    return Relation(plan, relation([column.name for column in row], row, qualifier))


def _view(queries: Queries, entry: ViewEntry, node: exp.Table) -> Relation:
    bound = _view_query(queries, entry, node)
    names = entry.columns or bound.names
    if len(names) != bound.plan.width:
        raise wrong_arity(bound.plan.width, len(names), node)
    plan = bound.plan
    if _view_key(entry) in queries.context.views:
        plan = queries.context.shared(plan, entry.name)
    return Relation(plan, relation(names, plan.row(), entry.qualifier))


def _view_query(queries: Queries, entry: ViewEntry, node: exp.Table) -> BoundQuery:
    """Bind a view's query, anew for each use of the view: two uses draw different random numbers, as in
    Spark. If the order of computation is all by which uses might differ (such as the order in which floats
    are added), all uses share one plan. Raises RECURSIVE_VIEW for a view that reads itself."""
    context = queries.context
    name = _view_key(entry)
    if name in context.views:
        return context.views[name]
    if name in context.views_open:
        raise failure("RECURSIVE_VIEW", f"Recursive view {shown_names.quoted((entry.name,))} detected.", node)
    before, catalog, literals = context.views_open, context.catalog, context.literals
    settings, zone = context.settings, entry.time_zone or context.zone
    ansi = settings.ansi if entry.ansi is None else entry.ansi
    sees_variables = context.sees_variables
    context.views_open, context.literals = (*before, name), {}  # positions refer to the view's text
    context.catalog, context.settings = catalog.seen_by(entry), replace(settings, time_zone=zone, ansi=ansi)
    context.sees_variables = sees_variables and entry.temporary
    try:
        bound = queries.alone().bind(parse_query(entry.sql).tree)
        if ansi != settings.ansi:
            bound = BoundQuery(_in_own_mode(queries, bound.plan, entry), bound.names)
    finally:
        context.views_open, context.catalog, context.literals = before, catalog, literals
        context.settings, context.sees_variables = settings, sees_variables
    if zone != context.zone:
        refuse_other_zone(entry.name, bound.plan)
    plan = as_created(bound.plan, bound.names, entry)
    if plan is not bound.plan:
        bound = BoundQuery(plan, tuple(plan.schema.names))
    if varies_by_order_only(bound.plan):
        context.views[name] = bound
    return bound


def _in_own_mode(queries: Queries, plan: LogicalPlan, entry: ViewEntry) -> LogicalPlan:
    """Return the plan of a view that was made in another mode (ANSI on or off) than the mode of the query
    that reads it: the operations of a mode off are set now, those of a mode on are kept from the query's mode
    in a plan of their own."""
    context = queries.context
    return context.shared(plan, entry.name) if context.settings.ansi else context.settled(plan)


def _view_key(entry: ViewEntry) -> str:
    """Return the key of a view among the statement's views; temporary and permanent views of one name have
    different keys."""
    return f"{'temporary ' if entry.temporary else ''}{entry.name.lower()}"


def _not_found(queries: Queries, parts: tuple[str, ...], node: exp.Expr) -> Exception:
    known = [*queries.common_names(), *queries.context.catalog.names()]
    return failure(*shown_names.unknown_relation(parts, known), node)


# ---- derived tables


_DERIVED: Final = frozenset({"this", "alias", "pivots", "sample"})
_QUERY_CLAUSES: Final = frozenset({"with_", "order", "limit", "offset"})


def _derived(queries: Queries, node: exp.Subquery) -> Relation:
    """Bind ``(SELECT ...) AS t(a, b)``, or a relation or a join in parentheses."""
    inner = node.this
    if isinstance(inner, exp.Table | exp.Subquery | exp.Values) and not _is_query(inner):
        refuse_unknown(node, _DERIVED)
        return aliased(_parenthesized(queries, inner), node)
    refuse_unknown(node, _DERIVED | _QUERY_CLAUSES)
    bound = queries.bind(_with_modifiers(node), queries.enclosing)
    if pipe_steps.mark_of(node) is not None:
        queries.context.has_merged |= node.find(exp.Join) is not None
        return Relation(bound.plan, pipe_steps.columns_of(bound))
    return aliased(Relation(bound.plan, relation(bound.names, bound.plan.row())), node)


def _is_query(node: exp.Expr) -> bool:
    return isinstance(node, exp.Subquery) and not any(
        map(node.args.get, ("alias", "joins", "pivots", "sample"))
    )


def _with_modifiers(node: exp.Subquery) -> exp.Expr:
    """Return the query inside of the parentheses; the node itself if the parentheses have a WITH, ORDER BY,
    LIMIT or OFFSET of their own."""
    return node if any(map(node.args.get, _QUERY_CLAUSES)) else node.this


def _parenthesized(queries: Queries, node: exp.Expr) -> Relation:
    """Bind joins in parentheses, ``(a JOIN b ON ...)``, whose joins sqlglot attaches to the node of the first
    table."""
    following = node.args.get("joins") or []
    if not following:
        return bind_relation(queries, node)
    first = node.copy()
    first.set("joins", None)
    group = bind_relation(queries, first)
    for join in following:
        group = _joined(queries, group, join, queries.enclosing)
    return group


# ---- VALUES


#: Functions that Spark replaces by other expressions after it evaluates VALUES.
_NOT_IN_VALUES: Final = frozenset(
    FUNCTION_MARK + name for name in ("nullif", "nullifzero", "zeroifnull", "array_compact")
)


def inline_table(queries: Queries, node: exp.Values) -> Relation:
    """Bind ``VALUES (1, 'a'), (2, 'b')`` to a relation with the columns ``col1``, ``col2``, ... Raises
    INVALID_INLINE_TABLE for rows of different lengths, values of incompatible types and nondeterministic
    values."""
    for value in node.find_all(exp.Between, exp.Anonymous):
        if isinstance(value, exp.Between) or str(value.this).lower() in _NOT_IN_VALUES:
            raise unsupported("An expression that Spark doesn't evaluate in VALUES", value)
    binder = ExpressionBinder(queries, Scope((), 0, queries.enclosing), Clause.VALUES)
    check()
    rows = [[literal_of(part) or binder.bind(part) for part in _row_parts(row)] for row in node.expressions]
    width = len(rows[0])
    values = [value for row in rows for value in row]
    varies = not all(map(is_deterministic, values))
    if varies or (queries.enclosing is not None and any(map(holds_outer_column, values))):
        what = "a nondeterministic expression" if varies else "a column of the enclosing query"
        raise failure(
            "INVALID_INLINE_TABLE.CANNOT_EVALUATE_EXPRESSION_IN_INLINE_TABLE",
            f"Invalid inline table. Cannot evaluate {what} in inline table definition.",
            node,
        )
    for place, row in enumerate(rows):
        if len(row) != width:
            raise failure(
                "INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH",
                f"Invalid inline table. Inline table expected {width} columns but found {len(row)} columns "
                f"in row {place}.",
                node,
            )
    columns = [
        _inline_column([row[place] for row in rows], f"col{place + 1}", node) for place in range(width)
    ]
    schema = pa.schema([(f"col{place}", column[0].type) for place, column in enumerate(columns, 1)])
    plan = LogicalValues(schema, tuple(zip(*columns, strict=True)))
    return Relation(plan, relation(schema.names, plan.row()))


def _row_parts(row: exp.Expr) -> list[exp.Expr]:
    """Return the values of a row of VALUES. A row whose only value is ``struct(a, b)`` or ``((a, b))`` is the
    row (a, b)."""
    parts = row.expressions if isinstance(row, exp.Tuple) else [row]
    only = unparenthesized(parts[0]) if len(parts) == 1 else row
    if isinstance(only, exp.Tuple):
        return only.expressions
    if isinstance(only, exp.Anonymous) and str(only.this).lower() == f"{FUNCTION_MARK}struct":
        return [part.this if isinstance(part, exp.Alias) else part for part in only.expressions]
    return parts


def _inline_column(values: list[Expr], name: str, node: exp.Expr) -> list[Expr]:
    """Return the values of the column ``name`` of VALUES, cast to their common type. Raises
    INVALID_INLINE_TABLE if they have none; unlike elsewhere, strings have no common type with other types."""
    kinds = {value.type for value in values if value.type != VOID}
    kind = _tightest_type(kinds)
    if kind is None or (not is_string(kind) and any(is_string(other) for other in kinds)):
        raise failure(
            "INVALID_INLINE_TABLE.INCOMPATIBLE_TYPES_IN_INLINE_TABLE",
            f"Invalid inline table. Found incompatible types in the column `{name}` for inline table.",
            node,
        )
    return [cast_to(value, kind) for value in values]


def _tightest_type(kinds: Set[pa.DataType]) -> pa.DataType | None:
    """Return the common type of the values of a column of VALUES, whose types are ``kinds``: Spark's common
    type, except that whole numbers beside FLOAT become FLOAT. None if there is no common type."""
    if kinds and all(pa.types.is_list(kind) for kind in kinds):
        element = _tightest_type({kind.value_type for kind in kinds})
        return None if element is None else pa.list_(element)
    return coercion.common_type(
        {kind for kind in kinds if types.FLOAT not in kinds or not types.is_integral(kind)}
    )
