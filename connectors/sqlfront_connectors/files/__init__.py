"""File tables: Parquet, CSV and JSON lines, in directories partitioned the Hive way.

In: a location and options, or rows to insert. Out: batches of the wanted columns in physical form;
directories and Parquet row groups that the filters rule out are not read. A version of a table is a list of
files; inserts add files and publish the next version at once.

Reading order: ``listing`` (which files), ``partition_values`` (what their directories say), ``parquet``,
``csv_format`` and ``json_format`` (the formats; ``options`` and ``conversion`` are what texts need),
``prune`` (what can be skipped), ``scan`` (the source), ``version`` and ``table``. ``text_lines`` is a source
for pipelines only.
"""

from sqlfront_connectors.files.table import FileConnector, FileTable

__all__ = ["FileConnector", "FileTable"]
