"""Predicates that follow from others."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from sqlfront_engine.expressions import (
    Call,
    Column,
    Expr,
    Literal,
    Parameter,
    columns_used,
    conjunction,
    conjuncts,
)
from sqlfront_planner.join_graph import EqualityClasses
from sqlfront_planner.rewriting import COMPARISONS, disjunction, disjuncts, nameless, remap

_TRANSFERABLE: Final = COMPARISONS | {"in"}


def constant_comparison(predicate: Expr) -> int | None:
    """The column, if the predicate compares one column with constants: it then holds for all that equals the
    column.

    >>> import pyarrow as pa
    >>> a, five = Column(pa.int32(), 3, "a"), Literal(pa.int32(), 5)
    >>> constant_comparison(Call(pa.bool_(), "less", (a, five)))
    3
    """
    if not (isinstance(predicate, Call) and predicate.function in _TRANSFERABLE):
        return None
    columns = [item for item in predicate.arguments if isinstance(item, Column)]
    constants = sum(isinstance(item, Literal | Parameter) for item in predicate.arguments)
    if len(columns) != 1 or constants + 1 != len(predicate.arguments):
        return None
    if predicate.function == "in" and predicate.arguments[0] is not columns[0]:
        return None
    return columns[0].ordinal


def transferred(predicates: Iterable[Expr], classes: EqualityClasses) -> list[Expr]:
    """What comparisons of a column with constants say of the columns that are equal to it.

    From ``a = b`` and ``a < 5`` follows ``b < 5``. Comparisons only: they treat equal values alike, even 0.0
    and -0.0.
    """
    derived = []
    for predicate in predicates:
        place = constant_comparison(predicate)
        if place is not None:
            derived += [remap(predicate, {place: other}) for other in classes.of(place) if other != place]
    return derived


def implied(predicate: Expr, belongs: Callable[[frozenset[int]], bool]) -> Expr | None:
    """What an OR says of some columns alone, if every branch says something of them.

    From ``(a = 1 AND b = 2) OR (a = 3 AND b = 4)`` follows ``a = 1 OR a = 3``. ``belongs`` tells whether a
    set of columns is among those asked for.
    """
    branches = disjuncts(predicate)
    if len(branches) == 1:
        return None
    kept = []
    for branch in branches:
        parts = tuple(part for part in conjuncts(branch) if (used := columns_used(part)) and belongs(used))
        condition = conjunction(parts)
        if condition is None:
            return None
        kept.append(condition)
    return disjunction(tuple(kept))


def unknown_yet(derived: Iterable[Expr], known: Sequence[Expr]) -> list[Expr]:
    """Those derived predicates that nobody has stated, each once."""
    seen = [nameless(predicate) for predicate in known]
    new = []
    for predicate in derived:
        meaning = nameless(predicate)
        if meaning not in seen:
            seen.append(meaning)
            new.append(predicate)
    return new
