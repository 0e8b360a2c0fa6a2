"""Random DDL and inspection statements, held against those of a live Spark.

``statements`` writes sequences of statements from a seed; ``documented`` takes out of an answer what the
documents say differs; ``run`` has both engines answer a sequence, and is a command; ``test_sequences`` runs a
few.
"""
