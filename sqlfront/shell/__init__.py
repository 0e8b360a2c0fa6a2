"""The command line: runs statements and prints what they give. Data goes to stdout, everything else to
stderr."""
