"""Spark's functions as somebody else tests them: the feature files that the PyPI package ``pysail`` carries.

A scenario is a SQL text with Spark's rows, schema or error. The same steps run on sqlfront and, for the
baseline, on PySpark: ``make features`` counts the scenarios that PySpark passes and sqlfront answers the
same, refuses by name, or answers differently. The files stay in their package (Apache-2.0).
"""
