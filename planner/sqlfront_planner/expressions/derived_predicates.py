"""Derived predicates."""

from collections.abc import Callable, Sequence

from sqlfront_planner.expressions.rewriting import disjunction, disjuncts, nameless
from sqlfront_values.expressions import Expr, columns_used, conjunction, conjuncts


def implied(predicate: Expr, belongs: Callable[[frozenset[int]], bool]) -> Expr | None:
    """The condition on a subset of the columns that follows from ``predicate``, an OR, if every branch
    restricts the subset; None if some branch doesn't, or the predicate is no OR.

    From ``(a = 1 AND b = 2) OR (a = 3 AND b = 4)`` follows ``a = 1 OR a = 3``. ``belongs`` tells whether a
    set of columns is in the subset.
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


def unknown_yet(derived: Sequence[Expr], known: Sequence[Expr]) -> list[Expr]:
    """The derived predicates that are not among the known predicates, each once; the names of columns don't
    count."""
    if not derived:
        return []
    seen = [nameless(predicate) for predicate in known]
    new = []
    for predicate in derived:
        meaning = nameless(predicate)
        if meaning not in seen:
            seen.append(meaning)
            new.append(predicate)
    return new
