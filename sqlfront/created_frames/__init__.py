"""``createDataFrame`` without Spark: rows of Python values, or a frame, become an Arrow table.

In: the data and the schema that PySpark's method takes. Out: an Arrow table, and the query that reads the
table. Reading order: ``forms`` (recognizes the form of the data), ``inference`` (finds the types of rows),
``values`` (converts the rows' values to their types).
"""
