"""Spark's schemas: which columns, and which values inside of columns, may hold nulls.

``schemas.txt`` has queries with the trees that Spark's ``printSchema`` prints: those of ``queries.sql``,
and the documented examples of Spark's functions. The test compares sqlfront's trees. To renew the
answers, and then the list of queries whose trees differ still:

    python -m tests.oracle.schemas.complete
    python -m tests.oracle.schemas.comparison --write
"""
