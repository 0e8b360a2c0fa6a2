"""Window functions.

``registry`` lists the ranking functions and the functions that read other rows; ``frames`` computes aggregate
functions over frames; ``placed`` has a form of results whose long values are copied only when a batch needs
them; ``counters`` computes ``counter_diff``.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "counters")
