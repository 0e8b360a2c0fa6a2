"""File tables: Parquet, ORC, CSV, JSON and text, in directories partitioned the Hive way.

In: a location and options, or rows to insert. Out: batches of the wanted columns in physical form;
directories and Parquet row groups that the filters rule out are not read. A version of a table is a list of
files; inserts add files and publish the next version at once.

Reading order: ``locations`` (the files of a location, and partition columns from directory names); the
formats: ``parquet`` and ``orc`` (both use ``schemas`` and ``varints``), ``csv``, ``json`` and ``text`` (these
use ``contents`` and ``compression``), and ``format_options`` (the options of the formats that
have no module ``settings``); ``readers`` and ``scan`` (the source), ``version``; ``writers`` (the hidden
folders of unfinished files, and locks), ``commits`` (all files of an insert appear at once) and
``replacement`` (of a whole folder, by ``exchange``); ``file_write`` (from rows to files), ``table``,
``table_files`` (tables of other programs), ``directory`` (INSERT OVERWRITE DIRECTORY) and ``connector``.
"""

from sqlfront_connectors.files.connector import FileConnector
from sqlfront_connectors.files.table import FileTable

__all__ = ["FileConnector", "FileTable"]
