"""Operators, one a file: frozen data with one generator method, ``run``, that reads as its textbook.

:mod:`sqlfront_engine.processor` has their contract. Reading order: ``filter``, ``project``, ``limit`` and
``union`` (rows as they come); ``sort`` and ``top_n``; ``aggregate`` with ``aggregate_calls`` and
``state_table``; ``hash_join`` with ``join_table``, ``join_rows`` and ``reduction``, ``nested_loop_join``;
``window``; ``set_difference``. Sources beside the connectors' are ``values``, ``range``, ``scalar_row`` and
``held_rows``; ``key_filter`` gives a scan the keys of a join, ``sink`` is the result's end. ``inputs`` has
ways to take an input, ``registry`` says what may travel, and ``user_code`` has the operators whose work is a
function of the user's.
"""
