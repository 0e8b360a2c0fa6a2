"""Text files: the tables of ``USING text`` (``text_format``), and the lines of text files as a source of
pipelines (``text_lines``).
"""
