"""Binding of FROM: its relations (``from_clause``), their ``joins``, and table functions
(``table_functions``). ``range_table`` is the table of the function ``range``.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "from_clause", "laterals")
