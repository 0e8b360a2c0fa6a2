"""Scalar functions: registry entries and kernels, one module per area.

Importing the package registers everything. :mod:`.registry` is the contract; an operator is a function with a
name of :data:`.registry.OPERATORS`.
"""

from sqlfront_engine.functions import (
    arithmetic,
    bits,
    case,
    comparison,
    concatenation,
    conditional,
    date_fields,
    encodings,
    extremes,
    hashing,
    like,
    math,
    padding,
    random_numbers,
    regular_expressions,
    rounding,
    searching,
    similarity,
    strings,
)

__all__ = [
    "arithmetic",
    "bits",
    "case",
    "comparison",
    "concatenation",
    "conditional",
    "date_fields",
    "encodings",
    "extremes",
    "hashing",
    "like",
    "math",
    "padding",
    "random_numbers",
    "regular_expressions",
    "rounding",
    "searching",
    "similarity",
    "strings",
]
