"""Functions of the sketches that estimate numbers of different values: hll_union, theta_difference and
others."""

import math
from collections.abc import Callable
from typing import Final

import pyarrow as pa

from sqlfront_values.arrow.forms import Datum
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import ScalarFunction, register
from sqlfront_values.functions.rowwise import row_kernel
from sqlfront_values.functions.sketches import hll, theta
from sqlfront_values.types import BIGINT, BINARY, BOOLEAN, INT

#: Bytes of a sketch with the default number of registers, or with few values: a result may have more if an
#: argument has.
_USUAL: Final = 1 << 16


def _whole(estimate: float) -> int:
    return math.floor(estimate + 0.5)


def _hll_estimate(buffer: bytes) -> int:
    return _whole(hll.load(buffer, "hll_sketch_estimate").get_estimate())


def _hll_union(left: bytes, right: bytes, mixed: bool = False) -> bytes:
    first, second = (hll.load(buffer, "hll_union") for buffer in (left, right))
    sizes = first.lg_config_k, second.lg_config_k
    if sizes[0] != sizes[1] and not mixed:
        raise hll.different_sizes(*sizes, "hll_union")
    return hll.union((first, second), min(sizes))


def _theta_estimate(buffer: bytes) -> int:
    return _whole(theta.load(buffer, "theta_sketch_estimate", any_seed=True).get_estimate())


def _theta_union(left: bytes, right: bytes, lg_entries: int = theta.DEFAULT_LG_ENTRIES) -> bytes:
    theta.check_lg_entries(lg_entries, "theta_union")
    return theta.dump(
        theta.union((theta.load(buffer, "theta_union") for buffer in (left, right)), lg_entries)
    )


def _theta_intersection(left: bytes, right: bytes) -> bytes:
    return theta.dump(
        theta.intersection([theta.load(buffer, "theta_intersection") for buffer in (left, right)])
    )


def _theta_difference(left: bytes, right: bytes) -> bytes:
    first, second = (theta.load(buffer, "theta_difference") for buffer in (left, right))
    return theta.dump(theta.difference(first, second))


def _growth(arguments: tuple[Datum, ...], rows: int) -> int:
    return growth.of_arguments(arguments, rows) + _USUAL * rows


def _function(
    name: str, types: tuple[pa.DataType, ...], kernel: Callable[..., object], optional: int, example: str
) -> ScalarFunction:
    counts = types == (BINARY,)
    return ScalarFunction(
        name,
        types,
        BIGINT if counts else BINARY,
        row_kernel(kernel),
        optional=optional,
        can_fail=True,
        exact=tuple(range(len(types))),
        growth=growth.of_arguments if counts else _growth,
        example=(example, "1"),
    )


#: Sketches of the number 1.
_HLL: Final = "X'0201070C030001082BF2FB06000000000000000000000000000000000000000000000000000000000000'"
_THETA: Final = "X'01030300003ACC9315F97DCBBD86A105'"

register(
    _function("hll_sketch_estimate", (BINARY,), _hll_estimate, 0, f"hll_sketch_estimate({_HLL})"),
    _function(
        "hll_union",
        (BINARY, BINARY, BOOLEAN),
        _hll_union,
        1,
        f"hll_sketch_estimate(hll_union({_HLL}, {_HLL}))",
    ),
    _function("theta_sketch_estimate", (BINARY,), _theta_estimate, 0, f"theta_sketch_estimate({_THETA})"),
    _function(
        "theta_union",
        (BINARY, BINARY, INT),
        _theta_union,
        1,
        f"theta_sketch_estimate(theta_union({_THETA}, {_THETA}))",
    ),
    _function(
        "theta_intersection",
        (BINARY, BINARY),
        _theta_intersection,
        0,
        f"theta_sketch_estimate(theta_intersection({_THETA}, {_THETA}))",
    ),
    _function(
        "theta_difference",
        (BINARY, BINARY),
        _theta_difference,
        0,
        f"theta_sketch_estimate(theta_difference({_THETA}, X'01030300001E0000'))",
    ),
)
