"""What an ORC file says of itself, looked at before Arrow's reader is asked for rows: some damaged files end
its process; ``orc_format`` reads them.

In: the bytes of a file. Out: the description of its columns and stripes, or what is wrong with them. Reading
order: ``chunks`` (what is compressed), ``protobuf`` (messages), ``footer`` (the file's and its stripes'),
``runs`` and ``streams`` (of values).
"""
