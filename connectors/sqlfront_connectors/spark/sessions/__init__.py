"""Operations on a Spark session that PySpark's public methods don't offer.

Modules: ``classic`` (a session with its own JVM; ``arriving_rows`` yields a query's rows while its tasks
end), ``remote`` (a session over Spark Connect), and two that both use: ``temporary_views`` (views for the
analysis of a statement) and ``watch`` (notification of changes).
"""
