"""Members of a cluster, and the light jobs run by several members.

The input is a DAG, submitted to any member; the result is the same rows as from a single member. The member
that gets the DAG is the job's coordinator: it chooses the participants and sends an Init message to each; the
job ends when all have answered. In reading order:

* :mod:`.protocol`: the messages, and the facts that they carry: member list, documents, names.
* :mod:`.jobs`: light jobs, seen from the coordinator, from a participant, and from a client.
* :mod:`.questions`: questions without a job: lookups, listings of queries, outcomes of jobs.
* :mod:`.member`: a member, which handles every message about jobs and questions, and every race between
  messages.
* :mod:`.keeper`: the keeper, one for each cluster, which decides on the members, the owners of partitions and
  the documents.
* :mod:`.membership`: a member's side of the keeper's protocol, between the member and its transport.

Who may import whom: ``membership`` > ``member`` > ``jobs`` and ``questions`` > ``protocol``, and ``keeper`` >
``protocol``.
"""
