"""The stand-in for IPython, in processes that cannot import the real one, and compared with the real one if
installed."""

import importlib.util
import os
import subprocess
import sys
import textwrap

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STANDIN = os.path.join(ROOT, "inkcell_runner", "standin")

have_ipython = importlib.util.find_spec("IPython") is not None
if not have_ipython:
    print("!! IPython is not installed: its display objects are not compared", file=sys.__stderr__)

BEFORE = """
import os, sys
sys.path.insert(0, {root!r})
import inkcell_runner
from inkcell_runner import displays, formatting, imports

class Shell:
    ast_node_interactivity = "last_expr"
    def __init__(self):
        self.magics = []
    def register_magic_function(self, function, kind="line", name=None):
        self.magics.append((kind, name, function))

class Session:
    class executor:
        @staticmethod
        def publish_sources(): pass
    def __init__(self):
        self.sent, self.namespace, self.shell = [], {{}}, Shell()
    def display(self, data, metadata, *, display_id=None, update=False):
        self.sent.append((data, metadata, display_id, update))
    def clear_output(self, wait):
        self.sent.append(("clear", wait))

session = inkcell_runner._current = Session()
imports.install(session)
"""


def run(code, standin=True):
    """Runs code with the stand-in before all installed modules, or with the real IPython."""
    before = BEFORE.format(root=ROOT)
    if standin:
        before += "sys.path.insert(0, %r)\n" % STANDIN
    program = before + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-B", "-W", "ignore", "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_it_says_it_is():
    assert run("import IPython; print(IPython.__version__, IPython.version_info >= (8, 24))") == "0.0+inkcell True\n"


def test_display_goes_to_the_session():
    run("""
        from IPython.display import display, clear_output, update_display, DisplayHandle, HTML, display_html
        handle = display(HTML("<b>"), display_id=True)
        assert isinstance(handle, DisplayHandle)
        handle.update(1)
        clear_output(wait=True)
        display_html("<i>", raw=True, metadata={"isolated": True})
        data, metadata, display_id, update = session.sent[0]
        assert data == {"text/plain": "<IPython.core.display.HTML object>", "text/html": "<b>"}, data
        assert session.sent[1][2:] == (display_id, True)
        assert session.sent[2] == ("clear", True)
        assert session.sent[3] == ({"text/html": "<i>"}, {"text/html": {"isolated": True}}, None, False), session.sent
    """)


def test_every_name_is_there():
    run("""
        from IPython import get_ipython, display
        from IPython.display import (
            display, clear_output, update_display, DisplayHandle, publish_display_data, HTML, Markdown, Image, SVG, JSON,
            GeoJSON, Javascript, Latex, Math, Code, Pretty, Audio, Video, IFrame, YouTubeVideo, VimeoVideo, ScribdDocument,
            FileLink, FileLinks, ProgressBar, DisplayObject, TextDisplayObject, display_html, display_png, display_pretty,
            display_markdown, display_svg, display_jpeg, display_latex, display_json, display_javascript, display_pdf,
        )
        from IPython.core.display import display_html, HTML, Image, Video
        from IPython.core.displaypub import publish_display_data
        from IPython.core.getipython import get_ipython
        from IPython.core.error import UsageError
        from IPython.core.magic import (
            Magics, magics_class, line_magic, cell_magic, line_cell_magic, register_line_magic, register_cell_magic,
            register_line_cell_magic, needs_local_scope,
        )
        from IPython.lib.pretty import pretty, pprint, for_type
        from IPython.lib.display import YouTubeVideo
        assert get_ipython() is session.shell
        assert pretty([1]) == "[1]"
    """)


def test_options_on_the_class_reach_the_shell():
    run("""
        from IPython.core.interactiveshell import InteractiveShell
        InteractiveShell.ast_node_interactivity = "all"
        assert session.shell.ast_node_interactivity == "all" == InteractiveShell.ast_node_interactivity
        assert InteractiveShell.instance() is session.shell
    """)


def test_magics():
    run("""
        from IPython.core.magic import *
        @register_line_magic
        def one(line): return line
        @register_cell_magic("named")
        def two(line, cell): return cell
        @register_line_cell_magic
        def three(line, cell=None): return cell
        assert session.shell.magics == [("line", "one", one), ("cell", "named", two), ("line_cell", "three", three)]
        @magics_class
        class Mine(Magics):
            @line_magic
            def four(self, line): return self, line
            @line_cell_magic("five")
            def _five(self, line, cell=None): return cell
        mine = Mine(session.shell)
        assert set(mine.magics["line"]) == {"four", "five"} and set(mine.magics["cell"]) == {"five"}
        assert mine.magics["line"]["four"]("x") == (mine, "x") and mine.shell is session.shell
        class Forgot(Magics): pass
        try:
            Forgot(None)
        except ValueError:
            pass
        else:
            raise AssertionError
    """)


