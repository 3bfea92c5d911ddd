"""Lets Python write the compiled files of the runner itself, even if `PYTHONDONTWRITEBYTECODE` is set.

Owns that the variable is about the user's files.  Those of the runner lie in a folder of inkcell's own, and to compile
them again would be most of the start of a kernel.  Imported only if the variable is set.
"""

import os
import sys
from _frozen_importlib_external import FileFinder, SourceFileLoader

_OWN = os.path.dirname(__file__)


class _Loader(SourceFileLoader):
    def get_code(self, fullname):
        # Nothing else is imported meanwhile.
        kept, sys.dont_write_bytecode = sys.dont_write_bytecode, False
        try:
            return super().get_code(fullname)
        finally:
            sys.dont_write_bytecode = kept


def _finder(path):
    if path != _OWN and not path.startswith(_OWN + os.sep):
        raise ImportError(path)
    return FileFinder(path, (_Loader, [".py"]))


sys.path_hooks.insert(0, _finder)
sys.path_importer_cache.pop(_OWN, None)
