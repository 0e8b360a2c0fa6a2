"""Sources without a connector: rows of the query itself, of a range, of a subquery, of an earlier job."""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "held_rows", "scalar_row", "split_scan")
