"""The part of `IPython.lib` that notebooks import from."""
