"""Binding of expressions: ``expression_binder`` binds any expression, by handlers that each of the other
modules registers for its kinds of expressions. ``arguments`` checks and casts the arguments of calls.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "casts", "clock_arithmetic", "columns", "time_arithmetic")
