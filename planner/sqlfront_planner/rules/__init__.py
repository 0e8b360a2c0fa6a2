"""The optimizer's rules, grouped by what they change: one rule per file, with one function of the file's
name, from plan to plan.

:mod:`sqlfront_planner.optimizer` fixes the order of the rules, which is also the reading order;
:mod:`sqlfront_planner.expressions.rewriting` has their helpers.
"""
