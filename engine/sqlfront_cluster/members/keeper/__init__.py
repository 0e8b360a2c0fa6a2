"""The keeper of a cluster: decides on the members, the owners of partitions, and the documents.

In come the messages of members and clients: requests to join or leave, heartbeats, changes of documents. Out
go versions of the member list and changes of documents, in one order to all. The process that has the keeper
is the concern of :mod:`sqlfront_cluster.launchers`. In reading order:

* ``keeper`` handles every message, by the limits in ``keeper_settings`` and as long as ``tenure`` grants the
  process the right to be the keeper.
* ``known_members`` has the members and newcomers; ``ended_processes`` tells whose process has ended;
  ``list_changes`` and ``partition_table`` make the next list and its owners of partitions;
  ``keeper_documents`` has the documents.
* ``recovery`` and ``takeover`` begin a keeper that follows another one, from the reports of the members.
"""
