"""Binding of FROM: the relations (``from_clause``), their ``joins``, and table functions
(``table_functions``), of which ``range_table`` is the table.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "from_clause")
