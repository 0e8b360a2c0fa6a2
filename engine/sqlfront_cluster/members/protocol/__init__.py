"""The protocol between members, clients and the keeper: the messages, and the facts that they carry.

The transport decodes the bytes of a peer into the messages defined here and encodes the answers;
:mod:`.jobs <sqlfront_cluster.members.jobs>`, :mod:`.questions <sqlfront_cluster.members.questions>`,
:mod:`.keeper <sqlfront_cluster.members.keeper>` and :mod:`.membership <sqlfront_cluster.members.membership>`
make and handle them. Keeper and members hold equal copies of the facts.

``messages`` has the messages between members, ``cluster_messages`` those between members and the keeper;
``member_list`` the members and the owners of partitions; ``document`` a replicated document, and
``applied_changes`` the changes of documents that their writers may ask for again; ``keeper_names`` the names
of keepers, and ``removed_members`` those of members that may not come back.
"""
