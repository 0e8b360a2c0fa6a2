"""The planner: SQL text in, a DAG for the engine out.

The steps of a query; the result of each step is the input of the next::

    text --statement.parse--> Query --binder.bind--> logical plan --optimizer.optimize--> logical plan
         --lowering.lower--> DAG in a QueryPlan --QueryPlan.bind(arguments)--> DAG of one run
         --row_lowering--> program over Python tuples in a RowPlan, for queries of a few rows

:func:`sqlfront_planner.planning.plan_query` runs the steps from the query to the QueryPlan. A repeated text,
with equal or different literals, finds its plan in the :mod:`.plan_cache`. From the binder on columns are
ordinals, and every implicit cast of Spark is explicit. The engine knows no SQL, and the planner accesses
tables only through ``sqlfront_connectors.base``.

Reading order: ``statement`` and ``statements`` (the statements); ``tokens``, ``token_checks``,
``token_rewriting`` and ``query_parser`` (from a query's text to sqlglot's tree); ``commands`` and
``statement_builder`` (all other statements); ``binder`` (names and types; ``types`` has Spark's coercions,
``catalog`` the tables and views); ``logical`` (the plan); ``optimizer`` and ``rules`` (one rule per file;
``partial_aggregates`` is an optional rule), with the helpers ``rewriting``, ``join_graph``,
``constant_facts`` and ``statistics``; ``pruning`` (the keys of a table that a query needs; ``preimages``
inverts casts, ``scan_pruning`` reports the pruning); ``lowering`` (the DAG) and ``row_lowering`` (the program
over rows); ``plan``, ``lanes`` (the choice of a query's lane), ``literal_lifting`` and ``plan_cache`` (reuse
of plans), and ``explain``. ``insertion`` and ``modification`` plan the rows of INSERT, DELETE and UPDATE
(``named_columns`` resolves the columns that the statements name); ``pipeline`` builds DAGs without SQL.
"""
