"""Conditions on a table's key, and the keys that satisfy them with the arguments of a run."""

from itertools import product
from math import prod

import msgspec
import pyarrow as pa

from sqlfront_connectors.base import Key
from sqlfront_planner.pruning.constraints import (
    Constraint,
    OneOf,
    ToLiteral,
    UnknownInRun,
    Values,
    constant,
    has_canonical_values,
    remaining,
)
from sqlfront_values.expressions import Expr, Literal
from sqlfront_values.settings import Settings


class Box(msgspec.Struct, frozen=True):
    """A set of keys, given by constraints on each column of the key (no constraints: any value). The set is
    empty in a run in which one of the conditions ``when``, which hold no column, is not true."""

    columns: tuple[tuple[Constraint, ...], ...]
    when: tuple[Expr, ...] = ()

    @property
    def most(self) -> int | None:
        """The greatest number of keys that this set can have in any run; None = unknown."""
        counts = []
        for constraints in self.columns:
            known = [item.most for item in constraints if isinstance(item, OneOf) and item.most is not None]
            if not known:
                return None
            counts.append(min(known))
        return prod(counts)


class KeyCondition(msgspec.Struct, frozen=True):
    """The keys of all rows that satisfy some conjuncts: the union of ``boxes``, each of which is a set of
    keys given by constraints on the key's columns.

    ``columns`` are the key's columns, as ordinals of the table, and ``types`` their logical types. ``limit``:
    more keys than that count as unknown. ``exact`` are the conjuncts that hold for exactly the rows with one
    of the keys, and so need no filter; if there are any, :meth:`keys` never returns None. ``most``: the
    greatest number of keys in any run, None = unknown. ``known``: the keys, if they are the same in every
    run.
    """

    columns: tuple[int, ...]
    types: tuple[pa.DataType, ...]
    boxes: tuple[Box, ...]
    settings: Settings
    limit: int
    exact: tuple[Expr, ...] = ()
    most: int | None = None
    known: tuple[Key, ...] | None = None

    def keys(self, literal: ToLiteral) -> tuple[Key, ...] | None:
        """Return the keys that rows may have in a run, without duplicates: a value for each column, of the
        column's type and as a Literal holds it, None for null. Return None if the keys are unknown or more
        than the limit, so that any key may be needed; an empty tuple if no row satisfies the conjuncts.

        ``literal`` returns the literal with this run's value of a Parameter or RunValue.
        """
        if self.known is not None:
            return self.known
        point = self._point(literal)
        if point is not None:
            return point
        found: dict[Key, None] = {}
        for box in self.boxes:
            keys = self._keys(box, literal)
            if keys is None or len(keys) + len(found) > self.limit:
                return None
            found.update(dict.fromkeys(keys))
        return tuple(found)

    def _point(self, literal: ToLiteral) -> tuple[Key, ...] | None:
        """Return the keys of a run in the commonest case: one box, with a single compared value for each
        column. Return None in all other cases, for which :meth:`keys` has the general code."""
        if len(self.boxes) != 1 or self.boxes[0].when:
            return None
        key = []
        for constraints, data_type in zip(self.boxes[0].columns, self.types, strict=True):
            match constraints:
                case (OneOf(candidates=(candidate,), or_null=False),) if not candidate.through:
                    value = literal(candidate.expression)
                    if not isinstance(value, Literal) or not has_canonical_values(data_type):
                        return None
                    if value.value is None and not candidate.null_safe:
                        return ()
                    key.append(value.value)
                case _:
                    return None
        return (tuple(key),)

    def _keys(self, box: Box, literal: ToLiteral) -> list[Key] | None:
        try:
            if not all(constant(condition, literal, self.settings) is True for condition in box.when):
                return []
        except UnknownInRun:
            pass
        domains: list[Values | None] = [
            remaining(constraints, data_type, literal, self.settings, self.limit)
            for constraints, data_type in zip(box.columns, self.types, strict=True)
        ]
        if () in domains:
            return []
        known = [domain for domain in domains if domain is not None]
        if len(known) < len(domains) or prod(map(len, known)) > self.limit:
            return None
        return list(product(*known))
