"""The settings that a kernel with IPython's shell takes from the user's profile; it leaves nothing there."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("IPython")

from host import LIMIT, Host  # noqa: E402


class Collecting(Host):
    """A host that also keeps events that come outside of cells."""

    def _frame(self, timeout=LIMIT, events=None):
        if not hasattr(self, "outside"):
            self.outside = []
        return super()._frame(timeout, self.outside if events is None else events)


def start(home, **options):
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    env.update(options.pop("env", {}))
    return Collecting(shell="ipython", cwd=str(home), env=env, **options)


def results(events):
    return [event[1]["text/plain"] for event in events if event[0] == "result"]


def tree(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, dirs, files in os.walk(folder) for name in dirs + files)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_nothing_is_written_where_the_user_lives(tmp_path):
    """No profile, no history, no temporary file, whether a profile exists or not."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    for home in (tmp_path / "none", tmp_path / "some"):
        home.mkdir()
        if home.name == "some":
            write(home / ".ipython/profile_default/startup/a.py", "")
        before = tree(home)
        one = start(home, env={"TMPDIR": str(temporary)})
        one.run("1\n")
        one.run("%history\n%edit\nlen?\n!true")
        one.run("1/0")
        one.close()
        assert tree(home) == before
        assert tree(temporary) == []


def test_a_read_only_or_missing_home_is_no_obstacle(tmp_path):
    one = start(tmp_path, env={"HOME": "/nonexistent"})
    assert results(one.run("1 + 1")) == ["2"]
    one.close()


def test_the_profiles_settings_extensions_and_startup_files_count(tmp_path):
    profile = tmp_path / ".ipython/profile_default"
    write(profile / "ipython_config.py", "c.InteractiveShell.ast_node_interactivity = 'all'\nc.ZMQInteractiveShell.xmode = 'Plain'\n")
    write(profile / "ipython_kernel_config.py", "c.IPKernelApp.exec_lines = ['from_line = 2']\n")
    write(profile / "startup/10.py", "print('started')\nfrom_file = 1\n")
    write(profile / "startup/20.ipy", "%env INKCELL_STARTUP=3\n")
    one = start(tmp_path)
    assert results(one.run("from_file\nfrom_line\nimport os\nos.environ['INKCELL_STARTUP']")) == ["1", "2", "'3'"]
    frames = one.run("1/0")
    assert any("Traceback (most recent call last)" in line for line in next(e[1]["plain"] for e in frames if e[0] == "error"))
    assert results(one.run("%who_ls")) == ["['os']"], "what startup files define is not listed"
    one.close()


def test_output_of_startup_files_belongs_to_no_cell(tmp_path):
    write(tmp_path / "own/profile_default/startup/a.py", "print('hello')\nnothing\n")
    one = start(tmp_path, env={"IPYTHONDIR": str(tmp_path / "own")})
    frames = [one._frame(), one._frame()]
    assert [(frame["t"], frame["id"], frame["name"]) for frame in frames] == [
        ("stream", None, "stdout"),
        ("stream", None, "stderr"),
    ]
    assert frames[0]["payload"] == b"hello\n" and b"NameError" in frames[1]["payload"]
    assert results(one.run("1")) == ["1"]
    one.close()


def test_a_broken_configuration_is_told_and_left_out(tmp_path):
    write(tmp_path / ".ipython/profile_default/ipython_config.py", "c.InteractiveShell.xmode = nothing\n")
    one = start(tmp_path)
    frame = one._frame()
    assert frame["name"] == "stderr" and b"ipython_config.py could not be read: NameError" in frame["payload"]
    assert results(one.run("1")) == ["1"]
    one.close()


def test_a_python_without_ipython_says_so(tmp_path):
    """The start fails with a reason that names the setting and the remedy."""
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True, timeout=60)
    one = Collecting.__new__(Collecting)
    with pytest.raises(AssertionError):
        one.__init__(python=str(bare / "bin/python"), shell="ipython", cwd=str(tmp_path))
    assert one.ready["t"] == "failed"
    wanted = "python.shell is ipython, but IPython is not installed in %s: install it there, or set python.shell = lite"
    assert one.ready["reason"] == wanted % (bare / "bin/python")
    assert one.process.wait(10) == 1
    one.close()


def test_a_folder_with_a_file_named_like_a_module_is_no_obstacle(tmp_path):
    """The runner imports IPython before the user's folder can hide any module that it needs."""
    write(tmp_path / "traitlets.py", "raise SystemError\n")
    write(tmp_path / "IPython.py", "raise SystemError\n")
    one = start(tmp_path)
    assert results(one.run("1 + 1")) == ["2"]
    one.close()
