"""Time zones as ``java.time`` has them.

``names`` knows the zones by the names that Spark accepts, ``changes`` the times at which a zone changes its
offset, ``wall_clock`` converts between instants and a zone's local times.
"""
