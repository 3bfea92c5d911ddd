"""Installing the prelude: names, levels, laziness, and the view of `help`. B:E-40, B:E-42."""

import contextlib
import copy
import inspect
import pickle
import pydoc
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import inkcell_runner  # noqa: E402
from inkcell_runner import prelude  # noqa: E402


class FakeSession:
    """Collects the reports of the helpers."""

    def __init__(self):
        self.namespace = {"__name__": "__main__"}
        self.events = []
        self.shown = []
        self.flushes = 0
        self.artifacts = None
        self.running = "run-1"

    def status(self, op, **fields):
        self.events.append(dict(op=op, **fields))

    def display(self, data, metadata=None, **options):
        self.shown.append((data, metadata, options))

    def flush(self):
        self.flushes += 1

    @contextlib.contextmanager
    def capture(self):
        shown, self.shown = self.shown, []
        yield
        self.shown = shown

    def last(self):
        return self.events[-1]


@pytest.fixture
def session(monkeypatch, tmp_path):
    fake = FakeSession()
    monkeypatch.setattr(inkcell_runner, "current", lambda: fake)
    monkeypatch.chdir(tmp_path)
    for name in ("EVAL_LOCAL_ROOTS", "ARTIFACTS_DIR", "SHELL_SNAPSHOT", "BASH_NO_LOGIN"):
        for prefix in ("PI_", "INKCELL_"):
            monkeypatch.delenv(prefix + name, raising=False)
    monkeypatch.delenv("ARTIFACTS", raising=False)
    prelude.install(fake, "full")
    return fake


@pytest.fixture
def ns(session):
    """The user's namespace, with its names as attributes."""

    class Names:
        def __getattr__(self, name):
            return session.namespace[name]

    return Names()


def test_threads_that_use_a_helper_first_at_once():
    """No thread sees a module that another still imports, and the path stays complete. B:X-40"""
    code = """
import sys, threading
from inkcell_runner import prelude
shadow, start = sys.argv[1], threading.Barrier(8)
if shadow:
    sys.path.insert(0, shadow)
before, seen = list(sys.path), []
sys.setswitchinterval(1e-6)
names = ["bridge", "output", "search", "text"]
def use(number):
    start.wait()
    for name in names[number % 4:] + names[:number % 4]:
        module = prelude._implementation(name)
        seen.append(hasattr(module, {"bridge": "Tool", "output": "phase", "search": "rgrep", "text": "counter"}[name]))
threads = [threading.Thread(target=use, args=(n,)) for n in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(seen), all(seen), sys.path == before)
"""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "http.py").write_text("raise ImportError('not the library')")
        for shadow in ("", folder):
            run = [sys.executable, "-I", "-c", "import sys; sys.path.insert(0, %r)\n" % str(ROOT) + code, shadow]
            said = subprocess.run(run, capture_output=True, text=True, timeout=60)
            assert said.stdout == "32 True True\n", said


def test_path_is_judged_by_one_thread_at_a_time(monkeypatch):
    """A thread that judges the path while another hides part of it would import the user's modules into a helper."""
    judged = []

    def library_path():
        judged.append(prelude._hiding._is_owned())
        return own, ["before"]

    own = prelude._library_path()[0]
    for shadowed in (False, True):
        monkeypatch.setattr(prelude, "_library_path", library_path)
        monkeypatch.setattr(prelude, "_shadowed", lambda directories: shadowed)
        monkeypatch.delitem(sys.modules, prelude.__name__ + ".paths", raising=False)
        prelude._implementation("paths")
    assert judged == [True, True]


EXPECTED = set(
    """pwd cd ls tree stat read write append cat touch mkdir rm mv cp find glob_files grep rgrep
    head tail wc sort_lines sort uniq cols counter replace sed rsed lines delete_lines
    delete_matching insert_at diff batch parallel pipeline env run sh bash git_status git_diff
    git_log git_show git_file_at git_branch git_has_changes output display log phase tool""".split()
)


def test_every_name_is_installed(session):
    assert EXPECTED == set(session.namespace) - {"__name__"}
    assert session.events == [] and session.shown == []


def test_every_name_is_looked_for_in_a_notebook():
    """Issue 21, 4: notebooks run without helpers, and the comparison with Jupyter has a cell for each name."""
    crates = ROOT.parent.parent
    cells = crates / "inkcell" / "tests" / "differential" / "notebooks" / "helpers.txt"
    looked_for = {line.partition("(")[0] for line in cells.read_text().splitlines() if "(" in line}
    assert looked_for == EXPECTED


