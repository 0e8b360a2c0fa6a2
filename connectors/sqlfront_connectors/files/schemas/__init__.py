"""The schemas of Parquet and ORC files: the types that Spark records in a file (``recorded_types``), the
merge of several files' schemas (``merging``), and the conversion of nested columns to a table's schema
(``nested_columns``).
"""
