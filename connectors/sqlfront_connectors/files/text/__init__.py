"""Text files: the tables of ``USING text`` (``text_format``), and the lines of text files as a source of
pipelines (``text_lines``).
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "text_format")
