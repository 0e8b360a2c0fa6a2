"""Properties and rewrites of bound expressions, for the binder, the rules and the pruning.

``rewriting`` rewrites expressions over one row as expressions over another row. ``preimages`` inverts casts;
``unwrap_casts`` makes a comparison of a cast column a comparison of the column itself. ``constant_facts`` and
``derived_predicates`` find conditions that follow from other conditions.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "preimages")
