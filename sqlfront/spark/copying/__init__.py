"""Copies of Spark's relations that would let sqlfront answer queries: advice to make them, and automatic
copies.

A query over Spark's relations goes in (``copier``; ``readings``: which relations, and how often they were
read). Advice comes out (``advice``: the CACHE TABLE that would make the query light, and the memory that the
copy takes) or, with ``SET sqlfront.autocache = n``, a way that copies the relations first (``automatic``).
The copies themselves, and the rules by which copies stay current, are those of CACHE TABLE
(:mod:`sqlfront.commands.copies`).
"""
