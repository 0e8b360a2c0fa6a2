"""Which keys of a table a query needs: from its conditions to key values, and so to partitions and members.

In: conjuncts over a table's columns, and the columns that rows are found by. Out:
:class:`.key_condition.KeyCondition`, which gives the keys of each run once its arguments are known. The
conditions are only read here; who finds rows by keys is a matter of the connectors, who runs where is one of
the engine.

Read ``constraints`` (what is said of one column), ``key_condition`` (of all columns of a key, and what that
means with a run's arguments) and then ``analysis`` (how it is read from expressions). ``scans`` has the
conditions of a query's scans, ``joins`` says where one side of a join gives the keys of the other at run
time.
"""

from typing import Final

#: More keys than that are not looked up one by one, unless a setting says otherwise.
MOST_KEYS: Final = 1000
