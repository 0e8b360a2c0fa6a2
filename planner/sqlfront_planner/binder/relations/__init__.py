"""Binding of FROM: the relations (``from_clause``), their ``joins``, and table functions
(``table_functions``), of which ``range_table`` is the table.
"""
