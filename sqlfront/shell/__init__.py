"""The command line: runs statements and prints their results. Data goes to stdout, everything else to
stderr."""
