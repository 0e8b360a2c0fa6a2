"""From an optimized logical plan to a program over Python tuples, for queries that read a few rows.

In: a logical plan all of whose leaves are rows by key, small tables or constants. Out: a
:class:`.row_plan.RowPlan`, or None where the plan holds anything that row programs leave to the kernels
(:mod:`sqlfront_engine.row_programs`). It is what the direct lane runs on, and light jobs over a few rows.
"""
