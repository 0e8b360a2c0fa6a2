"""Functions with ANSI mode off that give null for malformed or missing values, made of the functions that
raise an error for them."""

from functools import partial

from msgspec.structs import replace

from sqlfront_values.errors import InternalError
from sqlfront_values.functions.legacy import OR_NULL
from sqlfront_values.functions.numbers.arithmetic import null_for_failures
from sqlfront_values.functions.registry import (
    PreparedKernel,
    ScalarFunction,
    Signature,
    lookup_in_area,
    register,
)


def _or_null(name: str, area: str, conditions: frozenset[str]) -> ScalarFunction:
    entry = lookup_in_area(name, area)
    if entry is None:
        raise InternalError(f"{area} has no function {name}")
    return replace(
        entry,
        name=f"{name} or null",
        kernel=None,
        prepare=partial(_prepared, entry, conditions),
        can_fail=True,
        example=None,
    )


def _prepared(entry: ScalarFunction, conditions: frozenset[str], signature: Signature) -> PreparedKernel:
    return null_for_failures(entry.prepared(signature), signature, conditions)


register(*(_or_null(name, *source) for name, source in OR_NULL.items()))
