"""A module that acts when it is imported: it leaves a file beside the path in the environment."""

import os
from pathlib import Path

from sqlfront_engine.processor import Processor

if place := os.environ.get("SQLFRONT_TEST_HARM"):
    Path(f"{place}-{os.getpid()}").touch()


class Harm(Processor, frozen=True):
    """Does nothing: the import of the module was the harm."""
