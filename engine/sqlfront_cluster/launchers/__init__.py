"""Launchers of a cluster's members.

* ``embedded``: members in a single process, which hand over batches by reference.
* ``local``: child processes on the launcher's machine (each runs ``child``), with the keeper in the
  launcher's process.
* ``by_hand``: a single member, with or without the cluster's keeper, for the command ``sqlfront member``.

``running`` is a networked member in the process that uses it; a cluster's client is a lite member.
"""
