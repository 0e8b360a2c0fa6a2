"""The cluster: members that run jobs together, in this process or over a network.

The highest of the three packages below ``engine/``: based on :mod:`sqlfront_engine`, which runs jobs in one
process, and on :mod:`sqlfront_values`. In reading order:

* :mod:`.network`: messages and Arrow bodies between two members, over sockets or within a process.
* :mod:`.codec`: plans, settings, errors and batches as bytes.
* :mod:`.members`: the keeper of the member list; membership; light jobs of several members.
* :mod:`.launchers`: processes and threads as members.
* :mod:`.durable_tasks`: tasks of durable jobs on members.
* :mod:`.simulation`: members, network and time in one thread under a seed, for tests.
"""
