"""`%pip` and `%conda`: the commands they run, the modules they drop, and the messages (R-41)."""

import os
import sys
import types

import pytest
from test_magics_session import session  # noqa: F401

from inkcell_runner.magics import packages


@pytest.fixture
def site(tmp_path, monkeypatch):
    """An installer that installs `ink_fresh` into a folder on the path instead of running pip."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(packages, "_obstacle", lambda arguments: None)
    calls = []

    def run(session, argv):
        calls.append(argv)
        info = folder / "ink_fresh-1.0.dist-info"
        info.mkdir(exist_ok=True)
        (info / "RECORD").write_text("ink_fresh/__init__.py,,\nink_fresh-1.0.dist-info/RECORD,,\n../bin/x,,\n")
        (folder / "ink_fresh").mkdir(exist_ok=True)
        (folder / "ink_fresh" / "__init__.py").write_text("v = %d\n" % len(calls))
        os.utime(info, (len(calls), len(calls)))
        return 0

    monkeypatch.setattr(packages, "run", run)
    yield calls
    sys.modules.pop("ink_fresh", None)


def test_fresh_packages_are_imported_anew(session, site, capsys):
    session.cell("%pip install -q ink_fresh")
    assert site == [[sys.executable, "-m", "pip", "install", "-q", "ink_fresh"]]
    assert capsys.readouterr().out == "Note: you may need to restart the kernel to use updated packages.\n"
    status = dict(op="pip", args=["install", "-q", "ink_fresh"], installed=["ink_fresh"], exit_code=0)
    assert session.statuses == [status]
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        session.cell("import ink_fresh\nold = ink_fresh")
        session.cell("%pip install --upgrade ink_fresh")
        assert session.cell("import ink_fresh\nink_fresh.v") == 2 and session.cell("old.v") == 1
    finally:
        sys.dont_write_bytecode = before


def test_loaded_compiled_packages_stay(session, site, capsys, monkeypatch):
    import importlib.machinery

    part = types.ModuleType("ink_fresh._c")
    part.__file__ = "x" + importlib.machinery.EXTENSION_SUFFIXES[0]
    monkeypatch.setitem(sys.modules, "ink_fresh._c", part)
    session.cell("%pip install ink_fresh")
    assert sys.modules["ink_fresh._c"] is part
    assert "stays until then: ink_fresh" in capsys.readouterr().out


def test_pip_of_this_python_runs(session, capfd):
    """B:R-41"""
    pytest.importorskip("pip")
    session.cell("%pip --version")
    assert capfd.readouterr().out.startswith("pip ")
    assert session.namespace["_exit_code"] == 0 and session.statuses[0]["exit_code"] == 0


@pytest.mark.parametrize("kind", ["managed", "read-only", "no pip"])
def test_a_python_that_takes_no_packages(session, capsys, monkeypatch, tmp_path, kind):
    import importlib.util
    import sysconfig

    paths = dict(sysconfig.get_paths(), stdlib=str(tmp_path), purelib=str(tmp_path / "site"))
    monkeypatch.setattr(sysconfig, "get_paths", lambda: paths)
    monkeypatch.setattr(packages, "run", lambda *args: pytest.fail("pip was run"))
    monkeypatch.setattr(packages, "_user_site_works", lambda: False)
    # The tests may run as root, who can write everywhere.
    monkeypatch.setattr(packages, "_writable", lambda path: False)
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.delenv("PIP_BREAK_SYSTEM_PACKAGES", raising=False)
    if kind == "managed":
        (tmp_path / "EXTERNALLY-MANAGED").write_text("")
    if kind == "no pip":
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    else:
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    session.cell("%pip install x")
    err = capsys.readouterr().err
    assert "inkcell env setup" in err and sys.executable in err
    assert session.namespace["_exit_code"] == 1 and session.statuses[0]["exit_code"] == 1


def test_conda_outside_conda(session, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(ValueError, match="does not appear to be a conda environment"):
        session.cell("%conda install x")


def test_matplotlib(session, monkeypatch):
    import inkcell_runner
    from inkcell_runner.magics import figures

    used = []
    fake = types.ModuleType("inkcell_runner.figures")
    fake.use_inline = lambda: used.append(True)
    monkeypatch.setitem(sys.modules, "inkcell_runner.figures", fake)
    monkeypatch.setattr(inkcell_runner, "figures", fake, raising=False)
    monkeypatch.setattr(figures, "_installed", lambda name: True)
    for backend in ("inline", "", "agg", "widget", "notebook # x"):
        session.cell("%matplotlib " + backend)
    assert len(used) == 5
    monkeypatch.setattr(figures, "_installed", lambda name: False)
    with pytest.raises(ModuleNotFoundError, match="No module named 'matplotlib'"):
        session.cell("%matplotlib inline")
