"""What a fork server does ahead of time does not show in its copies."""

import os
import subprocess
import sys
import textwrap

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Settles as a fork server does, and then says what the user of a copy could see.
SCRIPT = """
import gc, os, signal, sys, warnings
sys.path.insert(0, {root!r})
from inkcell_runner.preload import settle, warm_up
from inkcell_runner.seeds import Seeds
import inkcell_runner

assert warm_up("lite", {preload!r}) == {{}}

def state():
    import linecache
    return dict(
        fds=sorted(os.listdir("/proc/self/fd")),
        threads=len(os.listdir("/proc/self/task")),
        cwd=os.getcwd(),
        env=dict(os.environ),
        cells=[name for name in linecache.cache if name.startswith("<")],
        filters=list(warnings.filters),
        handlers=[str(signal.getsignal(one)) for one in (signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)],
        hook=sys.excepthook is sys.__excepthook__ and sys.displayhook is sys.__displayhook__,
    )

if "matplotlib.pyplot" in sys.modules:
    settings = dict(sys.modules["matplotlib"].rcParams)
before = state()
stdout = sys.__stdout__
session = settle("lite", Seeds())
after = state()
assert before == after, (before, after)
assert inkcell_runner._current is None
assert (session.count, session.history, session.outputs, session.running) == (0, [""], {{}}, None)
assert session.executor.sources == {{}} and session.descriptors is None
names = {{name for name in session.namespace if not name.startswith("_")}}
session.set_prelude("off")
left = {{name for name in session.namespace if not name.startswith("_")}}
assert left == {{"In", "Out"}} and "bash" in names, (left, names)
session.set_prelude("minimal")
assert "bash" in session.namespace and "tree" not in session.namespace
assert gc.isenabled() and sys.getprofile() is None
if "pandas" in sys.modules:
    # Its code was moved, and is what it was.
    import inspect, pandas
    assert "def __init__" in inspect.getsource(pandas.DataFrame.__init__)
    assert str(pandas.DataFrame({{"a": [1]}})) == "   a\\n0  1"
    try:
        pandas.DataFrame({{"a": [1]}})["b"]
    except KeyError as error:
        lines = inspect.getinnerframes(error.__traceback__)
        assert any("self.columns.get_loc(key)" in "".join(line.code_context or ()) for line in lines), lines
if "matplotlib.pyplot" in sys.modules:
    # A figure was drawn, and is gone without a trace.
    import matplotlib, matplotlib.pyplot as plt
    assert "matplotlib.backends.backend_agg" in sys.modules and plt.get_fignums() == []
    assert dict(plt.rcParams) == settings, [name for name in settings if plt.rcParams[name] != settings[name]]
    assert plt.figure().number == 1
os.write(1, b"fine")
os._exit(0)
"""


@pytest.mark.parametrize("library", [None, "pandas", "matplotlib.pyplot"])
def test_nothing_of_a_rehearsal_shows(library):
    if library is not None:
        pytest.importorskip(library)
    script = textwrap.dedent(SCRIPT).format(root=ROOT, preload=[library] if library else [])
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "fine"), done.stderr


FIGURE = """
import os, sys
sys.path.insert(0, {root!r})
from inkcell_runner import preload
from inkcell_runner.seeds import Seeds
ran = []
run = preload._run
preload._run = lambda session, cells, times: (ran.extend(cells), run(session, cells, times))
assert preload.warm_up("lite", ["matplotlib.pyplot"]) == {{}}
import matplotlib.pyplot as plt
{before}
settings, opened = dict(plt.rcParams), sorted(os.listdir("/proc/self/fd"))
preload.settle("lite", Seeds())
assert sorted(os.listdir("/proc/self/fd")) == opened
assert dict(plt.rcParams) == settings and plt.get_fignums() == []
os.write(1, b"drawn" if preload._FIGURE in ran else b"not drawn")
os._exit(0)
"""

RAISING = "from matplotlib.lines import Line2D\nLine2D.draw = None"


@pytest.mark.parametrize(
    "settings, before, wanted",
    [
        ("", "", "drawn"),
        ("", RAISING, "drawn"),
        ("text.usetex: True", "", "drawn"),
        ("font.family: none such", "", "drawn"),
        ("axes.formatter.use_mathtext: True", "", "drawn"),
        ("figure.dpi: 4000", "", "drawn"),
        ("backend: pgf", "", "not drawn"),
        ("backend: svg", "", "not drawn"),
    ],
)
def test_no_figure_that_is_rehearsed_leaves_anything(settings, before, wanted, tmp_path):
    """Whatever the user's settings are: no file stays open, no setting is another one, and no program is started."""
    pytest.importorskip("matplotlib.pyplot")
    (tmp_path / "matplotlibrc").write_text(settings + "\n")
    for program in ("latex", "xelatex", "pdflatex", "pdftocairo", "dvipng"):
        (tmp_path / program).write_text("#!/bin/sh\ntouch %s/started\nexit 1\n" % tmp_path)
        (tmp_path / program).chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    environment.update(MPLCONFIGDIR=str(tmp_path), PATH="%s:%s" % (tmp_path, environment["PATH"]))
    command = [sys.executable, "-c", FIGURE.format(root=ROOT, before=before)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert (done.returncode, done.stdout) == (0, wanted), done.stderr
    assert not (tmp_path / "started").exists()
