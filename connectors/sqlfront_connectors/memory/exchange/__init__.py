"""Exchange of memory tables' rows with processes that are not members, and the lifetime of shares.

``service`` (the member's side), ``pushing`` and ``fetching`` (the other process's side), ``loads`` (the
coordinator's side), ``holding`` (the member keeps shares as long as readers need them).
"""
