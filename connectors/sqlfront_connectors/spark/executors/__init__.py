"""Members on a Spark session's executors.

A session goes in, a running cluster comes out, with its keeper beside the driver. Reading order: ``cluster``
(:class:`~sqlfront_connectors.spark.executors.cluster.ExecutorCluster`, the launcher), ``capacity`` (whether
the session has executors and slots for it), ``job`` (the barrier job whose tasks are the members),
``interrupts`` (Ctrl-C doesn't mean that one), ``member`` (what each task does), ``packages`` and
``bootstrap`` (how our code comes to executors that have none of it, for any function of ours in any task).
"""
