"""Spark: a Spark session for statements of sqlfront, and rows in both directions.

A statement's text goes in; Arrow batches in physical form come out, or one of sqlfront's errors. Reading
order: ``types`` (Spark's types and ours) and ``texts`` (bound expressions as Spark's SQL), ``link``
(:class:`~sqlfront_connectors.spark.link.SparkLink`: the session), ``run`` (a running statement and its
cancellation), ``rows``, ``arriving`` and ``exchange`` (rows as Arrow, as tasks end, and as files), ``table``
(Spark's tables), ``loading`` and ``tasks`` (rows between Spark's tasks and members, past the driver),
``starting`` (sessions that sqlfront starts), ``failures`` (Spark's errors as ours), ``watch`` (notification
of changes), ``classic`` and ``remote`` (operations that differ between a session with its own JVM and a
session over Spark Connect). ``executors``: members on a session's executors.

Nothing here imports ``pyspark`` before a session exists (extra ``spark``).
"""
