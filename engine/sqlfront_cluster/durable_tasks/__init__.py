"""Tasks of durable jobs on the members of a cluster.

The coordinator of a job (:mod:`sqlfront_engine.durable`) gives its tasks to a runner. ``member_runner`` hands
the tasks out to members; ``task_service`` is the service that runs the tasks on a member, and ``task_door``
the part of the service that a member loads at its start; ``task_messages`` has what the two say to each
other.

Rows between stages are in the job's store, or on the disks of the members that have made them
(``member_disk``), which read them from each other (``output_places``).

Members go on with their tasks when the coordinator is lost, for the time of a lease. A successor of the
coordinator asks them what they have, and adopts it; questions of coordinators with a successor are refused.
What a member tells after the successor's wait is of no use any more: the member ends it.
"""
