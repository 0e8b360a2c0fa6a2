"""Binding of expressions: ``expression_binder`` binds any expression, by the handlers that the other modules
register for a kind of expression each. ``arguments`` checks and casts the arguments of calls.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "casts", "columns", "time_arithmetic")
