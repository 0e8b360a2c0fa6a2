"""Binding of queries: WITH, set operations, parentheses, and ORDER BY and LIMIT of those; :mod:`.select`
binds one SELECT."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa
from msgspec.structs import replace
from sqlglot import exp

from sqlfront_planner import types as coercion
from sqlfront_planner.binder import outer_columns
from sqlfront_planner.binder.context import LEVELS_OF_A_STACK, MOST_BOUND, StatementContext
from sqlfront_planner.binder.distribution import CLAUSES, check_distribution, sort_clause
from sqlfront_planner.binder.expressions.expression_binder import Clause, ExpressionBinder, cast_to
from sqlfront_planner.binder.names import shown_names
from sqlfront_planner.binder.relations import from_clause
from sqlfront_planner.binder.scope import EMPTY_SCOPE, BoundQuery, Scope, ScopeColumn, output_scope
from sqlfront_planner.binder.select import bind_select
from sqlfront_planner.binder.sorting import bind_order, check_rows_comparable, distinct_rows, sorted_plan
from sqlfront_planner.binder.time_windows import sessions
from sqlfront_planner.binder.trees.handlers import failure, refuse_unknown, span, unsupported
from sqlfront_planner.expressions.rewriting import is_correlated, is_deterministic
from sqlfront_planner.logical import (
    LogicalLimit,
    LogicalPlan,
    LogicalProject,
    LogicalSetOperation,
    OuterColumn,
    SetKind,
    all_nodes,
    distinct_nodes,
)
from sqlfront_planner.recursion import LogicalRecursion
from sqlfront_planner.shared_rows import shared_scan
from sqlfront_values import evaluate, types
from sqlfront_values.errors import NotSupportedError, ProgrammingError
from sqlfront_values.expressions import Expr, walk
from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.room import check
from sqlfront_values.stacks import on_fresh_stack
from sqlfront_values.types import INT

if TYPE_CHECKING:
    from sqlfront_planner.binder.relations import recursions
    from sqlfront_planner.coercion import Coercion
else:
    recursions = lazy_module("sqlfront_planner.binder.relations.recursions")

_MODIFIERS: Final = frozenset({"with_", "order", "limit", "offset"})
_ENDS: Final = _MODIFIERS - {"with_"}
_CLAUSES: Final = ("where", "group", "having", "order", "limit", "offset")
_SETS: Final[dict[type[exp.Expr], tuple[str, SetKind, SetKind]]] = {
    exp.Union: ("UNION", SetKind.UNION_ALL, SetKind.UNION_ALL),
    exp.Intersect: ("INTERSECT", SetKind.INTERSECT, SetKind.INTERSECT_ALL),
    exp.Except: ("EXCEPT", SetKind.EXCEPT, SetKind.EXCEPT_ALL),
}


class QueryBinder(msgspec.Struct, frozen=True):
    """A binder of queries; ``common`` holds the common table expressions in scope, by lower-case name. Inside
    of a recursive common table expression, its own name is a
    :class:`~sqlfront_planner.binder.relations.recursions.SelfReference`.

    A common table expression is None if it reads the row of a query that isn't the one directly around the
    query being bound. ``enclosing`` is the scope of the row that the subquery being bound may read, None
    outside of subqueries; queries in FROM and WITH of the subquery may read that row, too.

    ``given`` are the parameters of a SQL function whose body is being bound, as far as the arguments read no
    row: names anywhere in the body find them.
    """

    context: StatementContext
    common: Mapping[str, "BoundQuery | recursions.SelfReference | None"] = msgspec.field(
        default_factory=lambda: MappingProxyType({})
    )
    enclosing: Scope | None = None
    given: tuple[ScopeColumn, ...] = ()

    def bind(self, query: exp.Expr, parent: Scope | None = None) -> BoundQuery:
        """Bind a query. ``parent`` is the scope of the enclosing query, whose columns a subquery may read;
        None if there is none. Queries nested too deeply for this thread's stack are bound on the stack of
        another thread."""
        check()
        context = self.context
        context.depth += 1
        try:
            binder = self if (common := query.args.get("with_")) is None else self._with(common)
            if context.depth % LEVELS_OF_A_STACK:
                return binder._body(query, parent)
            return on_fresh_stack(binder._body, query, parent)
        finally:
            context.depth -= 1

    def within(self, query: exp.Expr, scope: Scope) -> BoundQuery:
        """Bind a subquery that reads a row of ``scope``. The result is kept, since a subquery
        is bound again to find its name or type: a second call for the same subquery returns the first call's
        result."""
        key = id(query), id(scope)
        known = self.context.subqueries.get(key)
        if known is None:
            bound = replace(self, enclosing=scope, common=self._uncorrelated()).bind(query, scope)
            outer_columns.check_joins(bound.plan, query)
            known = self.context.subqueries[key] = query, scope, bound
        return known[2]

    def _uncorrelated(self) -> Mapping[str, "BoundQuery | recursions.SelfReference | None"]:
        """Return the common table expressions for a subquery one level deeper: those that read the row of the
        query around this query become None."""
        if self.enclosing is None:
            return self.common
        return {
            key: None if isinstance(found, BoundQuery) and is_correlated(found.plan) else found
            for key, found in self.common.items()
        }

    def alone(self, given: tuple[ScopeColumn, ...] = ()) -> "QueryBinder":
        """Return a binder for a view's query or a SQL function's body, which doesn't see the common table
        expressions of the query that uses it. ``given``: the function's parameters."""
        return QueryBinder(self.context, given=given)

    def common_table(self, name: str) -> BoundQuery | None:
        """Return the common table expression with that name, in any case; None if no such expression is in
        scope. If computing it for each use could give different rows, the returned plan scans rows that are
        computed once."""
        found = self.common.get(name.lower())
        if found is not None and not isinstance(found, BoundQuery):
            return found.read()
        if found is None:
            if name.lower() in self.common:
                raise NotSupportedError(f"{name}, which reads the row of another query, is not supported")
            return None
        if self.enclosing is not None and is_correlated(found.plan):
            parts = (part for node in all_nodes(found.plan) for part in node.operands())
            if not all(map(is_deterministic, parts)):
                raise NotSupportedError(f"{name}, a nondeterministic correlated query, is not supported")
            return found
        if self.context.is_repeatable(found.plan):
            return found
        return replace(found, plan=self.context.shared(found.plan, name))

    def common_names(self) -> tuple[str, ...]:
        """Return the names of the common table expressions in scope."""
        return tuple(self.common)

    def outer_names(self, query: exp.Expr, scope: Scope) -> list[str]:
        """Return the names of the columns of ``scope``, the enclosing query's scope, that the subquery
        ``query`` reads, without duplicates."""
        inner = query.this if isinstance(query, exp.Subquery) else query
        names: list[str] = []
        for plan in distinct_nodes(self.within(inner, scope).plan):
            for operand in plan.operands():
                for item in walk(operand):
                    if isinstance(item, OuterColumn) and item.name not in names:
                        names.append(item.name)
        return names

    def _with(self, node: exp.With) -> "QueryBinder":
        """Return a binder that also has the common table expressions of a WITH clause in scope; each of them
        can read the previous ones. Raises DUPLICATED_CTE_NAMES and ASSIGNMENT_ARITY_MISMATCH."""
        recursive = node.args.get("recursive") is True
        refuse_unknown(node, frozenset({"expressions", "recursive"} if recursive else {"expressions"}))
        binder, own = self, set[str]()
        for item in node.expressions:
            refuse_unknown(item, frozenset({"this", "alias"}))
            alias = item.args["alias"]
            refuse_unknown(alias, frozenset({"this", "columns"}))
            key = alias.this.name.lower()
            if key in own:
                raise failure(
                    "DUPLICATED_CTE_NAMES",
                    f"CTE definition can't have duplicate names: {shown_names.quoted((alias.this.name,))}.",
                    alias,
                )
            own.add(key)
            if recursive:
                bound = binder._recursive(item)
            else:
                recursions.refuse_limit(alias.this)
                bound = binder.bind(item.this, self.enclosing)
            bound = replace(bound, names=_common_names(alias, bound))
            binder = replace(binder, common={**binder.common, key: bound})
        return binder

    def _recursive(self, node: exp.CTE) -> BoundQuery:
        """Bind a common table expression of WITH RECURSIVE, whose query may read itself. Raises
        INVALID_RECURSIVE_CTE if the query reads itself and isn't a UNION ALL of an anchor and a step."""
        alias, query = node.args["alias"], _without_parentheses(node.this)
        name = alias.this.name
        own = recursions.SelfReference(name)
        binder = replace(self, common={**self.common, name.lower(): own})
        is_union = isinstance(query, exp.Union) and not any(map(query.args.get, _ENDS | CLAUSES))
        if not is_union:
            return binder.bind(query, self.enclosing)
        if query.args.get("with_"):
            binder = binder._with(query.args["with_"])
        refuse_unknown(query, _BODIES[exp.Union] | {"with_"})
        anchor, second = binder.bind(query.this, self.enclosing), query.args["expression"]
        level = own.begin_step(anchor, _common_names(alias, anchor))
        step = binder.bind(second, self.enclosing)
        if not own.uses:
            return self._combine(query, anchor, step)
        if self.enclosing is not None and (is_correlated(anchor.plan) or is_correlated(step.plan)):
            raise unsupported("A recursion that reads a row of the enclosing query", node)
        if query.args.get("distinct"):
            raise recursions.distinct_recursion(node)
        _check_width("UNION", anchor.plan, step.plan, query)
        kinds = recursions.common_types(self.context.coercion, anchor.plan, step.plan)
        recursions.check_places(step.plan, level, second, name)
        self.context.is_recursive = True
        limits = recursions.limits_of(alias.this.this, self.context.settings)
        plan = LogicalRecursion(anchor.plan, _with_types(step.plan, kinds), level, *limits)
        return BoundQuery(shared_scan(name, plan), anchor.names)

    def _body(self, query: exp.Expr, parent: Scope | None) -> BoundQuery:
        """Bind the query without its WITH clause; ``parent`` is the scope of the enclosing query."""
        if isinstance(query, exp.Select):
            return self._limited(bind_select(self, query, parent), query, parent)
        refuse_unknown(query, _MODIFIERS | CLAUSES | _BODIES.get(type(query), frozenset({"this"})))
        match query:
            case exp.Union() | exp.Intersect() | exp.Except():
                bound = self._set_operation(query, parent)
            case exp.Subquery():
                bound = self.bind(query.this, parent)
            case exp.Values():
                table = from_clause.inline_table(self, query)
                bound = BoundQuery(table.plan, tuple(column.name for column in table.columns))
            case _:
                raise unsupported(f"{type(query).__name__.upper()} as a query", query)
        return self._limited(self._ordered(bound, query, parent), query, parent)

    # ---- ORDER BY and LIMIT

    def _ordered(self, bound: BoundQuery, query: exp.Expr, parent: Scope | None) -> BoundQuery:
        """Return ``bound`` with the sort of the query's ORDER BY, if it has the clause. The ORDER BY sees the
        columns of the output only."""
        order = sort_clause(query)
        if order is None and not any(map(query.args.get, CLAUSES)):
            return bound
        row = bound.plan.row()
        binder = ExpressionBinder(
            self, output_scope(bound.names, row, bound.qualifiers, parent), Clause.ORDER_BY
        )
        check_distribution(query, binder, row)
        items = [] if order is None else bind_order(binder, order, row)
        return replace(bound, plan=sorted_plan(bound.plan, row, bound.names, items))

    def _limited(self, bound: BoundQuery, query: exp.Expr, parent: Scope | None) -> BoundQuery:
        _refuse_disorder(query)
        # The rules for subqueries in expressions need the numbers themselves.
        # So does a recursion, which ends when it has that many rows.
        varies = parent is None and self.enclosing is None and not self.context.is_recursive
        count, run_count = self._count(query.args.get("limit"), "limit", varies=varies)
        offset, run_offset = self._count(query.args.get("offset"), "offset", varies=varies)
        if count is None and not offset:
            return bound
        return replace(bound, plan=LogicalLimit(bound.plan, count, offset or 0, run_count, run_offset))

    def _count(
        self, node: exp.Expr | None, what: str, *, varies: bool
    ) -> tuple[int | None, tuple[Expr, ...]]:
        """Return the number of LIMIT or OFFSET (``what``); None without the clause, or for LIMIT ALL. If the
        number is an argument and the plan's number may vary (``varies``), return a bound of the number, and
        the argument. Raises ProgrammingError (INVALID_LIMIT_LIKE_EXPRESSION) if the expression isn't a
        constant INT of at least 0."""
        if node is None:
            return None, ()
        if not isinstance(node, exp.Limit | exp.Offset):
            raise unsupported("FETCH FIRST", node)
        refuse_unknown(node, frozenset({"expression"}))
        inner = node.expression
        if isinstance(inner, exp.Var | exp.Column) and inner.name.lower() == "all":
            return None, ()
        binder = ExpressionBinder(self, EMPTY_SCOPE, Clause(what.upper()))
        try:
            bound = binder.bind(inner)
        except ProgrammingError as error:
            if error.condition and error.condition.startswith("UNRESOLVED_COLUMN"):
                raise _unfoldable_limit(what, inner, binder) from None
            raise
        if varies and (most := self.context.row_bound(bound)) is not None:
            return most, (bound,) if 0 < most <= MOST_BOUND else ()
        known = self.context.constant(bound, inner)
        if known is None:
            raise _unfoldable_limit(what, inner, binder)
        if known.type != INT:
            detail = f'must be integer type, but got "{types.sql_name(known.type)}"'
            raise _limit_failure("DATA_TYPE", what, detail, inner, binder)
        value = evaluate.evaluate_scalar(known, self.context.settings.evaluation)
        if not isinstance(value, int):
            raise _limit_failure("IS_NULL", what, "must not be null", inner, binder)
        if value < 0:
            detail = f"must be equal to or greater than 0, but got {value}"
            raise _limit_failure("IS_NEGATIVE", what, detail, inner, binder)
        return value, ()

    # ---- set operations

    def _set_operation(self, query: exp.Expr, parent: Scope | None) -> BoundQuery:
        """Bind a chain of set operations, grouped to the left as in sqlglot and Spark."""
        chain: list[exp.Expr] = [query]
        while type(chain[-1].this) in _SETS and not any(map(chain[-1].this.args.get, _MODIFIERS | CLAUSES)):
            chain.append(chain[-1].this)
        result = self.bind(chain[-1].this, parent)
        for link in reversed(chain):
            refuse_unknown(link, _MODIFIERS | CLAUSES | _BODIES[type(link)])
            second = link.args["expression"]
            if isinstance(second, exp.Select) and second.args.get("with_"):
                raise unsupported("WITH behind a set operation", second)
            result = self._combine(link, result, self.bind(second, parent))
        return result

    def _combine(self, node: exp.Expr, left: BoundQuery, right: BoundQuery) -> BoundQuery:
        word, distinct_kind, all_kind = _SETS[type(node)]
        first, second = left.plan, right.plan
        _check_width(word, first, second, node)
        kinds = _common_row(self.context.coercion, word, first, second, node)
        first, second = _with_types(first, kinds), _with_types(second, kinds)
        distinct = bool(node.args.get("distinct"))
        if distinct or word != "UNION":
            check_rows_comparable(kinds, node)
        kind = distinct_kind if distinct else all_kind
        if distinct and word != "UNION" and sessions.session_keys(first, first.row()):
            raise unsupported(f"{word} of sessions", node)
        plan = LogicalSetOperation(kind, (*_branches(first, kind), second))
        if kind is SetKind.UNION_ALL and distinct:
            return replace(left, plan=distinct_rows(plan, left.names, node))
        return replace(left, plan=plan)


