"""Members on a Spark session's executors.

The input is a session, the output a running cluster, whose keeper runs in the driver's process. Reading
order: ``cluster`` (:class:`~sqlfront_connectors.spark.executors.cluster.ExecutorCluster`, the launcher),
``capacity`` (the check for enough executors and slots), ``job`` (the barrier job whose tasks are the
members), ``interrupts`` (Ctrl-C spares that job), ``member`` (the work of each task), ``packages`` and
``bootstrap`` (transport of sqlfront's code to executors that lack it, for these and other tasks).
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "bootstrap", "cluster")
