"""ORC files: ``orc_format`` reads rows. The other modules check the metadata of a file before Arrow's reader
reads rows, since Arrow ends the process for some damaged files.

In: the bytes of a file. Out: the description of its columns and stripes, or the first fault found in them.
Reading order: ``chunks`` (compressed chunks), ``protobuf`` (messages), ``footer`` (the footers of the file
and its stripes), ``runs`` and ``streams`` (values).
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "orc_format")