_BODIES: Final[dict[type[exp.Expr], frozenset[str]]] = {
    **dict.fromkeys((exp.Union, exp.Intersect, exp.Except), frozenset({"this", "expression", "distinct"})),
    exp.Values: frozenset({"expressions"}),
}


def _without_parentheses(query: exp.Expr) -> exp.Expr:
    """Return the query inside of parentheses that have no clauses of their own; any other query itself."""
    while isinstance(query, exp.Subquery) and not any(map(query.args.get, _MODIFIERS | CLAUSES | {"alias"})):
        query = query.this
    return query


def _common_names(alias: exp.TableAlias, bound: BoundQuery) -> tuple[str, ...]:
    """Return the names of the columns of a common table expression: the names that its ``alias`` lists, else
    those of its query. Raises ASSIGNMENT_ARITY_MISMATCH for another number of names."""
    names = tuple(column.name for column in alias.args.get("columns") or []) or bound.names
    if len(names) != len(bound.names):
        raise failure(
            "ASSIGNMENT_ARITY_MISMATCH",
            f"The number of columns or variables assigned or aliased: {len(bound.names)} does not "
            f"match the number of source expressions: {len(names)}.",
            alias,
        )
    return names


def _check_width(word: str, first: LogicalPlan, second: LogicalPlan, node: exp.Expr) -> None:
    """Raise NUM_COLUMNS_MISMATCH if the branches of a set operation, called ``word``, differ in their numbers
    of columns."""
    if first.width != second.width:
        raise failure(
            "NUM_COLUMNS_MISMATCH",
            f"{word} can only be performed on inputs with the same number of columns, but the first "
            f"input has {first.width} columns and the second input has {second.width} columns.",
            node,
        )


