"""From an optimized logical plan to the DAG.

In: a logical plan without subquery expressions. Out: a :class:`Lowered`: the DAG with its sink, and its
scans. Each logical node becomes one vertex, or two where work is done before rows are exchanged; each edge
says next to its operator how rows get there.

Reading order: :func:`lower` below (one case per node), then ``builder`` (fragments and edges), ``scans``,
``joins``, ``aggregates``, ``windows``, ``sorts``.
"""

from sqlfront_planner.lowering.lower import Lowered, lower

__all__ = ["Lowered", "lower"]
