"""Operators, one a file: frozen data with one generator method, ``run``, that reads as its textbook.

:mod:`sqlfront_engine.processor` has their contract. Reading order: ``filter``, ``project``, ``limit`` and
``union`` (rows as they come); ``sort`` and ``top_n``; :mod:`.aggregation`; :mod:`.joins`; ``window``;
``set_difference``; ``sink``, the end of a query's DAG. :mod:`.sources` need no connector. ``inputs`` has ways
to take an input, ``reduction`` drops rows without a partner before a join, ``registry`` says which processors
may travel, and :mod:`.user_code` has the operators whose work is a function of the user's.
"""
