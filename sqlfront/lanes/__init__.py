"""Lanes: the kinds of execution by which a session answers a query.

Each lane is a class with the methods of :class:`~sqlfront.lanes.way.Way`: ``rows`` (programs over a few
rows), ``light`` (light jobs, which ``jobs`` submits).
The way of statements other than queries is in :mod:`sqlfront.commands.ways`, that of queries as durable jobs
in :mod:`sqlfront.commands.durable_way`; the ways through a Spark session beside this session are in
:mod:`sqlfront.spark.ways`. :mod:`sqlfront.decide` chooses the way of a statement; :mod:`sqlfront.walk` runs
the way, and decides again after a :class:`~sqlfront.lanes.request.Replan`.
"""
