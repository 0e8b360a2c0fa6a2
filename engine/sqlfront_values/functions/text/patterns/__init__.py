"""LIKE and Java's regular expressions.

``java_regex`` translates a Java pattern; ``re2`` runs the pattern in Arrow's kernels if RE2 gives the same
answer, ``regex_matching`` runs it in Python; ``regular_expressions`` has the functions, ``like`` has LIKE and
ILIKE.
"""
