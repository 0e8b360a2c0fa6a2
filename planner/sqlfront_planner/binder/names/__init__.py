"""Names of result columns and names in messages.

``expression_names`` gives the name that an expression has as a result column, with ``call_names`` for
function calls and ``window_names`` for window functions. ``shown_names`` finds the known names nearest to a
wrong name; ``spark_functions`` lists the names of Spark's functions.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(
    __name__,
    "call_names",
    "lambda_names",
    "routine_names",
    "spark_functions",
    "shown_names",
    "variable_names",
    "window_names",
)
