"""Plans: from a DAG to the tasklets of one member.

``placement`` chooses the members and the partitions of each vertex, ``blueprint`` is the DAG's shape on one
member (made once and stored with the DAG), ``execution_plan`` makes tasklets and queues from the blueprint
for one job.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "execution_plan", "placement")
