"""The metadata of a Parquet file, checked before Arrow's reader reads rows: some damaged files end Arrow's
process. ``parquet_format`` reads the rows.

In: the bytes of a footer. Out: row groups with the statistics of their columns, or their fault. Reading
order: ``thrift`` (messages), ``footer``, ``pages`` (their headers), ``types`` (the Spark types as which a
column can be read), ``odd_floats`` (conditions for which Spark may leave out rows).
"""
