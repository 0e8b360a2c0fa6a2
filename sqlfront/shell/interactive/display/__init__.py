"""Answers on the screen: tables that fit the terminal, errors with a caret, plans as trees, a footer.

In: blocks of cells, errors and statistics. Out: lines of text. Reading order: ``screen`` (the terminal: size
and colours), ``visible`` (texts that are safe to print, and their widths), ``cells`` (a result's rows as
texts), ``table`` and ``vertical`` (layouts of blocks), ``pager`` (long answers), ``footer``, ``failures``,
``plan_tree``.
"""
