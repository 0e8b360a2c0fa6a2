"""The schema ``information_schema``: tables that describe the session's schemas, tables, columns, views and
functions, with the SQL standard's names, for tools that ask by queries.

A statement names ``information_schema.tables``; out goes an Arrow table with the current rows, made when the
statement is planned. Reading order: ``columns`` (the columns of each table), ``schemas`` (the same, with the
tables of ``sys``), ``relations`` (the relations of this session and of Spark), ``rows`` (the rows that
describe a relation), ``service`` (the tables, and the rows that are kept as long as they are right).
"""
