"""Random queries over nested data, compared with a live Spark: value, type, nullability and error condition.

A :mod:`signature <tests.oracle.campaign.signatures>` says of which types a function's arguments and result
are; the signatures are read off the examples of Spark's documentation, so that every documented function
takes part. :mod:`expressions <tests.oracle.campaign.expressions>` nests calls by these types,
:mod:`queries <tests.oracle.campaign.queries>` puts them into clauses, and
:mod:`run <tests.oracle.campaign.run>` compares and counts::

    python -m tests.oracle.campaign.run --count 4000 --seed 1
    python -m tests.oracle.campaign.run --minutes 20
"""
