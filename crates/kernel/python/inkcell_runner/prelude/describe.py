"""The prelude's description of itself (E-42).

Owns reading signatures and first lines from the helpers. Must not know which helpers exist.
"""

import inspect

from .bridge import Tool


def rows(helpers):
    """One dict per helper: name, signature, first line, category; by category and name."""
    found = []
    for name, value in helpers.items():
        if callable(value):
            signature = str(inspect.signature(value))
        else:
            # The user never calls this object itself, only `tool.name(...)`.
            signature = ".name" + str(inspect.signature(Tool("name")))
        text = inspect.getdoc(value) or ""
        found.append(
            {
                "name": name,
                "signature": signature,
                "doc": text.partition("\n")[0],
                "category": value.category,
            }
        )
    return sorted(found, key=lambda row: (row["category"], row["name"]))
