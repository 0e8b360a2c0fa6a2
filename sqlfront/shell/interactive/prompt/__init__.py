"""The prompt: one text at a time from the user. ``toolkit`` is the editor on prompt_toolkit, ``plain`` the
prompt without it; ``history`` keeps earlier texts, ``highlighting`` colours the text, and ``ending_signals``
ends the shell by SIGTERM and SIGHUP.
"""
