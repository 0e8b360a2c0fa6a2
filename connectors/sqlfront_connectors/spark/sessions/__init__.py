"""Operations on a Spark session beyond PySpark's public methods: ``classic`` (a session with its own JVM;
``arriving_rows`` takes a query's rows as tasks end), ``remote`` (a session over Spark Connect), and the parts
of both: ``temporary_views`` (views for the analysis of a statement) and ``watch`` (notification of changes).
"""
