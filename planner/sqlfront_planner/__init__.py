"""The planner: SQL text in, a DAG for the engine out.

The steps of a query; the result of each step is the input of the next::

    text --statement.parse--> Query --binder.bind--> logical plan --optimizer.optimize--> logical plan
         --lowering.lower--> DAG in a QueryPlan --QueryPlan.bind(arguments)--> DAG of one run
         --row_compiler--> functions over Python tuples in a RowPlan, for DAGs of a few rows

:func:`sqlfront_planner.planning.plan_query` runs the steps from the query to the QueryPlan. A repeated text,
with equal or different literals, finds its plan in the :mod:`.plan_cache`. From the binder on columns are
ordinals, and every implicit cast of Spark is explicit. The engine knows no SQL, and the planner accesses
tables only through ``sqlfront_connectors.base``.

Reading order, by the steps of a statement: ``statement`` (its first step), with the packages ``syntax``
(whether Spark accepts a text), ``tokens`` and ``statements`` (the parsers); ``binder`` (names and types;
``types`` has Spark's coercions, ``catalog`` the tables and views) and ``table_changes`` (the rows of INSERT,
DELETE and UPDATE); ``logical`` and ``lateral_joins`` (the plan) and ``check`` (its invariants); ``optimizer``
and ``rules`` (one rule per file, in packages by what the rules do), with ``expressions`` (properties of bound
expressions) and ``statistics``; ``shared_rows`` (subplans that a query computes once) and ``recursion``;
``lanes`` (the choice of a query's lane); ``pruning`` (the keys of a table that a query needs), ``lowering``
(the DAG), ``shared_plans`` (the jobs of shared rows) and ``row_compiler`` (a DAG as functions over rows);
``plan``, ``run_values``, ``literal_lifting`` and ``plan_cache`` (reuse of plans); ``explain``. ``pipeline``
builds DAGs without SQL.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "coercion", "merged_sessions", "run_values", "types")
