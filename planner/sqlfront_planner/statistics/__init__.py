"""Estimates of the number of rows of a plan: for the planner's choices, never for answers.

``selectivity`` estimates the share of rows that pass a condition, ``cardinality`` the rows of a plan;
``number_line`` maps values of any type to numbers.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "selectivity")
