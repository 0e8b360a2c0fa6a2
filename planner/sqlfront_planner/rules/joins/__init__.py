"""Rules that change the kind, the keys and the order of joins. Their shared part is ``join_graph``: a tree of
joins as a graph.
"""
