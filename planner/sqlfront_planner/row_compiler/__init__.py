"""Compiling the DAG of a query of few rows to functions over Python tuples.

In: a logical plan. Out: a :class:`.row_plan.RowPlan`: the lowered DAG, and for each vertex a function over
rows (:mod:`sqlfront_engine.row_programs`); or None if the processor of a vertex has no such function, or if
the query may read many rows. The direct lane, and light queries over a few rows, run these functions.
"""
