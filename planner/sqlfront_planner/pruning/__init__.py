"""Pruning: from the conditions of a query to the keys of a table that the query needs, and so to the
required partitions and members.

In: conjuncts over a table's columns, and the columns of the key. Out: :class:`.key_condition.KeyCondition`,
which gives the keys of each run once the arguments are known. This package only reads the conditions; the
connectors find rows by keys, and the engine chooses the members.

Read ``constraints`` (the restrictions of one column), ``key_condition`` (the restrictions of all columns of
a key, and the keys of a run) and then ``analysis`` (restrictions from expressions). ``scans`` has the key
conditions of a query's scans, ``joins`` finds joins in which one side gives the keys of the other at run
time.
"""

from typing import Final

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "analysis", "constraints", "joins")

#: Keys that are looked up one by one at most, unless a setting says otherwise: reading the rows whole is
#: quicker than more look-ups.
MOST_KEYS: Final = 1000
