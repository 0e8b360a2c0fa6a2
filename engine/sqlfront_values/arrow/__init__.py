"""Arrow's arrays, scalars and kernels, as the whole code base uses them.

``arrays`` converts between Arrow, numpy and Python values without pandas; ``kernels`` replaces
``pyarrow.compute`` and loads late; ``forms`` has the physical forms (decimals as scaled integers, strings by
dictionary); ``dictionaries`` computes once per distinct string; ``exchange`` converts intervals and variants
to and from their types outside, ``variant_rows`` packs variants; ``bounds`` checks batches from outside."""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "exchange", "forms", "variant_rows")
