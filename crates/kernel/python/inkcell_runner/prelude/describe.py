"""What the prelude says about itself (E-42).

Owns reading signatures and first lines off the helpers. Must not know which
helpers there are.
"""

import inspect

from .bridge import Tool


def rows(helpers):
    """One dict a helper: name, signature, first line, category; by category and name."""
    found = []
    for name, value in helpers.items():
        if callable(value):
            signature = str(inspect.signature(value))
        else:
            # The only object that is not called itself: `tool.name(...)` is.
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
