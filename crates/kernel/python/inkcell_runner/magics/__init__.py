"""The table of magics: their names, and the module of each one.

Owns names and lookup only. A module of magics is imported on the first use of one of its magics, because most
cells use none.
"""

import importlib

# name of the module: names of its line magics, names of its cell magics.
_MODULES = {
    "timing": ("time timeit prun", "time timeit prun"),
    "capturing": ("", "capture"),
    "rich": ("", "html HTML javascript js latex markdown svg SVG"),
    "process": ("sx system", "bash sh script python python3 perl ruby pypy sx system !"),
    "files": ("run load loadpy pycat save", "writefile file"),
    "packages": ("pip conda mamba micromamba uv", ""),
    "extensions": ("load_ext reload_ext unload_ext", ""),
    "autoreload": ("autoreload aimport", ""),
    "environment": (
        "env set_env cd pwd dirs dhist pushd popd ls ll lf lk ldir lx mkdir rmdir cat cp mv rm man more less",
        "",
    ),
    "names": ("who who_ls whos reset reset_selective xdel", ""),
    "past": ("history hist notebook recall rep rerun macro", ""),
    "figures": ("matplotlib pylab gui", ""),
    "settings": (
        "config precision pprint pdb debug colors xmode automagic autoawait autocall alias unalias alias_magic"
        " logstart logstop logon logoff logstate store bookmark edit doctest_mode page tb killbgscripts"
        " connect_info qtconsole autosave rehashx",
        "",
    ),
    "inspection": ("lsmagic magic quickref pinfo pinfo2 psource pdoc pfile pdef psearch", ""),
}


class Builtin:
    """A built-in magic, imported on its first call or on the first question about it."""

    def __init__(self, shell, module, name):
        self._shell = shell
        self._module = module
        self.__name__ = name

    @property
    def function(self):
        module = importlib.import_module("." + self._module, __name__)
        return module.MAGICS[self.__name__]

    @property
    def _ipython_magic_no_var_expand(self):
        return getattr(self.function, "raw_line", False)

    @property
    def needs_local_scope(self):
        return getattr(self.function, "local_names", False)

    @property
    def __doc__(self):
        return self.function.__doc__

    @property
    def __wrapped__(self):
        return self.function

    def __call__(self, line="", cell=None, **local):
        if cell is None:
            return self.function(self._shell, line, **local)
        return self.function(self._shell, line, cell, **local)

    def __repr__(self):
        return "<magic %s>" % self.__name__


def _builtin_tables(shell):
    tables = {"line": {}, "cell": {}}
    for module, names in _MODULES.items():
        for kind, text in zip(("line", "cell"), names):
            for name in text.split():
                tables[kind][name] = Builtin(shell, module, name)
    return tables


class MagicsTable:
    """IPython's `magics_manager`: the magics by kind and name."""

    def __init__(self, shell):
        self.shell = shell
        self.magics = _builtin_tables(shell)
        self.registry = {}
        self.auto_magic = True

    def lsmagic(self):
        return self.magics

    def register_function(self, func, magic_kind="line", magic_name=None):
        name = magic_name or func.__name__
        kinds = ("line", "cell") if magic_kind == "line_cell" else (magic_kind,)
        for kind in kinds:
            if kind not in self.magics:
                raise ValueError("magic_kind must be line, cell or line_cell, not %r" % (magic_kind,))
            self.magics[kind][name] = func

    def register(self, *objects):
        for one in objects:
            if isinstance(one, type):
                one = one(self.shell)
            self.registry[type(one).__name__] = one
            for kind, table in one.magics.items():
                for name, func in table.items():
                    self.magics[kind][name] = getattr(one, func) if isinstance(func, str) else func

    def register_alias(self, alias_name, magic_name, magic_kind="line", magic_params=None):
        extra = magic_params + " " if magic_params else ""
        if magic_kind == "line":
            alias = lambda line: self.shell.run_line_magic(magic_name, extra + line)  # noqa: E731
        else:
            alias = lambda line, cell: self.shell.run_cell_magic(magic_name, extra + line, cell)  # noqa: E731
        alias.__doc__ = "Alias of %s." % magic_name
        self.magics[magic_kind][alias_name] = alias
