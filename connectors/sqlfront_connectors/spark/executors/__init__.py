"""Members on a Spark session's executors.

A session goes in, a running cluster comes out, with its keeper beside the driver. Reading order: ``cluster``
(:class:`~sqlfront_connectors.spark.executors.cluster.ExecutorCluster`, the launcher), ``capacity`` (the check
for enough executors and slots), ``job`` (the barrier job whose tasks are the members), ``interrupts`` (Ctrl-C
spares that job), ``member`` (the work of each task), ``packages`` and ``bootstrap`` (transport of our code to
executors that lack it, for any function of ours in any task).
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "bootstrap", "cluster")
