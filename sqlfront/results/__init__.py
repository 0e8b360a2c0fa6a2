"""Results of statements: ``result`` reads rows on demand, ``row`` and ``python_values`` make rows of Python
values, ``boxes`` draws rows as text, ``notebooks`` as HTML, ``schema_tree`` draws the columns;
``pandas_frames`` converts rows as PySpark does; ``spark_names`` has the names of Spark's methods that results
and sessions lack; ``run_facts`` and ``run_explained`` say how a statement ran."""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(
    __name__, "boxes", "notebooks", "pandas_frames", "run_explained", "schema_tree", "variant_value"
)
