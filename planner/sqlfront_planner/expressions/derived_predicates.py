"""Predicates that follow from other predicates."""

from collections.abc import Callable, Sequence

from sqlfront_planner.expressions.rewriting import disjunction, disjuncts, nameless
from sqlfront_values.expressions import Expr, columns_used, conjunction, conjuncts


def implied(predicate: Expr, belongs: Callable[[frozenset[int]], bool]) -> Expr | None:
    """Return the condition on some of the columns that follows from ``predicate``, an OR of which every
    branch restricts these columns; None if a branch doesn't, or if the predicate is no OR.

    From ``(a = 1 AND b = 2) OR (a = 3 AND b = 4)`` follows ``a = 1 OR a = 3``. ``belongs(ordinals)`` says
    whether a set of columns is among the wanted columns.
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
    """Return the predicates of ``derived`` that are not among the ``known`` predicates, each once; columns
    are compared by ordinal, not by name."""
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
