"""``createDataFrame`` without Spark: rows of Python values, or a frame, as a table of Arrow's.

In: what PySpark's method takes, as far as it is rows or a frame. Out: an Arrow table, and the query that
reads it. ``forms`` tells the forms apart; ``inference`` finds the types of rows, ``values`` makes their
values fit the types.
"""
