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


@pytest.mark.parametrize("settings", ["text.usetex: True", "font.family: none such", "font.sans-serif: none such"])
def test_no_figure_is_rehearsed_that_could_start_programs_or_miss_a_font(settings, tmp_path):
    """What a drawing says only once is left for the user's own."""
    pytest.importorskip("matplotlib.pyplot")
    (tmp_path / "matplotlibrc").write_text(settings + "\n")
    script = """
import os, sys
sys.path.insert(0, %r)
from inkcell_runner import preload
from inkcell_runner.seeds import Seeds
ran = []
run = preload._run
preload._run = lambda session, cells, times: (ran.extend(cells), run(session, cells, times))
assert preload.warm_up("lite", ["matplotlib.pyplot"]) == {}
preload.settle("lite", Seeds())
os.write(1, b"drawn" if preload._FIGURE in ran else b"not drawn")
os._exit(0)
""" % ROOT
    environment = dict(os.environ, MPLBACKEND="agg")
    for wanted, folder in (("not drawn", tmp_path), ("drawn", tmp_path / "empty")):
        folder.mkdir(exist_ok=True)
        environment["MPLCONFIGDIR"] = str(folder)
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
        assert (done.returncode, done.stdout) == (0, wanted), done.stderr
