"""Tasks of durable jobs on the members of a cluster.

The coordinator of a job (:mod:`sqlfront_engine.durable`) gives its tasks to a runner. ``member_runner`` hands
the tasks out to members; ``task_service`` is the service that runs the tasks on a member, and ``task_door``
the part of the service that a member loads at its start.

Members go on with their tasks when the coordinator is lost, for the time of a *lease*. A successor of the
coordinator asks the members for the runs that they have, and adopts runs that it can use. A member refuses
the questions of a coordinator that has a successor.
"""
