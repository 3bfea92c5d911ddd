"""The display functions, alone and under the real IPython where it is installed."""

import os
import subprocess
import sys
import textwrap
from unittest import mock

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)

import inkcell_runner  # noqa: E402
from inkcell_runner import displays, formatting  # noqa: E402

try:
    import IPython

    have_ipython = not hasattr(IPython, "__inkcell__")
except ImportError:
    have_ipython = False

needs_ipython = pytest.mark.skipif(not have_ipython, reason="!! IPython is not installed")

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x04rest"


class FakeSession:
    def __init__(self):
        self.sent = []
        self.namespace = {}
        self.shell = None

    def display(self, data, metadata, *, display_id=None, update=False):
        self.sent.append((data, metadata, display_id, update))

    def clear_output(self, wait):
        self.sent.append(("clear", wait))

    def flush(self):
        pass


@pytest.fixture
def session(monkeypatch):
    fake = FakeSession()
    monkeypatch.setattr(inkcell_runner, "_current", fake)
    return fake


class Rich:
    def _repr_png_(self):
        return PNG

    def _repr_markdown_(self):
        return "*m*", {"m": 1}


def test_display_sends_each_value(session):
    """B:R-35"""
    assert displays.display(1, Rich(), metadata={"text/plain": {"a": 1}}) is None
    assert session.sent[0] == ({"text/plain": "1"}, {"text/plain": {"a": 1}}, None, False)
    assert session.sent[1][0]["image/png"] == PNG
    assert session.sent[1][1]["text/markdown"] == {"m": 1}
    displays.display({"text/html": "raw"}, raw=True)
    assert session.sent[2] == ({"text/html": "raw"}, {}, None, False)
    displays.display(3, clear=True, include=["text/plain"])
    assert session.sent[3] == ("clear", True)
    with pytest.raises(TypeError, match="data must be a dict"):
        displays.display("text", raw=True)


def test_displays_can_be_updated(session):
    handle = displays.display("a", display_id=True)
    assert repr(handle) == "<DisplayHandle display_id=%s>" % handle.display_id
    assert len(handle.display_id) == 32
    handle.update("b")
    handle.display("c")
    displays.update_display("d", display_id="other")
    assert [sent[2:] for sent in session.sent] == [
        (handle.display_id, False), (handle.display_id, True), (handle.display_id, False), ("other", True)
    ]
    with pytest.raises(TypeError, match="display_id required"):
        displays.display(1, update=True)
    session.sent.clear()
    assert displays.display(display_id="empty").display_id == "empty"
    assert session.sent == [({}, {}, "empty", False)]


def test_own_display(session, capsys):
    class Own:
        def _ipython_display_(self):
            displays.display("shown")

    class Fails(Own):
        def __repr__(self):
            return "Fails()"

        def _ipython_display_(self):
            raise ValueError("cannot")

    assert formatting.has_own_display(Own()) and not formatting.has_own_display(Own) and not formatting.has_own_display(1)
    assert not formatting.has_own_display(mock.MagicMock())
    displays.display(Own())
    assert [sent[0] for sent in session.sent] == [{"text/plain": "'shown'"}]
    displays.display(Fails())
    assert session.sent[1][0] == {"text/plain": "Fails()"}
    assert "ValueError: cannot" in capsys.readouterr().err


def test_clear_output(session):
    displays.clear_output()
    displays.clear_output(wait=True)
    assert session.sent == [("clear", False), ("clear", True)]


REAL = """
    import sys
    sys.path.insert(0, {root!r})
    import inkcell_runner
    from inkcell_runner import displays, formatting, imports, real_ipython

    class Shell:
        pass

    class Session:
        sent = []
        shell = Shell()
        def display(self, data, metadata, *, display_id=None, update=False):
            self.sent.append((data, metadata, display_id, update))
        def clear_output(self, wait):
            self.sent.append(("clear", wait))

    imports.install(None)
    import IPython
    assert IPython.get_ipython() is None, "a process that only preloads has no shell"
    session = inkcell_runner._current = Session()
    from IPython.display import display, clear_output, update_display, DisplayHandle, HTML, Image, GeoJSON, display_html
    display(1, HTML("<b>"))
    assert [sent[0] for sent in session.sent] == [
        {{"text/plain": "1"}}, {{"text/plain": "<IPython.core.display.HTML object>", "text/html": "<b>"}}
    ], session.sent
    session.sent.clear()
    handle = display("a", display_id="x")
    assert type(handle) is DisplayHandle
    handle.update("b"); update_display("c", display_id="x"); clear_output(wait=True)
    assert session.sent == [
        ({{"text/plain": "'a'"}}, {{}}, "x", False), ({{"text/plain": "'b'"}}, {{}}, "x", True),
        ({{"text/plain": "'c'"}}, {{}}, "x", True), ("clear", True),
    ], session.sent
    session.sent.clear()
    display(Image(data={png!r})); display(GeoJSON({{"type": "x"}})); display_html(HTML("h")); display({{"text/html": "r"}}, raw=True)
    assert session.sent[0][0]["image/png"] == {png!r}
    assert session.sent[1][0]["application/geo+json"] == {{"type": "x"}}
    assert session.sent[2][0] == {{"text/html": "h"}}
    assert session.sent[3][0] == {{"text/html": "r"}}
    from IPython.core.interactiveshell import InteractiveShell, InteractiveShellABC
    from IPython.core.getipython import get_ipython
    assert get_ipython() is IPython.get_ipython() is InteractiveShell.instance() and InteractiveShell.initialized()
    get_ipython().display_formatter.formatters["text/html"].for_type(int, str)
    session.sent.clear(); display(5)
    assert session.sent[0][0] == {{"text/plain": "5", "text/html": "5"}}
    Shell.display_pub, Shell.display_formatter = displays.display_pub, formatting.display_formatter
    Shell.events, Shell.configurables = real_ipython._NoEvents(), []
    assert get_ipython() is session.shell, "a shell that is complete is given as it is"
    assert isinstance(session.shell, InteractiveShellABC)
    real_ipython.hook_real_ipython()
    print("whole")
"""


@needs_ipython
def test_the_real_ipython_shows_through_the_session():
    code = textwrap.dedent(REAL).format(root=ROOT, png=PNG)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "whole\n", done.stdout + done.stderr
