"""Aggregates of sketches: numbers of different values, and quantiles."""

from collections.abc import Callable
from functools import partial
from typing import Final

import pyarrow as pa

from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.aggregates.accumulators.base import Accumulator
from sqlfront_values.functions.aggregates.accumulators.sketches import Sketches
from sqlfront_values.functions.aggregates.aggregate_function import AggregateFunction, AggregateSignature
from sqlfront_values.functions.registry import Kind
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
    return (
        AggregateFunction(
            name,
            (kind.type, INT),
            BINARY,
            partial(_sketches, make=partial(_kll, kind=kind, name=name), unique=False),
            optional=1,
            constants=(1,),
            allowed=(_KLL_TYPES[kind.suffix], (INT,)),
            example=(f"SELECT {count}({name}({values}) FROM VALUES (1), (2), (2) AS t(x)", "3"),
        ),
        AggregateFunction(
            merge,
            (BINARY, INT),
            BINARY,
            partial(_sketches, make=partial(_kll_merge, kind=kind, name=merge), unique=False),
            optional=1,
            constants=(1,),
            allowed=((BINARY,), (INT,)),
            example=(
                f"SELECT {count}({merge}(s)) FROM (SELECT {name}({values} AS s FROM VALUES (1), (2) AS t(x))",
                "2",
            ),
        ),
    )


FUNCTIONS: Final[tuple[AggregateFunction, ...]] = (
    AggregateFunction(
        "hll_sketch_agg",
        (Kind.ANY, INT),
        BINARY,
        partial(_sketches, make=_hll, unique=True),
        optional=1,
        constants=(1,),
        shown_defaults=("12",),
        distinct_matters=False,
        allowed=(_HLL_TYPES, (INT,)),
        constant_condition="HLL_K_MUST_BE_CONSTANT",
        example=(_ESTIMATED.format("hll_sketch_estimate", "hll_sketch_agg"), "2"),
    ),
    AggregateFunction(
        "hll_union_agg",
        (BINARY, BOOLEAN),
        BINARY,
        partial(_sketches, make=_hll_union, unique=False),
        optional=1,
        constants=(1,),
        shown_defaults=("false",),
        allowed=((BINARY,), (BOOLEAN,)),
        example=(_UNITED.format("hll_sketch_estimate", "hll_union_agg", "hll_sketch_agg"), "2"),
    ),
    AggregateFunction(
        "theta_sketch_agg",
        (Kind.ANY, INT),
        BINARY,
        partial(_sketches, make=_theta, unique=True),
        optional=1,
        constants=(1,),
        shown_defaults=("12",),
        distinct_matters=False,
        allowed=(_THETA_TYPES, (INT,)),
        constant_condition="THETA_LG_NOM_ENTRIES_MUST_BE_CONSTANT",
        example=(_ESTIMATED.format("theta_sketch_estimate", "theta_sketch_agg"), "2"),
    ),
    AggregateFunction(
        "theta_union_agg",
        (BINARY, INT),
        BINARY,
        partial(_sketches, make=_theta_union, unique=False),
        optional=1,
        constants=(1,),
        shown_defaults=("12",),
        distinct_matters=False,
        allowed=((BINARY,), (INT,)),
        constant_condition="THETA_LG_NOM_ENTRIES_MUST_BE_CONSTANT",
        example=(_UNITED.format("theta_sketch_estimate", "theta_union_agg", "theta_sketch_agg"), "2"),
    ),
    AggregateFunction(
        "theta_intersection_agg",
        (BINARY,),
        BINARY,
        partial(_sketches, make=lambda _: theta.ThetaIntersections("theta_intersection_agg"), unique=False),
        distinct_matters=False,
        allowed=((BINARY,),),
        example=(_UNITED.format("theta_sketch_estimate", "theta_intersection_agg", "theta_sketch_agg"), "2"),
    ),
    *(function for kind in kll.KINDS for function in _of_kll(kind)),
)
