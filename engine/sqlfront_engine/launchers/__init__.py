"""Launchers: where a cluster's members come from.

``embedded``: members in this process, which hand batches to each other by reference.
"""
