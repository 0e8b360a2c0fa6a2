"""Lowering of an optimized logical plan to a program over Python tuples, for queries that read a few rows.

In: a logical plan whose leaves are all rows by key, small tables or constants. Out: a
:class:`.row_plan.RowPlan`, or None if the plan holds an operation that row programs leave to the kernels
(:mod:`sqlfront_engine.row_programs`). The direct lane and light jobs over a few rows run these programs.
"""
