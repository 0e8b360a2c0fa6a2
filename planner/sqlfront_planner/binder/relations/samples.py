"""Binding of TABLESAMPLE: a number of rows is a limit, a percentage or a bucket a random choice of rows."""

from decimal import Decimal
from typing import Final

from sqlglot import exp

from sqlfront_planner.binder.expressions.expression_binder import Clause, ExpressionBinder
from sqlfront_planner.binder.protocols import Queries
from sqlfront_planner.binder.scope import EMPTY_SCOPE, Relation
from sqlfront_planner.binder.trees.handlers import failure, refuse_unknown, span, unsupported
from sqlfront_planner.expressions.rewriting import FALSE
from sqlfront_planner.logical import LogicalFilter, LogicalLimit, LogicalPlan
from sqlfront_planner.tokens.marks import FUNCTION_MARK
from sqlfront_values import types
from sqlfront_values.errors import ProgrammingError
from sqlfront_values.expressions import Call, Literal
from sqlfront_values.types import BOOLEAN, DOUBLE, INT

_KNOWN: Final = frozenset(
    {"size", "percent", "seed", "bucket_numerator", "bucket_denominator", "bucket_field"}
)
#: By how much Spark lets a fraction lie outside of 0 to 1.
_TOLERANCE: Final = 1e-6


def sampled(queries: Queries, source: Relation, node: exp.TableSample) -> Relation:
    """Return ``source`` after TABLESAMPLE.

    Raises INVALID_LIMIT_LIKE_EXPRESSION for a number of rows that isn't an INT, INVALID_TABLESAMPLE_FRACTION
    for a fraction outside of 0 to 1, and Spark's nameless errors for ``()`` and for a bucket of a column;
    NotSupportedError for REPEATABLE, whose rows depend on Spark's partitions.
    """
    refuse_unknown(node, _KNOWN)
    if node.args.get("bucket_field") is not None:
        message = "TABLESAMPLE(BUCKET x OUT OF y ON colname) is not supported."
        raise ProgrammingError(message, position=span(node))
    if (size := node.args.get("size")) is not None:
        return Relation(LogicalLimit(source.plan, _count(queries, size)), source.columns)
    fraction = _fraction(queries, node)
    if not -_TOLERANCE <= fraction <= 1 + _TOLERANCE:
        raise failure(
            "INVALID_TABLESAMPLE_FRACTION",
            f"Sampling fraction ({fraction}) must be on interval [0, 1].",
            node,
        )
    if node.args.get("seed") is not None:
        raise unsupported("TABLESAMPLE with REPEATABLE", node)
    if fraction >= 1 - _TOLERANCE:
        return source
    return Relation(_chosen(queries, source, fraction), source.columns)


def _chosen(queries: Queries, source: Relation, fraction: float) -> LogicalPlan:
    """Return the plan of a random choice of the rows, each of which is chosen with the probability
    ``fraction``."""
    if fraction <= _TOLERANCE:
        return LogicalFilter(source.plan, FALSE)
    binder = ExpressionBinder(queries, source.scope(), Clause.WHERE)
    number = binder.bind(exp.Anonymous(this=f"{FUNCTION_MARK}rand", expressions=[]))
    return LogicalFilter(source.plan, Call(BOOLEAN, "less", (number, Literal(DOUBLE, fraction))))


def _fraction(queries: Queries, node: exp.TableSample) -> float:
    numerator, denominator = node.args.get("bucket_numerator"), node.args.get("bucket_denominator")
    if numerator is not None and denominator is not None:
        first, second = _number(queries, numerator), _number(queries, denominator)
        if not second:
            raise unsupported("BUCKET of 0", node)
        return float(first) / float(second)
    percent = node.args.get("percent")
    if percent is None:
        raise ProgrammingError("TABLESAMPLE does not accept empty inputs.", position=span(node))
    return float(_number(queries, percent)) / 100


def _number(queries: Queries, node: exp.Expr) -> int | float | Decimal:
    literal = _literal(queries, node)
    if not isinstance(literal.value, int | float | Decimal):
        raise unsupported("This size of TABLESAMPLE", node)
    return literal.value


def _count(queries: Queries, node: exp.Expr) -> int:
    literal = _literal(queries, node)
    if literal.type != INT or not isinstance(literal.value, int):
        raise failure(
            "INVALID_LIMIT_LIKE_EXPRESSION.DATA_TYPE",
            f'The limit like expression "{node.sql("spark")}" is invalid. The limit expression must be '
            f'integer type, but got "{types.sql_name(literal.type)}".',
            node,
        )
    return literal.value


def _literal(queries: Queries, node: exp.Expr) -> Literal:
    bound = ExpressionBinder(queries, EMPTY_SCOPE, Clause.LIMIT).bind(node)
    known = queries.context.known_value(bound)
    if not isinstance(known, Literal):
        raise unsupported("This size of TABLESAMPLE", node)
    return known
