"""Spark: one session as the house sees it, and rows both ways.

A statement's text goes in, Arrow batches in physical form come out, or one of our errors. Reading order:
``types`` (Spark's types and ours) and ``texts`` (bound expressions as Spark's SQL), ``link``
(:class:`~sqlfront_connectors.spark.link.SparkLink`: the session), ``run`` (a statement while it runs, and how
it is stopped), ``rows``, ``arriving`` and ``exchange`` (rows as Arrow, as tasks end, and as files), ``table``
(what Spark has), ``loading`` and ``tasks`` (rows between Spark's tasks and members, past the driver),
``starting`` (sessions that are started for somebody), ``failures`` (Spark's errors as ours), ``watch`` (who
wants to know of changes), ``classic`` and ``remote`` (what is done in one way by a session with a JVM of its
own, and in another over Spark Connect). ``executors``: members on a session's executors.

Nothing here imports ``pyspark`` before a session is there (extra ``spark``).
"""
