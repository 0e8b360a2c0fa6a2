"""Scalar functions: registry entries and kernels, one module per area.

Importing the package registers everything. :mod:`.registry` is the contract; an operator is a function with a
name of :data:`.registry.OPERATORS`.
"""

from sqlfront_engine.functions import (
    arithmetic,
    case,
    comparison,
    conditional,
    date_fields,
    like,
    strings,
)

__all__ = ["arithmetic", "case", "comparison", "conditional", "date_fields", "like", "strings"]
