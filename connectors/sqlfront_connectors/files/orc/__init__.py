"""The metadata of an ORC file, checked before Arrow's reader reads rows: some damaged files end Arrow's
process. ``orc_format`` reads the rows.

In: the bytes of a file. Out: the description of its columns and stripes, or their fault. Reading order:
``chunks`` (compressed chunks), ``protobuf`` (messages), ``footer`` (the footers of the file and its stripes),
``runs`` and ``streams`` (values).
"""
