"""Binding of grouped queries.

``group_by`` binds the keys of GROUP BY; ``group_rows`` rewrites expressions over the input's row as
expressions over the groups' row, which has the keys and the aggregates' values; ``group_names`` finds the
names that HAVING and ORDER BY see over the groups.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "group_by", "group_names", "group_rows")
