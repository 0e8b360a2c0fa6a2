"""Rows between Spark's tasks and the members of a cluster, past the driver: ``loading`` runs the transfer on
the driver, ``tasks`` are the functions of Spark's tasks.
"""
