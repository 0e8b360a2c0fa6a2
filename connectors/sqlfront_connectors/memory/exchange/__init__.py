"""Exchange of memory tables' rows with processes that are not members, and the lifetime of the members'
shares.

``service`` runs on the members; ``pushing`` and ``fetching`` are for processes that are not members;
``loads`` is for the coordinator; ``holding`` keeps a member's shares as long as readers need them. Begin with
``service``, which explains loads and holds.
"""
