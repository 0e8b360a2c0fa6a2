"""The schema ``information_schema``: tables that describe the session's schemas, tables, columns, views and
functions, with the SQL standard's names, for tools that read the catalog by SQL.

In comes the name of a table, such as ``information_schema.tables``, in a statement; out goes an Arrow table
with the current rows, made when the statement is planned. Reading order: ``columns`` (the columns of each
table), ``schemas`` (these tables and those of ``sys``), ``relations`` (the relations of this session and of
Spark), ``rows`` (the rows that describe a relation), ``service`` (makes the tables, and reuses rows that are
still right).
"""
