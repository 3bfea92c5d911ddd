"""The part of `IPython.core` that notebooks import from."""
