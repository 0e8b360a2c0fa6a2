"""Binding of function calls: ``calls`` binds the scalar functions of the registry, ``aggregates`` the calls
of aggregate functions, and the other modules the functions with a special syntax or special types.
``function_names`` lists the available functions.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "sketch_calls")
