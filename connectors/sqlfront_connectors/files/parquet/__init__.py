"""What a Parquet file says of itself, looked at before Arrow's reader is asked for rows: some damaged files
end its process; ``parquet_format`` reads them.

In: the bytes of a footer. Out: row groups with the statistics of their columns, or what is wrong with them.
Reading order: ``thrift`` (messages), ``footer``, ``pages`` (their headers), ``types`` (which of Spark's types
a column is read as), ``odd_floats`` (conditions for which Spark may leave out rows).
"""
