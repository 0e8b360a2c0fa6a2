"""Aggregates of sketches: numbers of different values, and quantiles."""

from collections.abc import Callable
from functools import partial
from typing import Final

import pyarrow as pa

from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.aggregates.accumulators.base import Accumulator
from sqlfront_values.functions.aggregates.accumulators.sketches import Sketches
from sqlfront_values.functions.aggregates.aggregate_function import AggregateFunction, AggregateSignature
from sqlfront_values.functions.registry import ArgumentType, Kind
from sqlfront_values.functions.sketches import hll, kll, theta
from sqlfront_values.functions.sketches.family import SketchFamily
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
)

#: From a call's signature to the kind of sketch that the call makes.
Maker = Callable[[AggregateSignature], SketchFamily]


def _sketches(signature: AggregateSignature, *, make: Maker, unique: bool) -> Accumulator:
    return Sketches(make(signature), signature.argument_types[0], unique)


def _aggregate(
    name: str,
    make: Maker,
    value: ArgumentType,
    allowed: tuple[pa.DataType, ...],
    example: tuple[str, str],
    *,
    parameter: tuple[pa.DataType, str | None] | None = None,
    condition: str | None = None,
    unique: bool = False,
    distinct_matters: bool = True,
) -> AggregateFunction:
    """Make the entry of an aggregate that makes sketches of one argument, a ``value`` of the types
    ``allowed``. ``parameter``: the type of a constant second argument, and its default as result-column names
    show it; ``condition``: the condition of the error for an argument there that isn't constant. ``unique``:
    see :class:`Sketches`."""
    kind, shown = parameter or (None, None)
    return AggregateFunction(
        name,
        (value,) if kind is None else (value, kind),
        BINARY,
        partial(_sketches, make=make, unique=unique),
        optional=0 if kind is None else 1,
        constants=() if kind is None else (1,),
        shown_defaults=() if shown is None else (shown,),
        distinct_matters=distinct_matters,
        allowed=(allowed,) if kind is None else (allowed, (kind,)),
        constant_condition=condition,
        example=example,
    )


def _size(signature: AggregateSignature, default: int) -> int:
    """Return the size parameter of a call; a null means 0."""
    if not signature.constants:
        return default
    size = signature.constants[0]
    return size if isinstance(size, int) else 0


def _hll(signature: AggregateSignature) -> SketchFamily:
    lg_k = _size(signature, hll.DEFAULT_LG_K)
    hll.check_lg_k(lg_k, "hll_sketch_agg")
    return hll.HllSketches(lg_k)


def _hll_union(signature: AggregateSignature) -> SketchFamily:
    return hll.HllUnions("hll_union_agg", signature.constants[:1] == (True,))


def _theta(signature: AggregateSignature) -> SketchFamily:
    lg_entries = _size(signature, theta.DEFAULT_LG_ENTRIES)
    theta.check_lg_entries(lg_entries, "theta_sketch_agg")
    if pa.types.is_list(signature.argument_types[0]):
        raise NotSupportedError("theta_sketch_agg of arrays is not supported")
    return theta.ThetaSketches(lg_entries)


def _theta_union(signature: AggregateSignature) -> SketchFamily:
    lg_entries = _size(signature, theta.DEFAULT_LG_ENTRIES)
    theta.check_lg_entries(lg_entries, "theta_union_agg")
    return theta.ThetaUnions("theta_union_agg", lg_entries)


def _kll(signature: AggregateSignature, *, kind: kll.KllKind, name: str) -> SketchFamily:
    constants = signature.constants
    return kll.KllSketches(kind, kll.check_k(constants[0], name) if constants else kll.DEFAULT_K)


def _kll_merge(signature: AggregateSignature, *, kind: kll.KllKind, name: str) -> SketchFamily:
    constants = signature.constants
    return kll.KllMerges(name, kind, kll.check_k(constants[0], name) if constants else None)


_ESTIMATED: Final = "SELECT {}({}(x)) FROM VALUES (1), (2), (2) AS t(x)"
_UNITED: Final = "SELECT {}({}(s)) FROM (SELECT {}(x) AS s FROM VALUES (1), (2) AS t(x))"
_HLL_TYPES: Final = (INT, BIGINT, STRING, BINARY)
_THETA_TYPES: Final = (pa.list_(INT), pa.list_(BIGINT), BINARY, DOUBLE, FLOAT, INT, BIGINT, STRING)
_KLL_TYPES: Final = {
    "bigint": (TINYINT, INT, BIGINT, SMALLINT),
    "double": (FLOAT, DOUBLE),
    "float": (FLOAT,),
}


def _of_kll(kind: kll.KllKind) -> tuple[AggregateFunction, ...]:
    name, merge, count = (
        f"{action}_{kind.suffix}" for action in ("kll_sketch_agg", "kll_merge_agg", "kll_sketch_get_n")
    )
    values = f"CAST(x AS {kind.suffix}))"
    merged = f"SELECT {count}({merge}(s)) FROM (SELECT {name}({values} AS s FROM VALUES (1), (2) AS t(x))"
    return (
        _aggregate(
            name,
            partial(_kll, kind=kind, name=name),
            kind.type,
            _KLL_TYPES[kind.suffix],
            (f"SELECT {count}({name}({values}) FROM VALUES (1), (2), (2) AS t(x)", "3"),
            parameter=(INT, None),
        ),
        _aggregate(
            merge,
            partial(_kll_merge, kind=kind, name=merge),
            BINARY,
            (BINARY,),
            (merged, "2"),
            parameter=(INT, None),
        ),
    )


_THETA_SIZE: Final = "THETA_LG_NOM_ENTRIES_MUST_BE_CONSTANT"

FUNCTIONS: Final[tuple[AggregateFunction, ...]] = (
    _aggregate(
        "hll_sketch_agg",
        _hll,
        Kind.ANY,
        _HLL_TYPES,
        (_ESTIMATED.format("hll_sketch_estimate", "hll_sketch_agg"), "2"),
        parameter=(INT, "12"),
        condition="HLL_K_MUST_BE_CONSTANT",
        unique=True,
        distinct_matters=False,
    ),
    _aggregate(
        "hll_union_agg",
        _hll_union,
        BINARY,
        (BINARY,),
        (_UNITED.format("hll_sketch_estimate", "hll_union_agg", "hll_sketch_agg"), "2"),
        parameter=(BOOLEAN, "false"),
    ),
    _aggregate(
        "theta_sketch_agg",
        _theta,
        Kind.ANY,
        _THETA_TYPES,
        (_ESTIMATED.format("theta_sketch_estimate", "theta_sketch_agg"), "2"),
        parameter=(INT, "12"),
        condition=_THETA_SIZE,
        unique=True,
        distinct_matters=False,
    ),
    _aggregate(
        "theta_union_agg",
        _theta_union,
        BINARY,
        (BINARY,),
        (_UNITED.format("theta_sketch_estimate", "theta_union_agg", "theta_sketch_agg"), "2"),
        parameter=(INT, "12"),
        condition=_THETA_SIZE,
        distinct_matters=False,
    ),
    _aggregate(
        "theta_intersection_agg",
        lambda _: theta.ThetaIntersections("theta_intersection_agg"),
        BINARY,
        (BINARY,),
        (_UNITED.format("theta_sketch_estimate", "theta_intersection_agg", "theta_sketch_agg"), "2"),
        distinct_matters=False,
    ),
    *(function for kind in kll.KINDS for function in _of_kll(kind)),
)
