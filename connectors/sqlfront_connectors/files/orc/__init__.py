"""ORC files: ``orc_format`` reads rows. The other files check the metadata of a file before
Arrow's reader reads rows, since some damaged files end Arrow's process.

In: the bytes of a file. Out: the description of its columns and stripes, or their fault. Reading order:
``chunks`` (compressed chunks), ``protobuf`` (messages), ``footer`` (the footers of the file and its stripes),
``runs`` and ``streams`` (values).
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "orc_format")
