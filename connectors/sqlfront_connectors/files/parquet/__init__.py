"""Parquet files: ``parquet_format`` reads and writes rows. The other files check the metadata of a file
before Arrow's reader reads rows, since some damaged files end Arrow's process.

In: the bytes of a footer. Out: row groups with the statistics of their columns, or their fault. Reading
order: ``thrift`` (messages), ``footer``, ``pages`` (their headers), ``types`` (the Spark types as which a
column can be read), ``odd_floats`` (conditions for which Spark may leave out rows).
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "parquet_format")
