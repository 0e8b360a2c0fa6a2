"""Rules of Java's standard library that are visible in Spark's results.

``break_iterator`` finds sentences and words; ``civil`` is the proleptic Gregorian calendar, ``floats`` the
texts of floating-point numbers; ``surrogates`` replaces lone surrogates, which Java's strings may hold and
UTF-8 can't; ``tim_sort`` is the sort by a comparator.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "break_iterator")
