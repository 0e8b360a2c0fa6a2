"""Rules that push filters and limits towards the tables."""