def test_objects_from_files(tmp_path):
    (tmp_path / "x.svg").write_bytes(b"<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'><g/></svg>")
    (tmp_path / "x.png").write_bytes(PNG)
    (tmp_path / "x.json").write_text('{"a": [1]}')
    run("""
        import pathlib
        from IPython.display import SVG, Image, JSON, HTML, FileLink
        here = pathlib.Path(%r)
        assert formatting.bundle(SVG(here / "x.svg"))[0]["image/svg+xml"] == '<svg xmlns="http://www.w3.org/2000/svg"><g/></svg>'
        data, metadata = formatting.bundle(Image(str(here / "x.png"), retina=True))
        assert data["image/png"] == (here / "x.png").read_bytes() and metadata == {"image/png": {"width": 1, "height": 2}}
        assert formatting.bundle(JSON(filename=str(here / "x.json")))[0]["application/json"] == {"a": [1]}
        assert "x.png" in formatting.bundle(FileLink(str(here / "x.png")))[0]["text/html"]
        for wrong in (lambda: HTML(5), lambda: JSON("5"), lambda: FileLink(str(here)), lambda: Image()):
            try:
                wrong()
            except (TypeError, ValueError):
                continue
            raise AssertionError(wrong)
    """ % str(tmp_path))


def test_progress_bar():
    run("""
        from IPython.display import ProgressBar
        assert list(ProgressBar(3)) == [0, 1, 2]
        assert session.sent[0][3] is False and session.sent[-1][3] is True
        assert session.sent[-1][0]["text/plain"] == "[" + "=" * 60 + "] 3/3"
    """)


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x04rest"
JPEG = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08\0\x10\0\x20"
GIF = b"GIF89a\x03\0\x05\0rest"

OBJECTS = r"""
import os, pathlib
from IPython.display import *
here = pathlib.Path(%(here)r)
values = [
    HTML("<b>x</b>"), HTML("<b>", metadata={"isolated": True}), HTML(None), Markdown("*x*"), Latex("$x$"), Math("x^2"), Math("$y$"),
    Pretty("p"), JSON({"a": 1}), JSON([1], expanded=True, root="r"), GeoJSON({"type": "Point"}, url_template="u"),
    Javascript("x()"), Javascript("x()", lib=["a.js", "b.js"], css="c.css"), SVG("<svg xmlns='http://www.w3.org/2000/svg'><a/></svg>"),
    Image(data=%(png)r), Image(data=%(png)r, width=5, height=6, unconfined=True, alt="alt"), Image(data=%(jpeg)r), Image(data=%(gif)r),
    Image(data=%(jpeg)r, retina=True), Image(data=%(gif)r, retina=True), Image(data=%(png)r, metadata={"width": 9}),
    Image(url="http://x/y.png", width=3, alt="a'b"), Image(url="http://x/y?z&q", unconfined=True), Image(data=%(png)r, format="jpg"),
    IFrame("http://x/", 10, "50%%", extras=["loading"], a=1), YouTubeVideo("i", start=3, allow_autoplay=True)._repr_html_(),
    VimeoVideo("i"), ScribdDocument("i", page=2), Video("http://x/y.mp4", width=3), Video(b"raw", embed=True, mimetype="video/mp4"),
    Video("nofile.mp4", embed=True, mimetype="m")._repr_html_(), Audio(url="http://x/y.mp3", autoplay=True, element_id="e"),
    Audio(b"RIFF", rate=1), Audio([0.0, 0.5, -1.0], rate=8000), Audio([0, 1], rate=8000, normalize=False),
    FileLink("missing"), FileLink(str(here / "a'b.txt"), url_prefix="/p/"), FileLinks(str(here)), FileLinks(str(here), included_suffixes=[".py"]),
    FileLinks(str(here), recursive=False), Code("x = 1 < 2", language="python"), Code("x")._repr_latex_() and None, ProgressBar(4),
    DisplayHandle("x"), Image, HTML,
]
import re
for value in values:
    displays.display(value)
for sent in session.sent:
    print(re.sub("0x[0-9a-f]+", "0x", repr(sent)))
"""


@pytest.mark.skipif(not have_ipython, reason="!! IPython is not installed")
def test_same_bundles_as_the_real_objects(tmp_path):
    (tmp_path / "sub").mkdir()
    for name in ("a'b.txt", "c.py", "sub/d<e.py"):
        (tmp_path / name).write_text("x")
    code = OBJECTS % {"here": str(tmp_path), "png": PNG, "jpeg": JPEG, "gif": GIF}
    import IPython

    if IPython.version_info[0] < 9:
        pytest.skip("!! IPython is older than the one whose HTML is followed")
    ours, theirs = run(code).splitlines(), run(code, standin=False).splitlines()
    assert len(ours) == len(theirs) > 40
    for mine, other in zip(ours, theirs):
        assert mine == other
