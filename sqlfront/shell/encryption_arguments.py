"""The command-line arguments for the encryption of TCP connections, which several commands share."""

import argparse


def add_encryption(parser: argparse.ArgumentParser) -> None:
    """Add ``--certificate``, ``--key``, ``--authority`` and ``--insecure`` to the parser of a command."""
    parser.add_argument("--certificate", metavar="FILE", help="your own certificate for TLS, in PEM, with")
    parser.add_argument("--key", metavar="FILE", help="its key, and with")
    parser.add_argument("--authority", metavar="FILE", help="the certificate of the authority that signs")
    parser.add_argument(
        "--insecure", action="store_true", help="encrypt nothing: to be said on all sides (default: TLS)"
    )
