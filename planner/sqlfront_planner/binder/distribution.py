"""Checks of SORT BY, CLUSTER BY and DISTRIBUTE BY, which say how Spark places and sorts the rows of its
partitions. SORT BY sorts as ORDER BY does; the other two change no answer and are checked only."""

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from sqlfront_planner.binder.expressions.expression_binder import Clause, ExpressionBinder
from sqlfront_planner.binder.scope import output_scope
from sqlfront_planner.binder.sorting import check_orderable, check_subqueries
from sqlfront_planner.binder.trees.handlers import failure, refuse_unknown, unsupported
from sqlfront_values.errors import ProgrammingError
from sqlfront_values.expressions import Column, Expr

#: The arguments of a query's node that hold these clauses.
CLAUSES: Final = frozenset({"sort", "cluster", "distribute"})


def sort_clause(query: exp.Expr) -> exp.Expr | None:
    """Return the ORDER BY or SORT BY of a query; None if it has neither. Raises
    UNSUPPORTED_FEATURE.COMBINATION_QUERY_RESULT_CLAUSES for clauses that exclude each other."""
    found = {name for name in ("order", *CLAUSES) if query.args.get(name) is not None}
    if len(found) > 1 and found != {"sort", "distribute"}:
        raise failure(
            "UNSUPPORTED_FEATURE.COMBINATION_QUERY_RESULT_CLAUSES",
            "The feature is not supported: Combination of ORDER BY/SORT BY/DISTRIBUTE BY/CLUSTER BY.",
            query,
        )
    clause = query.args.get("order") or query.args.get("sort")
    return clause if isinstance(clause, exp.Expr) else None


def check_distribution(query: exp.Expr, binder: ExpressionBinder, outputs: Sequence[Expr]) -> None:
    """Bind the expressions of CLUSTER BY or DISTRIBUTE BY with ``binder``, only for the errors of these
    expressions; ``outputs`` are the query's columns."""
    for name in ("cluster", "distribute"):
        clause = query.args.get(name)
        if not isinstance(clause, exp.Expr):
            continue
        refuse_unknown(clause, frozenset({"expressions"}))
        for item in clause.expressions:
            node = item.this if isinstance(item, exp.Ordered) else item
            expression = binder.bind(exp.column(node.name) if isinstance(node, exp.Var) else node)
            if name == "cluster":
                check_orderable(binder, expression, node)
            if node.find(exp.Query) is not None:
                check_subqueries(expression, outputs, node)


def check_over_output(
    query: exp.Expr,
    binder: ExpressionBinder,
    names: Sequence[str],
    outputs: Sequence[Expr],
    qualifiers: Sequence[tuple[str, ...]],
) -> None:
    """Check CLUSTER BY or DISTRIBUTE BY of a query with groups, of whose rows the clauses see the output
    alone. Raises NotSupportedError for other columns, some of which Spark finds."""
    row = [
        Column(item.type, place, name) for place, (item, name) in enumerate(zip(outputs, names, strict=True))
    ]
    scope = output_scope(names, row, qualifiers, binder.scope.parent)
    try:
        check_distribution(query, ExpressionBinder(binder.queries, scope, Clause.ORDER_BY), row)
    except ProgrammingError as error:
        if not (error.condition or "").startswith("UNRESOLVED_COLUMN"):
            raise
        raise unsupported("A column of FROM in DISTRIBUTE BY or CLUSTER BY of groups", query) from None
