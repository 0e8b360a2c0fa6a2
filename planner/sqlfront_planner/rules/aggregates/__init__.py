"""Rules that make aggregations cheaper; ``partial_aggregates`` is an optional rule, not in the optimizer's
list.
"""
