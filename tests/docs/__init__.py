"""The blocks of code in README and docs run as they are written."""
