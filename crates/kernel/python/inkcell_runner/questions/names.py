"""Finds the names that code uses and makes, from its text.

Owns the step from text to a tree. The runner's `names` module reads the tree.
"""

from ..names import find

_ONLY_AST = 0x0400  # ast.PyCF_ONLY_AST
_TOP_AWAIT = 0x2000  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

# The limit for all texts together. Text beyond it is not examined.
_MAX_TEXT = 4_000_000
_MAX_CELL = 200_000


def answer_names(session, question):
    """Returns the names of each text, or None. A text that is not valid Python uses and makes none."""
    left, found = _MAX_TEXT, []
    for code in question["codes"]:
        left -= len(code)
        found.append(find_names(session, code, is_to_come=True) if left > 0 else None)
    return {"names": found}


def find_names(session, code, returned=None, is_to_come=False):
    """Returns the names of one text, or None. The arguments are those of `find`."""
    if len(code) > _MAX_CELL:
        return None
    tree = None
    if not code.lstrip().startswith("%%"):
        tree = _tree(code)
    if tree is None:
        try:
            tree = _tree(session.shell.transform_cell(code), [])
        except Exception:
            return None
    return None if tree is None else find(tree, session, returned, is_to_come)


def _tree(code, otherwise=None):
    try:
        return compile(code, "<names>", "exec", _ONLY_AST | _TOP_AWAIT, True)
    except SyntaxError:
        return otherwise
    except (ValueError, RecursionError, MemoryError):
        return None
