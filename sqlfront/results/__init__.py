"""Results of statements: ``result`` reads rows on demand, ``row`` and ``python_values`` are rows in Python,
``boxes`` draws rows as text; ``run_facts`` and ``run_explained`` say how a statement ran."""
