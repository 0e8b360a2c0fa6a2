"""Filters that give the clustering key of a table: a lookup instead of a scan."""

from sqlfront_connectors.base import Partitioning
from sqlfront_engine.expressions import Call, Column, Expr, Literal, Parameter
from sqlfront_engine.types import VOID, is_fractional


def key_filters(
    partitioning: Partitioning | None, filters: tuple[Expr, ...]
) -> tuple[tuple[Expr, ...], tuple[Expr, ...] | None]:
    """The conjuncts ``column = constant`` and ``column IS NULL`` that cover the clustering key, and the
    constants in key order; a void one stands for IS NULL.

    Float keys are left to the filter (NaN and -0.0 have several representations).
    """
    if partitioning is None:
        return (), None
    found: dict[int, tuple[Expr, Expr]] = {}
    for conjunct in filters:
        match conjunct:
            case (
                Call(
                    function="equal",
                    arguments=(Column() as column, (Literal() | Parameter()) as constant),
                )
                | Call(
                    function="equal",
                    arguments=((Literal() | Parameter()) as constant, Column() as column),
                )
            ) if not is_fractional(column.type):
                found.setdefault(column.ordinal, (conjunct, constant))
            case Call(function="is_null", arguments=(Column() as column,)):
                found.setdefault(column.ordinal, (conjunct, Literal(VOID, None)))
            case _:
                pass
    try:
        pairs = [found[ordinal] for ordinal in partitioning.columns]
    except KeyError:
        return (), None
    return tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
