"""Parquet files: ``parquet_format`` reads and writes rows. The other modules check the metadata of a file
before Arrow's reader reads rows, since Arrow ends the process for some damaged files.

In: the bytes of a footer. Out: row groups with the statistics of their columns, or the first fault found in
them. Reading order: ``thrift`` (messages), ``footer``, ``pages`` (their headers), ``types`` (the Spark types
as which a column can be read), ``odd_floats`` (filters for which Spark may leave out rows).
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "parquet_format")
