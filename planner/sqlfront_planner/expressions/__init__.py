"""Properties and rewrites of bound expressions, for the binder, the rules and the pruning.

``rewriting`` moves expressions between rows. ``preimages`` inverts casts; ``unwrap_casts`` compares a column
without its cast. ``constant_facts`` and ``derived_predicates`` find the conditions that follow from other
conditions.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "preimages")
