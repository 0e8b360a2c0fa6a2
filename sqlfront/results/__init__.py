"""Results of statements: ``result`` reads rows on demand, ``row`` and ``python_values`` are rows in Python,
``boxes`` draws rows as text, ``notebooks`` as HTML, ``schema_tree`` the columns; ``pandas_frames`` converts
rows as PySpark does, ``spark_names`` has the methods of Spark that results and sessions lack;
``run_facts`` and ``run_explained`` say how a statement ran."""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "boxes", "notebooks", "pandas_frames", "run_explained", "schema_tree")
