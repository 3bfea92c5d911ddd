"""Figures of matplotlib, compared with the real inline backend if it is installed.  Each test runs its own
processes, because a process chooses its backend only once."""

import importlib.util
import json
import os
import subprocess
import sys
import textwrap

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

have = {name: importlib.util.find_spec(name) is not None for name in ("matplotlib", "matplotlib_inline", "IPython")}
for _name, _there in have.items():
    if not _there:
        print("!! %s is not installed: figures are not tested with it" % _name, file=sys.__stderr__)

needs_matplotlib = pytest.mark.skipif(not have["matplotlib"], reason="!! matplotlib is not installed")
needs_inline = pytest.mark.skipif(not all(have.values()), reason="!! the inline backend is not installed")

# Runs cells as the session does: displays the value of the last line, then shows the open figures.
OURS = """
import ast, base64, json, os, sys
os.environ.setdefault("MPLBACKEND", "Agg")
sys.path.insert(0, {root!r})
import inkcell_runner
from inkcell_runner import figures, imports

class Executor:
    def publish_sources(self):
        pass

class Session:
    shell = None
    executor = Executor()
    sent = []
    def display(self, data, metadata, *, display_id=None, update=False):
        data = {{k: base64.b64encode(v).decode() if isinstance(v, bytes) else v for k, v in data.items()}}
        self.sent.append(["display", data, metadata])
    def clear_output(self, wait):
        pass

session = inkcell_runner._current = Session()
imports.install(session)
names = {{"say": lambda text: session.sent.append(["said", text])}}
for cell in {cells!r}:
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    try:
        exec(compile(tree, "cell", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        if value is not None:
            from inkcell_runner import displays
            displays.display(value)
    except ZeroDivisionError:
        pass
    figures.show_open_figures(session)
    session.sent.append(["end"])
print(json.dumps(session.sent))
"""

THEIRS = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.displaypub import DisplayPublisher
from IPython.core.displayhook import DisplayHook
sent = []
class Publisher(DisplayPublisher):
    def publish(self, data, metadata=None, **kwargs):
        sent.append(["display", data, metadata or {{}}])
class Hook(DisplayHook):
    def write_output_prompt(self): pass
    def write_format_data(self, data, metadata=None):
        sent.append(["display", data, metadata or {{}}])
class Shell(InteractiveShell):
    display_pub_class = Publisher
    displayhook_class = Hook
    def showtraceback(self, *args, **kwargs): pass
    def enable_gui(self, gui=None): pass
shell = Shell.instance()
InteractiveShell._instance = shell
shell.user_ns["say"] = lambda text: sent.append(["said", text])
shell.run_line_magic("matplotlib", "inline")
for cell in {cells!r}:
    shell.run_cell(cell)
    sent.append(["end"])
