"""File tables: Parquet, ORC, CSV, JSON and text, in directories partitioned the Hive way.

In: a location and options, or rows to insert. Out: batches of the wanted columns in physical form;
directories and Parquet row groups that the filters rule out are not read. A version of a table is a list of
files; inserts add files and publish the next version at once.

Reading order: ``paths`` and ``listing`` (the files of a location, as ``listing_options`` choose),
``partition_directories`` and ``partition_values`` (partition columns from directory names),
``parquet_format``, ``orc_format``, ``csv_format``, ``json_format`` and ``text_format`` (the formats, all but
text with a folder of their own; ``options``, ``contents``, ``compression`` and ``conversion`` serve the text
formats, ``varints`` Parquet and ORC), ``readers`` and ``scan`` (the source), ``version``, ``commits`` (atomic
appearance of an insert's files), ``table`` and ``connector``. ``text_lines`` is a source for pipelines only.
"""

from sqlfront_connectors.files.connector import FileConnector
from sqlfront_connectors.files.table import FileTable

__all__ = ["FileConnector", "FileTable"]
