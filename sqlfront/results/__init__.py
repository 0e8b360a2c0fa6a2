"""Results of statements: ``result`` reads rows on demand, ``row`` and ``python_values`` are rows in Python,
``boxes`` draws rows as text; ``run_facts`` and ``run_explained`` say how a statement ran."""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "boxes", "run_explained")
