"""Runs functions after the import of certain modules, and keeps the runner's own imports out of the user's folder.

Owns one finder and a short table. A library may check at import who shows its output. It must get the answer in the
very cell that imports it, so a check after each cell would be too late. The runner's own imports must not come from
the user's folder, which may contain a `token.py`.
"""

import os
import sys

# The path from the start of the process, which has no folder of the user yet.
_OWN_PATH = list(sys.path)
_STANDARD = os.path.dirname(os.__file__) + os.sep
_PACKAGES = (_STANDARD + "site-packages", _STANDARD + "dist-packages")


def _ipython(session):
    from .real_ipython import hook_real_ipython

    hook_real_ipython()


def _pyplot(session):
    from .figures import use_inline

    use_inline()


def _inline(session):
    from .figures import tell_inline

    tell_inline()


def _getpass(session):
    module = sys.modules["getpass"]
    module.getpass = lambda prompt="Password: ", stream=None: session.read_line(prompt, True)


def _asyncio(session):
    # Code that asks for the loop gets the loop on which cells await. A fork server must not create one: its copies
    # would share it.
    if session.is_ready:
        session.executor.loop.current()


def _comm(session):
    from .comms import install

    install(session)


def _linecache(session):
    # Code that looks for source from here on finds the cells, including the running one.
    session.executor.publish_sources()


AFTER = {
    "linecache": _linecache,
    "comm": _comm,
    "IPython.core.interactiveshell": _ipython,
    "matplotlib.pyplot": _pyplot,
    "matplotlib_inline.config": _inline,
    "getpass": _getpass,
    "asyncio": _asyncio,
}
# IPython handles the other modules itself.
AFTER_IN_IPYTHON = {"comm": _comm}


class _Loader:
    """Loads as the real loader does, then calls a function."""

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


def _is_runner_asking():
    """Whether the runner makes the import, directly or through modules of Python."""
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals
        if module.get("__name__") in ("importlib", "importlib.util"):
            # Code passed the name to importlib. That is mostly the user's code.
            return False
        if module is not _HERE:
            file = frame.f_code.co_filename
            is_standard = file.startswith("<frozen ") or (file.startswith(_STANDARD) and not file.startswith(_PACKAGES))
            if not is_standard:
                return str(module.get("__name__")).startswith("inkcell_runner.")
        frame = frame.f_back
    return False


_HERE = globals()


def _find_own(name):
    """Finds a module of Python, wherever the user's folder stands in the path."""
    bootstrap = sys.modules["_frozen_importlib"]
    for finder in (bootstrap.BuiltinImporter, bootstrap.FrozenImporter):
        spec = finder.find_spec(name)
        if spec is not None:
            return spec
    return sys.modules["_frozen_importlib_external"].PathFinder.find_spec(name, _OWN_PATH)


class Finder:
    """The first finder. It answers only for the modules of the table, and to the runner."""

    def __init__(self, session, table):
        self._session = session
        self._table = table

    def find_spec(self, name, path=None, target=None):
        after = self._table.get(name)
        spec = _find_own(name) if path is None and target is None and _is_runner_asking() else None
        if spec is None and after is not None:
            spec = self._find_as_usual(name, path, target)
        if spec is not None and spec.loader is not None and after is not None:
            spec.loader = _Loader(spec.loader, self._session, after)
        return spec

    def _find_as_usual(self, name, path, target):
        for finder in sys.meta_path:
            if finder is not self and hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
                if spec is not None and spec.loader is not None:
                    return spec
        return None


def install(session, table=AFTER):
    sys.meta_path.insert(0, Finder(session, table))
    for name, after in table.items():
        if name in sys.modules:
            after(session)
