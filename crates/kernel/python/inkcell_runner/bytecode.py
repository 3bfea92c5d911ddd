"""Reads and writes the compiled files of the runner itself.

Owns two rules. `PYTHONDONTWRITEBYTECODE` is about the user's files: those of the runner lie in a folder of inkcell's
own, and to compile them again would be most of the start of a kernel. And a damaged compiled file, as a power failure
leaves it, is made anew: Python alone would fail each time that it imports the module.
"""

import os
import sys
from _frozen_importlib_external import FileFinder, SourceFileLoader, cache_from_source

_OWN = os.path.dirname(__file__)


class _Loader(SourceFileLoader):
    def get_code(self, fullname):
        # Nothing else is imported meanwhile.
        kept, sys.dont_write_bytecode = sys.dont_write_bytecode, False
        try:
            return super().get_code(fullname)
        except (EOFError, ImportError, MemoryError, TypeError, ValueError):
            # All of these come from the bytes after a valid header.
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