def test_every_name_is_called_on_every_backend():
    """Issue 21, 5: the table of the conformance suite has a row for each helper."""
    table = ROOT.parent / "tests" / "conformance" / "helpers.rs"
    rows = table.read_text().partition("CALLS")[2].partition("];")[0].splitlines()
    assert {row.split('"')[1] for row in rows if row.startswith("    (")} == EXPECTED


def test_minimal_and_off():
    small = FakeSession()
    prelude.install(small, "minimal")
    wanted = "display bash sh run env output log phase tool".split()
    assert set(small.namespace) == {"__name__", *wanted}
    none = FakeSession()
    assert prelude.install(none, "off") == []
    assert set(none.namespace) == {"__name__"}
    with pytest.raises(ValueError, match="'most'.*'full', 'minimal', 'off'"):
        prelude.install(none, "most")


def test_the_users_names_win_and_a_second_install_adds_only_what_is_missing(session):
    session.namespace["read"] = 5
    del session.namespace["find"]
    assert prelude.install(session, "full") == ["find"]
    assert session.namespace["read"] == 5
    session.namespace.clear()
    assert set(prelude.install(session, "full")) == EXPECTED
    session.namespace["lines"] = "mine"
    assert prelude.installed(session.namespace) == EXPECTED - {"lines"}


def test_no_helper_hides_a_builtin():
    import builtins

    # The runner makes `display` a built-in, and it does the same there.
    assert {name for name in EXPECTED if hasattr(builtins, name)} <= {"display"}


def test_installing_imports_nothing():
    code = """
import sys
sys.path.insert(0, sys.argv[1])
import inkcell_runner
base = set(sys.modules)
class S: namespace = {}
from inkcell_runner import prelude
prelude.install(S, 'full')
repr(S.namespace['read']), getattr(S.namespace['read'], '_repr_html_', None)
new = set(sys.modules) - base
assert new == {'inkcell_runner.prelude'}, new
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(ROOT)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_a_module_of_the_users_does_not_become_part_of_a_helper(tmp_path):
    for name in ("difflib.py", "shutil.py", "selectors.py"):
        (tmp_path / name).write_text("raise RuntimeError('hijacked')")
    (tmp_path / "a").write_text("x\n")
    code = """
import sys
sys.path.insert(0, sys.argv[1])
import inkcell_runner
from inkcell_runner import prelude
sys.path.insert(0, sys.argv[2])
import os; os.chdir(sys.argv[2])
class S:
    namespace = {}
    status = staticmethod(lambda op, **f: None)
    flush = staticmethod(lambda: None)
inkcell_runner.current = lambda: S
prelude.install(S, 'full')
before = list(sys.path)
assert S.namespace['run']('echo hi').stdout == 'hi\\n'
S.namespace['cp']('a', 'b')
assert sys.path == before
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(ROOT), str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_a_helper_looks_like_a_function(session):
    read = session.namespace["read"]
    assert str(inspect.signature(read)) == "(path, offset=1, limit=None)"
    assert inspect.getdoc(read).startswith("Text of a file")
    assert read.__name__ == "read" and read.__qualname__ == "read"
    assert "def read(" in inspect.getsource(read)
    text = pydoc.plain(pydoc.render_doc(read))
    assert "read(path, offset=1, limit=None)" in text and "Text of a file" in text
    assert pickle.loads(pickle.dumps(read)) is read
    assert copy.deepcopy(session.namespace["tool"]) is session.namespace["tool"]
    assert repr(read) == "<prelude helper read>"
    with pytest.raises(AttributeError):
        read._repr_html_

    class Holder:
        head = session.namespace["head"]

        def splitlines(self):
            return []

    assert inspect.ismethod(Holder().head)


def test_docs_are_complete_and_sorted(session):
    rows = prelude.docs()
    assert {row["name"] for row in rows} == EXPECTED
    assert rows == sorted(rows, key=lambda row: (row["category"], row["name"]))
    for row in rows:
        assert set(row) == {"name", "signature", "doc", "category"}
        assert row["doc"] and "\n" not in row["doc"]
        assert "(" in row["signature"]
    categories = {row["category"] for row in rows}
    assert categories == {
        "Navigation", "File I/O", "File ops", "Search", "Text", "Find/Replace",
        "Line ops", "Batch", "Shell", "Git", "Output",
    }  # fmt: skip
    by_name = {row["name"]: row for row in rows}
    assert by_name["bash"]["signature"].startswith("(cmd, cwd=None, timeout=None")
    assert by_name["insert_at"]["signature"] == "(path, line, text, after=True)"
    assert session.events == []

