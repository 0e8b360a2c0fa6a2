"""TPC-H at scale 0.1: 22 queries whose answers Spark gave, held against sqlfront over files and from memory.

`data` generates the tables, `queries` holds the SQL, `expected` Spark's answers (the format of
`tests.oracle.slt`), `complete` fills these in or checks them, `test_tpch` compares sqlfront with them,
`test_witness` DuckDB.
"""
