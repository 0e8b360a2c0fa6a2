"""Members of a cluster, and the light jobs that they run together.

In: a DAG, submitted to any member. Out: the same rows as from one member. The member that it was submitted
to coordinates it: it chooses the participants and sends each of them one init, and their answers are the end.
Reading order: ``messages`` (what is said), ``member_list``, ``member`` (who hears it, and every race between
messages), ``coordination`` and ``participation`` (a job from both sides), ``wire`` (its data), ``requests``
(questions without a job; ``outsider``: those of somebody who is no member), ``listing`` (the queries of all
members).

Who the members are is said by the ``keeper``, one for each cluster (``cluster_messages``); ``membership`` is
a member's part in it, between the member and its transport; ``partition_table`` deals out the partitions.
"""
