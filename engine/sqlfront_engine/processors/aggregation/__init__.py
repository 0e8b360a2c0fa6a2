"""GROUP BY and DISTINCT.

``aggregate`` is the operator, which works in one step or two; ``aggregate_calls`` prepares its calls;
``state_table`` holds the states by key.
"""