print(json.dumps(sent))
"""


def run(program, *cells, **env):
    code = program.format(root=ROOT, cells=[textwrap.dedent(cell) for cell in cells])
    environment = {key: value for key, value in os.environ.items() if key != "MPLBACKEND"}
    environment.update(env)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    sent = json.loads(done.stdout.splitlines()[-1])
    run.stderr = done.stderr
    return sent


def size(png):
    import base64

    head = base64.b64decode(png)
    assert head.startswith(b"\x89PNG")
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")


PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3]);\n"

CELLS = {
    # Comes first: it must work in the same cell that imports matplotlib.
    "show first thing": ["from matplotlib import pyplot; pyplot.plot([1]); pyplot.show(); say('x')"],
    "one": [PLOT + "None"],
    "two in order": [PLOT + "plt.title('a'); plt.figure(figsize=(3, 2)); plt.plot([3, 1]); None"],
    "show in the middle": [PLOT + "say('before'); plt.show(); say('after'); plt.plot([2, 1]); None"],
    "failed cell": [PLOT + "1 / 0"],
    "nothing left for the next cell": [PLOT + "None", "plt.get_fignums()"],
    "closed": [PLOT + "plt.close(); None"],
    "empty figure": ["import matplotlib.pyplot as plt; plt.figure(); None"],
    "dpi": [PLOT + "plt.gcf().set_dpi(50); None"],
    "rc dpi": ["import matplotlib.pyplot as plt\nplt.rcParams['figure.dpi'] = 72", "plt.plot([1]); None"],
    "facecolour": ["import matplotlib.pyplot as plt\nplt.figure(facecolor='red'); plt.plot([1]); None"],
    "see-through": ["import matplotlib.pyplot as plt\nplt.figure(facecolor='none'); plt.plot([1]); None"],
    "see-through and light": [
        "import matplotlib.pyplot as plt\nplt.style.use('dark_background')\nplt.figure(facecolor='none'); plt.plot([1]); None"
    ],
    "subplots": ["import matplotlib.pyplot as plt\nf, a = plt.subplots(2, 3, figsize=(8, 3)); f.suptitle('t'); None"],
    "text outside": [PLOT + "plt.text(5, 5, 'far away'); None"],
    "ioff": ["import matplotlib.pyplot as plt\nplt.ioff()\nplt.plot([1]); say(plt.isinteractive())", "plt.show()"],
    "ioff for one": ["import matplotlib.pyplot as plt\nwith plt.ioff():\n    f = plt.figure()\nsay('made')", "plt.plot([1]); None"],
    "savefig": [PLOT + "import io; plt.savefig(io.BytesIO()); None"],
    "interactive": ["import matplotlib.pyplot as plt\nsay(plt.isinteractive())"],
    "pause": [PLOT + "plt.pause(0.01); say('later'); None"],
    "axes value": [PLOT.replace(";", "") + "plt.gca().get_title()"],
    "cannot be drawn": [PLOT + "plt.title('$\\\\frac$'); plt.figure(); plt.plot([1]); None"],
    "figure of its own": ["from matplotlib.figure import Figure\nf = Figure(); f.subplots().plot([1]); f"],
}


RESET = "import matplotlib, matplotlib.pyplot as plt\nplt.close('all'); matplotlib.rcdefaults(); plt.ion()\nsay('reset')"


def run_all(program):
    """The messages of each of `CELLS`, from one process for all of them."""
    cells = []
    for group in CELLS.values():
        cells += group + [RESET]
    results, sent = [], []
    for event in run(program, *cells):
        sent.append(event)
        if sent[-2:] == [["said", "reset"], ["end"]]:
            results.append(sent[:-2])
            sent = []
    return dict(zip(CELLS, results))


# One test, because the processes run all cells at once: separate tests would start them once in each worker.
@needs_inline
def test_same_as_the_inline_backend():
    ours, theirs = run_all(OURS), run_all(THEIRS)
    for name in CELLS:
        assert [event[0] for event in ours[name]] == [event[0] for event in theirs[name]], name
        for mine, other in zip(ours[name], theirs[name]):
            if mine[0] == "display":
                assert list(mine[1]) == list(other[1]), name
                if "image/png" in mine[1]:
                    assert size(mine[1]["image/png"]) == size(other[1]["image/png"]), name
            assert mine == other, name


@needs_matplotlib
def test_a_displayed_figure_is_not_shown_again():
    made = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots(); ax.plot([1, 2])\n"
    kinds = [event[0] for event in run(OURS, made + "fig", "plt.get_fignums()")]
    assert kinds == ["display", "end", "display", "end"], "shown once, and closed"
    sent = run(OURS, made + "display = __import__('inkcell_runner.displays').displays.display\ndisplay(fig); ax.set_title('later')\nNone")
    assert [event[0] for event in sent] == ["display", "display", "end"], "it changed after it was shown"
    assert sent[0] != sent[1]
    sent = run(OURS, made + "display = __import__('inkcell_runner.displays').displays.display\ndisplay(fig); ax.set_title('')\nNone")
    assert [event[0] for event in sent] == ["display", "end"], "it was touched and is the same"


@needs_matplotlib
def test_what_a_figure_is_sent_as():
    display, end = run(OURS, PLOT + "None")
    assert display[1]["text/plain"] == "<Figure size 640x480 with 1 Axes>"
    assert list(display[1]) == ["text/plain", "image/png"] and display[2] == {}


@needs_matplotlib
@pytest.mark.parametrize("backend", ["module://matplotlib_inline.backend_inline", "agg", "svg", "module://ipykernel.pylab.backend_inline"])
def test_backends_named_by_the_environment(backend):
    kinds = [event[0] for event in run(OURS, PLOT + "say(plt.get_backend()); plt.show(); say('x')", MPLBACKEND=backend)]
    assert kinds == ["said", "display", "said", "end"]


@needs_matplotlib
def test_preloaded_matplotlib_is_taken_over():
    program = "import matplotlib; matplotlib.use('Agg'); import matplotlib.pyplot\n" + OURS
    kinds = [event[0] for event in run(program, PLOT + "plt.show(); say('x')")]
    assert kinds == ["display", "said", "end"]


@needs_matplotlib
def test_a_reload_and_a_user_s_own_show():
    cell = PLOT + "import importlib\nplt = importlib.reload(plt); plt.show(); say('x')"
    assert [event[0] for event in run(OURS, cell)] == ["display", "said", "end"]
    own = PLOT + "plt.show = lambda: say('own'); None"
    kinds = [event[0] for event in run(OURS, own, "plt.show()\nNone")]
    assert kinds == ["display", "end", "said", "end"], "what the user put there stays"


@needs_matplotlib
def test_one_figure_that_cannot_be_drawn_says_why():
    sent = run(OURS, PLOT + "plt.title('$\\\\frac$'); plt.figure(); plt.plot([1]); None")
    assert [list(event[1]) for event in sent[:2]] == [["text/plain"], ["text/plain", "image/png"]]
    assert "ParseException" in run.stderr or "ParseFatalException" in run.stderr or "ValueError" in run.stderr


def test_without_matplotlib_nothing_happens():
    assert run(OURS, "1\nNone", "import json\nNone") == [["end"], ["end"]]


def test_imports_that_fail_fail_as_they_do():
    cell = "try:\n    import matplotlib.pyplot_not_there\nexcept ImportError as error:\n    say(type(error).__name__)"
    assert run(OURS, cell)[0] == ["said", "ModuleNotFoundError"]


@needs_matplotlib
def test_formats_and_settings_can_be_chosen(host):
    def kinds(code):
        return [(sorted(event[1]), event[2].get("metadata")) for event in host.run(code) if event[0] in ("display", "result")]

    host.run("import matplotlib.pyplot as plt")
    draw = "plt.plot([1, 2]); None"
    assert kinds(draw) == [(["image/png", "text/plain"], "")]
    host.run("%config InlineBackend.figure_format = 'png2x'")
    ((found, metadata),) = kinds(draw)
    assert found == ["image/png", "text/plain"]
    size = json.loads(metadata)["image/png"]
    assert size["width"] > size["height"] > 100
    host.run("%config InlineBackend.figure_formats = {'svg'}")
    (shown,) = [event[1] for event in host.run(draw) if event[0] == "display"]
    assert "image/png" not in shown and "<svg" in shown["image/svg+xml"]
    # The cell showed the figure as its value, so it must not show it again at its end.
    assert len(kinds("fig, ax = plt.subplots(); ax.plot([1]); fig")) == 1
    problem = host.run("%config InlineBackend.figure_format = 'bmp'")[-2][1]
    assert problem["ename"] == "ValueError" and "svg" in problem["evalue"] and "bmp" in problem["evalue"]
    host.run("%config InlineBackend.figure_format = 'png'")
    host.run("%config InlineBackend.rc = {'figure.figsize': (3, 2)}")
    host.run("%config InlineBackend.close_figures = False")
    (shown,) = [event[1] for event in host.run("fig, ax = plt.subplots(); ax.plot([1]); None") if event[0] == "display"]
    assert shown["text/plain"] == "<Figure size 300x200 with 1 Axes>"
    assert kinds("1") == [(["text/plain"], "")], "an open figure that did not change is not shown again"
    assert len(kinds("ax.plot([2]); None")) == 1, "one that changed is"
    host.run("%config InlineBackend.close_figures = True")
    assert kinds("plt.get_fignums()")[0][0] == ["text/plain"]
