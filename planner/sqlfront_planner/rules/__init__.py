"""The optimizer's rules: one a file, with one function of the file's name, from plan to plan.

Their order is that of :mod:`sqlfront_planner.optimizer`, and the one to read them in;
:mod:`sqlfront_planner.rewriting` has what they are made of. ``decorrelation`` is a part of
``unnest_subqueries``.
"""
