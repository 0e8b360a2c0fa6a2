"""Connectors: the sources of tables and the targets of inserted rows.

``base`` is the contract that a third party would implement: a :class:`~sqlfront_connectors.base.Table` has
immutable snapshots, a snapshot makes a source processor for a scan, and a writable table takes all rows of an
insert or none. The planner knows only that contract. ``registry`` finds a connector by the name after USING.

Reading order: ``base``; ``memory`` (partitioned tables in the memory of the members), ``files`` (Parquet,
ORC, CSV, JSON and text in Hive directories), ``arrow`` (Arrow data as named tables); ``forms`` (the
conversion of Arrow types that Spark doesn't have into types of Spark).
"""
