"""Compiling the DAG of a query of few rows to functions over Python tuples.

In: a logical plan. Out: a :class:`.row_plan.RowPlan`: the lowered DAG and the functions that its vertices
offer (:mod:`sqlfront_engine.row_programs`); or None if a vertex has none, or if the query may read many rows.
The direct lane and light jobs over a few rows run these functions.
"""
