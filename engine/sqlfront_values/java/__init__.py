"""Rules of Java's standard library that are visible in Spark's results.

``civil`` is the proleptic Gregorian calendar, ``floats`` the texts of floating-point numbers; ``surrogates``
replaces lone surrogates, which Java's strings may hold and UTF-8 can't; ``tim_sort`` is the sort by a
comparator.
"""
