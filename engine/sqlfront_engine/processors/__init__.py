"""Operators, one a file: frozen data with one generator method, ``run``, that reads like its textbook
version.

:mod:`sqlfront_engine.processor` has their contract. Reading order: ``filter``, ``project``, ``limit`` and
``union`` (streaming operators); ``sort`` and ``top_n``; :mod:`.aggregation`; :mod:`.joins`; ``window``;
``set_difference``; ``sink``, the end of a query's DAG. :mod:`.sources` need no connector, :mod:`.spool`
writes and reads files of rows. ``inputs`` has helpers for taking an input, ``reduction`` drops rows without a
partner before a join, ``registry`` lists the processors that other members may run, and :mod:`.user_code` has
the operators around a user's function.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "filter", "set_difference", "union")
