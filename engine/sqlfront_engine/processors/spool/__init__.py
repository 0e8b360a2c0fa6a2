"""Operators around spool files: ``spool_write`` is a sink, ``spool_scan`` a source.

:mod:`sqlfront_engine.spool` has the files.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "spool_scan", "spool_write")
