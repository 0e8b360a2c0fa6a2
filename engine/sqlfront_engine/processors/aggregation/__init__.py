"""GROUP BY and DISTINCT.

``aggregate`` is the operator, in one stage or two; ``aggregate_calls`` prepares its calls; ``state_table``
holds the states by key.
"""
