"""Members of a cluster, and the light jobs run by several members.

The input is a DAG, submitted to any member; the result is the same rows as from a single member. The member
that gets the DAG is the job's coordinator: it chooses the participants and sends an Init message to each; the
job ends when all have answered. Reading order: ``messages``, ``member_list``, ``member`` (handles every
message, and every race between messages), ``job_coordinator`` and ``coordination`` (all jobs, and one job,
seen from the coordinator), ``job_participant`` and ``participation`` (the same seen from a participant),
``job_table``, ``wire`` (a job's data), ``requests`` (questions without a job;
``outsider``: questions of processes outside of the cluster), ``listing`` (the queries of all members).

The ``keeper``, one for each cluster, decides on the members (``cluster_messages``). It consists of
``known_members``, ``list_changes`` and ``partition_table`` (the next list, and the owners of partitions),
``keeper_documents``, ``tenure`` (the right to be the keeper), and for a keeper that follows another one
``recovery`` and ``takeover``. ``membership`` is a member's side of the keeper's protocol, between the member
and its transport, with ``keeper_connection``, ``member_connections``, ``list_adoption`` and
``document_copies``.
"""
