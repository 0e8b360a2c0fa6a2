"""Rules that simplify the expressions in a plan's nodes."""
