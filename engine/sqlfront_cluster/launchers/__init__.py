"""Launchers: where a cluster's members come from.

* ``embedded``: members in this process, which hand batches to each other by reference.
* ``local``: child processes on this machine (``child`` is what they run), with the keeper in this one.
* ``by_hand``: one member, with or without the cluster's keeper, for ``sqlfront member``.

``running`` is a member over the network as its process sees it; a client of a cluster is a lite one.
"""
