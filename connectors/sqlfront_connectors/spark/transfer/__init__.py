"""Transfer of rows directly between Spark's tasks and the members of a cluster, without passing the driver:
``loading`` runs the transfer on the driver, ``tasks`` has the functions of Spark's tasks.
"""
