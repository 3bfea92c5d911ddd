"""`%load_ext` and `%autoreload`: the next cell sees changed modules."""

import sys
import types

import pytest
from test_magics_session import session  # noqa: F401

from inkcell_runner.shell import UsageError


@pytest.fixture
def module(session, tmp_path, monkeypatch):
    """Writes a module `ink_reloaded`; returns the writer."""
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "ink_reloaded.py"

    def write(text):
        # A different size alone must be enough, and so must a different time: files change within one tick.
        path.write_text(text + "\n# " + "x" * len(str(write.count)) * write.count + "\n")
        write.count += 1

    write.count = 1
    yield write
    sys.modules.pop("ink_reloaded", None)


def start(session):
    session.cell("%load_ext autoreload")
    session.cell("%autoreload 2  # comment")


def test_functions_imported_by_name_change(session, module):
    module("def f(): return 1\nLIMIT = 1\n")
    start(session)
    session.cell("import ink_reloaded\nfrom ink_reloaded import f")
    module("def f(a=2): return a\nLIMIT = 2\ndef g(): return 'new'\n")
    assert session.cell("f(), ink_reloaded.f(), ink_reloaded.LIMIT, ink_reloaded.g()") == (2, 2, 2, "new")


def test_classes_and_their_instances_change(session, module):
    module(
        "class A:\n    k = 1\n    def m(self): return 1\n    def gone(self): pass\n"
        "    @property\n    def p(self): return 1\n    @staticmethod\n    def s(): return 1\n"
        "    @classmethod\n    def c(cls): return 1\n"
        "class B(A):\n    def m(self): return super().m() + 10\n"
    )
    start(session)
    session.cell("from ink_reloaded import A, B\na = A(); b = B(); bound = a.m")
    module(
        "class A:\n    k = 2\n    def m(self): return 2\n    def new(self): return 'n'\n"
        "    @property\n    def p(self): return 2\n    @staticmethod\n    def s(): return 2\n"
        "    @classmethod\n    def c(cls): return 2\n"
        "class B(A):\n    def m(self): return super().m() + 20\n"
    )
    assert session.cell("a.m(), bound(), a.k, a.p, A.s(), A.c(), a.new(), hasattr(A, 'gone')") == (
        2, 2, 2, 2, 2, 2, "n", False,
    )
    assert session.cell("b.m(), B().m(), isinstance(A(), A), isinstance(b, B)") == (22, 22, True, True)


def test_a_broken_module_is_reported_once(session, module, capsys):
    module("x = 1\n")
    start(session)
    session.cell("import ink_reloaded")
    module("x = (\n")
    assert session.cell("ink_reloaded.x") == 1
    assert "[autoreload of ink_reloaded failed: " in capsys.readouterr().err
    session.cell("1")
    assert capsys.readouterr().err == ""
    module("x = 3\n")
    assert session.cell("ink_reloaded.x") == 3


def test_modes(session, module):
    module("x = 1\n")
    start(session)
    session.cell("import ink_reloaded\n%autoreload 0")
    module("x = 2\n")
    assert session.cell("ink_reloaded.x") == 1
    session.cell("%autoreload")
    assert session.cell("ink_reloaded.x") == 2
    session.cell("%autoreload 1\n%aimport ink_reloaded")
    module("x = 3\n")
    assert session.cell("ink_reloaded.x") == 3
    session.cell("%aimport -ink_reloaded\n%autoreload 2")
    module("x = 4\n")
    assert session.cell("ink_reloaded.x") == 3
    with pytest.raises(ValueError, match='Unrecognized autoreload mode "7".'):
        session.cell("%autoreload 7")


def test_the_extension_comes_first(session):
    with pytest.raises(UsageError, match="Line magic function `%autoreload` not found."):
        session.cell("%autoreload 2")


def test_extensions_of_others(session, capsys, monkeypatch):
    calls = []
    fake = types.ModuleType("ink_extension")
    fake.load_ipython_extension = lambda shell: calls.append(("load", shell))
    monkeypatch.setitem(sys.modules, "ink_extension", fake)
    session.cell("%load_ext ink_extension")
    session.cell("%load_ext ink_extension")
    assert calls == [("load", session.shell)]
    assert "already loaded" in capsys.readouterr().out
    session.cell("%unload_ext ink_extension")
    assert capsys.readouterr().out == "The ink_extension extension doesn't define how to unload it.\n"
    session.cell("%load_ext json")
    assert capsys.readouterr().out == "The json module is not an IPython extension.\n"
    with pytest.raises(ModuleNotFoundError):
        session.cell("%load_ext ink_missing")
    with pytest.raises(UsageError, match="Missing module name."):
        session.cell("%load_ext")
