"""Binding of grouped queries: the keys of GROUP BY (``group_by``), the step from the input's row to the
groups' row (``group_rows``), and the names that HAVING and ORDER BY see there (``group_names``).
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "group_by", "group_names", "group_rows")
