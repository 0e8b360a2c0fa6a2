"""A member's part in its cluster: the member's side of the keeper's protocol.

In come the keeper's messages and the messages of other members, from the transport. The member
(:class:`~sqlfront_cluster.members.member.Member`) gets those about jobs and questions, and the member list to
use; heartbeats, reports and requests for changes of documents go out to the keeper. In reading order:

* ``membership`` handles every message and leads the membership through the states of ``membership_state``.
* ``keeper_connection`` finds the keeper and renews the lease; ``member_connections`` connects with the other
  members; ``list_adoption`` chooses the version of the member list in use.
* ``document_copies`` has the documents as this member knows them, and ``watchers`` calls the functions that
  wait for changes.
"""
