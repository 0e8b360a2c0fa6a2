"""From an optimized logical plan to the DAG.

In: a logical plan without subquery expressions. Out: a :class:`Lowered`: the DAG with its sink, and its
scans. Each logical node becomes one vertex, or two where work is done before rows are exchanged; each edge
says next to its operator how rows get there.

For several members the same logical plan becomes a DAG whose parallel vertices are on all of them and
whose exchanges are distributed edges (:func:`lower_distributed`).

Reading order: :func:`lower` below (one case per node), then ``builder`` (fragments and edges), ``scans``,
``joins``, ``aggregates``, ``windows``, ``sorts``.
"""

from sqlfront_planner.lowering.builder import Store
from sqlfront_planner.lowering.lower import Lowered, lower, lower_distributed

__all__ = ["Lowered", "Store", "lower", "lower_distributed"]
