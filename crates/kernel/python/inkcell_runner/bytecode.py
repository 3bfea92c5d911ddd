"""Reads and writes the compiled files of the runner itself.

Owns two rules. `PYTHONDONTWRITEBYTECODE` is about the user's files. The runner's files lie in a folder that inkcell
owns, and compiling them again would take most of the start of a kernel. A damaged compiled file, as a power failure
leaves it, is compiled again: Python alone would fail on every import of the module.
"""

import os
import sys
from _frozen_importlib_external import FileFinder, SourceFileLoader, cache_from_source

_OWN = os.path.dirname(__file__)


class _Loader(SourceFileLoader):
    def get_code(self, fullname):
        # No other import runs at the same time.
        kept, sys.dont_write_bytecode = sys.dont_write_bytecode, False
        try:
            return super().get_code(fullname)
        except (EOFError, ImportError, MemoryError, TypeError, ValueError):
            # Bad bytes after a valid header raise all of these.
            os.unlink(cache_from_source(self.path))
            return super().get_code(fullname)
        finally:
            sys.dont_write_bytecode = kept


def _finder(path):
    if path != _OWN and not path.startswith(_OWN + os.sep):
        raise ImportError(path)
    return FileFinder(path, (_Loader, [".py"]))


sys.path_hooks.insert(0, _finder)
sys.path_importer_cache.pop(_OWN, None)
