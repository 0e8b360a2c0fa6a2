"""File tables: Parquet, ORC, CSV, JSON and text, in directories partitioned the Hive way.

In: a location and options, or rows to insert. Out: batches of the wanted columns in physical form;
directories and Parquet row groups that the filters rule out are not read. A version of a table is a list of
files; inserts add files and publish the next version at once.

Reading order: ``paths`` and ``listing`` (which files, as ``listing_options`` say), ``partition_directories``
and ``partition_values`` (what their directories say), ``parquet_format``, ``orc_format``, ``csv_format``,
``json_format`` and ``text_format`` (the formats, all but text with a folder of their own; ``options``,
``contents``, ``compression`` and ``conversion`` are what texts need, ``varints`` what Parquet and ORC need),
``readers`` and ``scan`` (the source), ``version``, ``commits`` (how the files of an insert appear together),
``table`` and ``connector``. ``text_lines`` is a source for pipelines only.
"""

from sqlfront_connectors.files.connector import FileConnector
from sqlfront_connectors.files.table import FileTable

__all__ = ["FileConnector", "FileTable"]