def _branches(plan: LogicalPlan, kind: SetKind) -> tuple[LogicalPlan, ...]:
    """Return the branches that ``plan`` contributes to a set operation of ``kind``: the branches of a UNION
    ALL that is part of another UNION ALL; any other plan is a single branch."""
    if kind is SetKind.UNION_ALL and isinstance(plan, LogicalSetOperation) and plan.kind is kind:
        return plan.branches
    return (plan,)


def _common_row(
    rules: "Coercion", word: str, left: LogicalPlan, right: LogicalPlan, node: exp.Expr
) -> list[pa.DataType]:
    kinds = []
    for place, (mine, other) in enumerate(zip(left.row(), right.row(), strict=True), 1):
        kind = rules.wider_type(mine.type, other.type)
        if kind is None and coercion.same_but_for_names(mine.type, other.type):
            kind = mine.type
        if kind is None:
            raise failure(
                "INCOMPATIBLE_COLUMN_TYPE",
                f"{word} can only be performed on tables with compatible column types. Column {place} of the "
                "second table is "
                f'"{types.sql_name(other.type)}" type which is not compatible with '
                f'"{types.sql_name(mine.type)}" at the same '
                "column of the first table.",
                node,
            )
        kinds.append(kind)
    return kinds


def _with_types(plan: LogicalPlan, kinds: list[pa.DataType]) -> LogicalPlan:
    row = plan.row()
    if all(column.type == kind for column, kind in zip(row, kinds, strict=True)):
        return plan
    expressions = tuple(cast_to(column, kind) for column, kind in zip(row, kinds, strict=True))
    return LogicalProject(plan, expressions, tuple(column.name for column in row))


def _refuse_disorder(query: exp.Expr) -> None:
    """Raise NotSupportedError for clauses in an order that sqlglot accepts and Spark doesn't, such as
    ``OFFSET 1 LIMIT 2`` and ``LIMIT 1, 2``."""
    clauses = [query.args[name] for name in _CLAUSES if query.args.get(name)]
    starts = [place[0] for clause in clauses if (place := span(clause)) is not None]
    if starts != sorted(starts):
        raise unsupported("This order of clauses", query)


def _limit_failure(kind: str, what: str, detail: str, node: exp.Expr, binder: ExpressionBinder) -> Exception:
    return failure(
        f"INVALID_LIMIT_LIKE_EXPRESSION.{kind}",
        f'The limit like expression "{binder.name(node)}" is invalid. The {what} expression {detail}.',
        node,
    )


def _unfoldable_limit(what: str, node: exp.Expr, binder: ExpressionBinder) -> Exception:
    return _limit_failure("IS_UNFOLDABLE", what, "must evaluate to a constant value", node, binder)
