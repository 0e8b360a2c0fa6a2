"""Questions between members without a job: each costs one question and one answer per member asked.

In comes a call of a session, or the question of a peer; the answers of the other members go back to the
caller. ``requests`` has questions to services that are registered by name, such as a lookup by key, and
``outsider`` asks the same services from a process that isn't a member; ``listing`` lists and cancels the
running queries of all members; ``outcomes`` tells how a job of another coordinator ends.
"""
