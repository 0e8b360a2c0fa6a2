"""The planner: SQL text in, a DAG for the engine out.

A query's way, each step's result being what the next one takes::

    text --statement.parse--> Query --binder.bind--> logical plan --optimizer.optimize--> logical plan
         --lowering.lower--> DAG in a QueryPlan --QueryPlan.bind(arguments)--> DAG of one run
         --row_lowering--> program over Python tuples in a RowPlan, if it reads but a few rows

:func:`sqlfront_planner.planning.plan_query` is that way in three lines. A text that comes again, with the
same literals or others, finds its plan in the :mod:`.plan_cache`. Columns are ordinals from the binder
on, and every implicit cast of Spark's is written out; the engine knows no SQL, and the planner knows tables
only by ``sqlfront_connectors.base``.

Reading order: ``statement`` and ``statements`` (what there is to run); ``tokens``, ``token_checks``,
``token_rewriting`` and ``query_parser`` (a query's text to sqlglot's tree); ``commands`` and
``statement_builder`` (all other statements); ``binder`` (names and types; ``types`` has Spark's coercions,
``catalog`` the tables and views); ``logical`` (the plan); ``optimizer`` and ``rules`` (one rule a file;
``partial_aggregates`` is one for who asks for it), with ``rewriting``, ``join_graph``, ``constant_facts`` and
``statistics`` under them; ``pruning`` (which keys of a table a query needs; ``preimages`` are casts
backwards, ``scan_pruning`` tells of it); ``lowering`` (the DAG) and ``row_lowering`` (the program over rows);
``plan``, ``lanes`` (which way a query goes), ``literal_lifting`` and ``plan_cache`` (plans used again), and
``explain``. ``insertion`` and ``modification`` are what INSERT, DELETE and UPDATE do before a table
(``named_columns`` are those that they name); ``pipeline`` is the other door to the DAG, without any SQL.
"""
