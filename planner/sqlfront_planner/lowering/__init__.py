"""Lowering: from an optimized logical plan to the DAG.

In: a logical plan without subquery expressions. Out: a :class:`LoweredQuery`: the DAG with its sink, and its
scans. Each logical node becomes one vertex, or two if work is done before rows are exchanged. The function
that lowers an operator also sets the routing of the operator's input edges.

For several members the same logical plan becomes a DAG whose parallel vertices run on all members and whose
exchanges are distributed edges (:func:`lower_distributed`).

Reading order: :func:`lower` below (one case per node), then ``builder`` (fragments and edges), ``scans``,
``joins``, ``aggregates``, ``windows``, ``sorts``.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "aggregates", "generators", "joins", "sorts", "windows")

from sqlfront_planner.lowering.builder import StorageTarget
from sqlfront_planner.lowering.lower import LoweredQuery, lower, lower_distributed

__all__ = ["LoweredQuery", "StorageTarget", "lower", "lower_distributed"]
