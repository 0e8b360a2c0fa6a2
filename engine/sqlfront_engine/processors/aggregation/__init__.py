"""GROUP BY and DISTINCT.

``aggregate`` is the operator, in one stage or two; ``aggregate_calls`` has its calls, ready to run;
``state_table`` holds the states by key.
"""
