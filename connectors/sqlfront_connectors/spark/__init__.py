"""Access to a Spark session: sqlfront's statements run on it, and rows move in both directions.

A statement's text goes in; Arrow batches in physical form come out, or one of sqlfront's errors. Reading
order: ``types`` (Spark's types and ours) and ``expression_texts`` (bound expressions as Spark's SQL),
``link`` (:class:`~sqlfront_connectors.spark.link.SparkLink`: the session), ``run`` (a running statement and
its cancellation), ``rows`` and ``parquet_exchange`` (rows as Arrow and as files), ``table`` (Spark's tables)
and ``file_tables`` (those whose files sqlfront can write), ``started_sessions`` (sessions that sqlfront
starts), ``failures`` (Spark's errors as ours). The subpackages: ``sessions`` (operations that differ between
a session with its own JVM and a session over Spark Connect), ``transfer`` (rows between Spark's tasks and
members, without passing the driver), ``executors`` (members on a session's executors).

Nothing here imports ``pyspark`` before a session exists (extra ``spark``).
"""
