"""The environment and the working directory at the start of a runner."""

import compileall
import os
import shutil
import subprocess
import sys

import pytest
from host import ROOT, Host


def values(code, **settings):
    """The output of the code in a runner with these variables, and in Python itself."""
    env = dict(os.environ, **settings)
    host = Host(env=env)
    try:
        told = host.text(code)
    finally:
        host.close()
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60, check=True)
    return told, done.stdout


@pytest.mark.parametrize(
    "settings, code",
    [
        ({"PYTHONHASHSEED": "7"}, "print(hash('inkcell'), list({'a', 'b', 'c', 'd'}))"),
        ({"PYTHONDONTWRITEBYTECODE": "1"}, "import sys; print(sys.dont_write_bytecode)"),
        ({"PYTHONWARNINGS": "error::UserWarning"}, "import sys, warnings; print(sys.warnoptions, warnings.filters[0][:1])"),
        ({"PYTHONOPTIMIZE": "1"}, "assert False\nprint(__debug__)"),
        ({"PYTHONUTF8": "1"}, "import sys; print(sys.flags.utf8_mode)"),
        ({"PYTHONDEVMODE": "1"}, "import sys; print(sys.flags.dev_mode)"),
        ({"PYTHONTRACEMALLOC": "2"}, "import tracemalloc; print(tracemalloc.get_traceback_limit())"),
        ({"PYTHONBREAKPOINT": "0"}, "print(breakpoint())"),
    ],
)
def test_pythons_own_variables_hold(settings, code):
    """Issue 21, 14: each has the same effect as on Python itself."""
    told, wanted = values(code, **settings)
    assert told == wanted


def test_a_runner_starts_whatever_is_set():
    """The runner's own code causes no warning, and Python's messages about itself appear in no cell."""
    env = dict(os.environ, PYTHONWARNINGS="error", PYTHONDEVMODE="1", PYTHONUNBUFFERED="1", PYTHONINSPECT="1")
    host = Host(env=env, prelude="full")
    try:
        assert host.text("print(1 + 1)") == "2\n"
        assert "ZeroDivisionError" in str(host.run("1 / 0"))
        assert host.text("open('/dev/null').read(); print('after')").endswith("after\n")
    finally:
        host.close()


@pytest.mark.parametrize("shell", ["lite", "ipython"])
def test_nothing_of_the_working_folder_is_imported_at_the_start(tmp_path, monkeypatch, shell):
    """Issue 21, 14: this includes `PYTHONPATH`, on every Python."""
    if shell == "ipython":
        pytest.importorskip("IPython")
    for name in ("json", "sitecustomize", "usercustomize", "site", "token", "linecache", "select"):
        (tmp_path / (name + ".py")).write_text("open(%r, 'w')\n" % str(tmp_path / "canary"))
    monkeypatch.chdir(tmp_path)
    host = Host(cwd=str(tmp_path), env=dict(os.environ, PYTHONPATH=str(tmp_path)), shell=shell)
    try:
        assert not (tmp_path / "canary").exists()
        assert host.text("import sys; print(sys.path.count(''), sys.path[0])").split() == ["0", os.getcwd()]
    finally:
        host.close()


def test_the_runners_own_files_are_compiled_once(tmp_path):
    """A user who turns off compiled files means the user's own files."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    shutil.copytree(os.path.join(ROOT, "inkcell_runner"), ours / "inkcell_runner", ignore=shutil.ignore_patterns("__pycache__"))
    theirs.mkdir()
    (theirs / "mine.py").write_text("value = 1")
    host = Host(cwd=str(theirs), env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"), root=str(ours))
    try:
        assert host.text("import mine; print(mine.value)") == "1\n"
    finally:
        host.close()
    assert (ours / "inkcell_runner" / "__pycache__").is_dir()
    assert not (theirs / "__pycache__").exists()


def test_damaged_compiled_files_are_made_anew(tmp_path):
    """Issue 21, 27: this includes files of modules that load long after the start."""
    shutil.copytree(
        os.path.join(ROOT, "inkcell_runner"), tmp_path / "inkcell_runner", ignore=shutil.ignore_patterns("__pycache__")
    )
    compileall.compile_dir(str(tmp_path), quiet=1)
    compiled = [path for path in tmp_path.rglob("*.pyc") if "__init__." not in path.name and "bytecode." not in path.name]
    assert len(compiled) > 50
    damaged = {}
    for number, path in enumerate(compiled):
        header, code = path.read_bytes()[:16], path.read_bytes()[16:]
        damaged[path] = header + (b"", b"\xff" * 40, b"N", code[:-40])[number % 4]
        path.write_bytes(damaged[path])
    host = Host(root=str(tmp_path), prelude="full")
    try:
        assert "Wall time" in host.text("%time sum(range(10))")
        assert host.text("!echo there") == "there\n"
    finally:
        host.close()
    left = [path.name for path in compiled if path.read_bytes() == damaged[path]]
    assert not any(name.startswith(("session.", "execute.", "timing.")) for name in left), left


def test_user_site_is_left_out_where_it_is_not_wanted(tmp_path):
    """Issue 21, 14: the directory is there if the settings want it."""
    if sys.prefix != sys.base_prefix:
        pytest.skip("an environment has no user site")
    code = "import site, sys; print(site.getusersitepackages() in sys.path)"
    env = dict(os.environ, PYTHONUSERBASE=str(tmp_path))
    look = subprocess.run(
        [sys.executable, "-c", "import site; print(site.getusersitepackages())"], env=env, capture_output=True, text=True
    )
    os.makedirs(look.stdout.strip())
    for unwanted, wanted in (("", "True\n"), ("1", "False\n")):
        host = Host(env=dict(env, PYTHONNOUSERSITE=unwanted))
        try:
            assert host.text(code) == wanted
        finally:
            host.close()
