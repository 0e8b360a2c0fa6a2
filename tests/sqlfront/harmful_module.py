"""A module that acts when it is imported: it leaves a file beside the path in the environment."""

import os
from pathlib import Path

from sqlfront_engine.processor import Processor

Path(f"{os.environ['SQLFRONT_TEST_HARM']}-{os.getpid()}").touch()


class Harm(Processor, frozen=True):
    """Does nothing: the import of the module was the harm."""
