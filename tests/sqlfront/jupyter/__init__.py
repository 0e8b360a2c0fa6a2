"""The magics of notebooks, in IPython's shell and in a real kernel."""
