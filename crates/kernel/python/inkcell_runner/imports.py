"""What is done when certain modules are imported, at the moment they are.

Owns one finder and a short table. A library that asks who shows its output must get the answer in the
very cell that imports it, so looking after each cell would be too late.
"""

import sys


def _ipython(session):
    from .real_ipython import hook_real_ipython

    hook_real_ipython()


def _pyplot(session):
    from .figures import use_inline

    use_inline()


def _getpass(session):
    module = sys.modules["getpass"]
    module.getpass = lambda prompt="Password: ", stream=None: session.refuse_input(prompt, True)


AFTER = {
    "IPython.core.interactiveshell": _ipython,
    "matplotlib.pyplot": _pyplot,
    "getpass": _getpass,
}


class _Loader:
    """Loads as the real loader does, then calls back."""

    def __init__(self, loader, session, after):
        self._loader, self._session, self._after = loader, session, after

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        # The module keeps the loader it would have had.
        module.__spec__.loader = module.__loader__ = self._loader
        try:
            self._after(self._session)
        except Exception as problem:
            print("inkcell: %s could not be set up: %r" % (module.__name__, problem), file=sys.stderr)


class Finder:
    """First in line, but it only answers for the modules of the table."""

    def __init__(self, session):
        self._session = session

    def find_spec(self, name, path=None, target=None):
        after = AFTER.get(name)
        if after is None:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Loader(spec.loader, self._session, after)
                return spec
        return None


def install(session):
    sys.meta_path.insert(0, Finder(session))
    for name, after in AFTER.items():
        if name in sys.modules:
            after(session)
