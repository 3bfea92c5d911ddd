"""The names that a cell uses and makes, which tell stale cells."""

import importlib.util
import os
import sys
import types

import pytest
from inkcell_runner import names


def found(code, returned=None, **namespace):
    session = types.SimpleNamespace(namespace=namespace, hidden={})
    flags = 0x0400 | 0x2000  # A tree only, and `await` at the top level.
    return names.find(compile(code, "<cell>", "exec", flags, True), session, returned)


TABLE = [
    # Bound names.
    ("x = 1", [], ["x"]),
    ("x = y = z", ["z"], ["x", "y"]),
    ("(a, [b, *c]), d = v", ["v"], ["a", "b", "c", "d"]),
    ("x: int = y", ["y"], ["x"]),
    ("x: int", [], []),
    ("from a import b, c as d", [], ["b", "d"]),
    ("from __future__ import annotations", [], []),
    ("for i in xs: total = i", ["xs"], ["i", "total"]),
    ("with open(p) as f: text = f.read()", ["p"], ["f", "text"]),
    ("if (n := size()) > 1: pass", ["size"], ["n"]),
    ("[y := f(x) for x in xs]", ["f", "xs"], ["y"]),
    ("del x", ["x"], ["x"]),
    # Used names whose value comes from before the cell.
    ("x = 1\nprint(x)", [], ["x"]),
    ("print(x)\nx = 1", ["x"], ["x"]),
    ("x = x + 1", ["x"], ["x"]),
    ("f'{a!r:>{width}}'", ["a", "width"], []),
    ("xs[i:j].attr", ["i", "j", "xs"], []),
    ("await task", ["task"], []),
    ("assert ok, why", ["ok", "why"], []),
    ("raise Problem(x)", ["Problem", "x"], []),
    ("1 + 1", [], []),
    ("", [], []),
    # A name bound on some paths only may come from before.
    ("if a: x = 1", ["a", "x"], ["x"]),
    ("if a: x = 1\nelse: x = 2", ["a"], ["x"]),
    ("if a: x = 1\nelse: raise ValueError", ["a"], ["x"]),
    ("try: import m\nexcept ImportError: m = None", [], ["m"]),
    ("try: x = f()\nexcept OSError: pass", ["f", "x"], ["x"]),
    ("try: x = f()\nexcept OSError as e: raise", ["f"], ["e", "x"]),
    ("try: x = f()\nfinally: done(x)", ["done", "f"], ["x"]),
    # Comprehensions have their own names.
    ("[i * k for i in xs if i]", ["k", "xs"], []),
    ("{k: v for k, v in d.items()}", ["d"], []),
    ("ys = [[c for c in row] for row in rows]", ["rows"], ["ys"]),
    # A name changed in place is both used and made.
    ("xs.append(1)", ["xs"], ["xs"]),
    ("xs[0] = 1", ["xs"], ["xs"]),
    ("x.a.b[0].c = y", ["x", "y"], ["x"]),
    ("x += 1", ["x"], ["x"]),
    ("x.n += 1", ["x"], ["x"]),
    ("del d[k]", ["d", "k"], ["d"]),
    ("a, x[0] = 1, 2", ["x"], ["a", "x"]),
    ("setattr(x, 'a', 1)", ["x"], ["x"]),
    ("df.drop(columns='a', inplace=True)", ["df"], ["df"]),
    ("y = xs.pop()", ["xs"], ["xs", "y"]),
    ("model.fit(X)", ["X", "model"], ["model"]),
    ("model.tune(X)\nmodel.score(X)", ["X", "model"], ["model"]),
    ("xs = []\nxs.append(1)", [], ["xs"]),
    ("[xs.append(i) for i in ys]", ["xs", "ys"], ["xs"]),
    # A change of an element changes its holder too.
    ("for x in xs: x.append(1)", ["xs"], ["x", "xs"]),
    ("for x in xs: x.work()", ["xs"], ["x", "xs"]),
    ("for x in xs: x.a[0] = 1", ["xs"], ["x", "xs"]),
    ("for x in xs: x = 1; x.a = 2", ["xs"], ["x"]),
    ("for x in xs: print(x.a)", ["xs"], ["x"]),
    ("for i, (k, v) in enumerate(d.items()): v.sort()", ["d"], ["d", "i", "k", "v"]),
    ("for a, b in zip(xs, [y, *zs[1:]]): b.sort()", ["xs", "y", "zs"], ["a", "b", "xs", "y", "zs"]),
    ("for row in t:\n    for x in row: x.n += 1", ["t"], ["row", "t", "x"]),
    ("[x.append(1) for x in xs]", ["xs"], ["xs"]),
    ("for x in range(n): x.a = 1", ["n"], ["x"]),
    # Calls that only look, or whose value is shown, change nothing.
    ("df.head()", ["df"], []),
    ("df.info()\ndf.describe()", ["df"], []),
    ("df.to_csv('x')\n1", ["df"], []),
    ("y = df.dropna()", ["df"], ["y"]),
    # Functions: the parts outside of their bodies are used now.
    ("def f(a=b, *c: d) -> e: return g", ["b", "d", "e"], ["f"]),
    ("@wrap\ndef f(): pass", ["wrap"], ["f"]),
    ("def f(): return k\nf()", ["k"], ["f"]),
    ("def f(): return k\nk = 1\nf()", [], ["f", "k"]),
    ("def f(): return g()\ndef g(): return k\nf()", ["k"], ["f", "g"]),
    ("sorted(xs, key=lambda x: x * k)", ["k", "xs"], []),
    ("class A(B, metaclass=M): x = y", ["B", "M", "y"], ["A"]),
    ("class A:\n    x = 1\n    y = x\n    def f(self): return k", [], ["A"]),
]


@pytest.mark.parametrize(("code", "uses", "makes"), TABLE)
def test_names_of_a_cell(code, uses, makes):
    told = found(code)
    assert (told["uses"], told["makes"]) == (uses, makes)


LATER = [
    ("def f(a): return a + k", {"f": (["k"], [])}),
    ("def f(): b = k\n", {"f": (["k"], [])}),
    ("def f():\n    global n\n    n = 1", {"f": ([], ["n"])}),
    ("def f():\n    global n\n    n += 1", {"f": (["n"], ["n"])}),
    ("def f():\n    for x in xs: x.a = 1", {"f": (["xs"], ["xs"])}),
    ("def f(ys): [y.append(1) for y in xs]", {"f": (["xs"], ["xs"])}),
    ("def f(xs):\n    for x in xs: x.a = 1", {}),
    ("class A:\n    def f(self):\n        global n\n        n = self", {"A": ([], ["n"])}),
    ("def f(): os.chdir(p)", {"f": (["os", "p"], ["%cd"])}),
    ("def f(): return os.environ['A'], os.getcwd()", {"f": (["%cd", "%env", "os"], [])}),
    ("def f(): cache[1] = log.append(2)", {"f": (["cache", "log"], ["cache", "log"])}),
    ("def f():\n    n = 0\n    def g():\n        nonlocal n\n        n += k\n    return g", {"f": (["k"], [])}),
    ("def f(xs): return [x + k for x in xs]", {"f": (["k"], [])}),
    ("f = lambda x: x + k", {"f": (["k"], [])}),
    ("def f(): return f()", {"f": (["f"], [])}),
    ("class A:\n    k = 1\n    def f(self): return k, self.k", {"A": (["k"], [])}),
    ("def f():\n    try: pass\n    except E as e: return e", {"f": (["E"], [])}),
    ("def f(): import os; return os", {}),
    ("def f(): return len([])", {}),
    ("def f(): return k\nf = 1", {}),
    ("if c:\n    def f(): return k\nelse:\n    def f(): return n", {"f": (["k", "n"], [])}),
    ("try:\n    def f(): return k\nexcept E:\n    f = None", {"f": (["k"], [])}),
    ("class B(A, m.C): pass", {"B": (["A"], [])}),
]


@pytest.mark.parametrize(("code", "later"), LATER)
def test_what_a_function_takes_counts_for_whoever_uses_it(code, later):
    told = found(code)["later"]
    assert {name: (one["uses"], one["makes"]) for name, one in told.items()} == later


@pytest.mark.parametrize(
    "code",
    [
        "from m import *",
        "exec('x = 1')",
        "eval(text)",
        "globals()['x'] = 1",
        "_ + 1",
        "Out[3]",
        "_12",
        "get_ipython().run_line_magic('run', 'x.py')",
        "get_ipython().run_cell_magic('unheard_of', '', 'x')",
        "get_ipython().run_line_magic(name, '')",
        "-" * 3000 + "1" if sys.version_info < (3, 12) else "x" + ".a" * 5000,
        ";".join("x%d = 1" % at for at in range(3000)),
    ],
)
def test_what_cannot_be_told_is_not_told(code):
    """No answer is never wrong."""
    try:
        assert found(code) is None
    except (RecursionError, MemoryError):
        # Too deep for Python's own parser: such a cell has no tree.
        pass


def test_names_that_python_brings_along_are_not_the_users():
    assert found("print(len(x))")["uses"] == ["x"]
    # A user may define such a name.
    assert found("print(len(x))", print=1)["uses"] == ["print", "x"]
    session = types.SimpleNamespace(namespace={"tree": 5, "df": 6}, hidden={"tree": 5, "df": 7})
    assert names.find(compile("tree, df", "", "exec", 0x0400), session)["uses"] == ["df"]


def test_functions_of_modules_and_values_that_cannot_change_are_not_changed():
    for code in ("m.seed(1)\n1", "m.clear()", "m.sort(xs)"):
        assert found(code, m=sys)["makes"] == [], code
    assert found("m.settings.update(a=1)", m=sys)["makes"] == ["m"]
    assert found("m.settings['a'] = 1", m=sys)["makes"] == ["m"]
    assert found("s.strip()\n1", s="text")["makes"] == []
    assert found("s.strip()\n1", s=[])["makes"] == ["s"]


def test_a_method_whose_value_nobody_takes_is_called_for_an_effect():
    """The last value is shown, so the value decides: None, or the object of the method, means an effect."""
    thing = [[]]
    one = {"c": thing}
    for code in ("c.inc()", "c.inc();", "c[0].inc()", "x = 1\nc.inc()", "await c.inc()"):
        assert found(code, id(None), **one)["makes"][:1] == ["c"], code
        assert found(code, id(thing), **one)["makes"][:1] == ["c"], "%s, which gives itself" % code
        assert "c" not in found(code, id(one), **one)["makes"], "%s, which gives a value" % code
        assert "c" not in found(code, None, **one)["makes"], "%s, of which nothing is known" % code
    assert found("c.inc()\n1", id(one), **one)["makes"] == ["c"]
    assert found("c.part.inc()\n1", **one)["makes"] == ["c"]
    assert found("def f(): c.part.inc()", **one)["later"] == {"f": {"uses": ["c"], "makes": ["c"]}}
    # A method that only looks changes nothing, whatever it returns, and a module's functions do not change the
    # module.
    for code in ("c.head()", "c.to_csv()", "c.plot.bar()", "c.plot.bar()\n1", "m.inc()", "m.part.inc()\n1", "s.inc()"):
        assert found(code, id(None), m=sys, s="text", **one)["makes"] == [], code
    for code in ("def f(): m.part.inc()", "def f(): s.inc()"):
        assert found(code, m=sys, s="text")["later"]["f"]["makes"] == [], code
    assert found("get_ipython().run_line_magic('time', 'c.inc()')", id(None), **one)["makes"] == ["c"]
    assert found("get_ipython().run_line_magic('time', 'c.inc()')", id(one), **one)["makes"] == []


OWN = [
    ("if a: x = 1", ["x"]),
    ("try: x\nexcept NameError: x = 1", ["x"]),
    ("try: x = f()\nexcept OSError: pass", ["x"]),
    ("if a: x = 0\nelse: x = x + 1", ["x"]),
    ("def f():\n    global x\n    x = 1\nf()", ["x"]),
    ("def f():\n    global x\n    if x is None: x = 1\nf()", ["x"]),
    ("os.chdir(p)", ["%cd"]),
    ("os.chdir(p)\nos.getcwd()", ["%cd"]),
    ("import os\nos.environ['A'] = '1'\nprint(os.environ['A'])", ["%env"]),
    ("os.environ.setdefault('A', '1')", ["%env"]),
    # Python may not call the function.
    ("def f():\n    global x\n    x += 1\nf()", ["x"]),
    ("def f(): return x\nf()", ["x"]),
    ("class A:\n    def m(self): return x\na = A()", ["x"]),
    # Names that the cell cannot do without.
    ("x = x + 1", []),
    ("print(x)\nif a: x = 1", []),
    ("if a: x += 1", []),
    ("x.append(1)", []),
    ("def f():\n    global x\n    x = 1\nprint(x)\nf()", []),
]


@pytest.mark.parametrize(("code", "own"), OWN)
def test_what_a_cell_binds_on_some_ways_it_does_not_need(code, own):
    told = found(code)
    assert told.get("own", []) == own
    assert set(own) <= set(told["uses"])


@pytest.mark.parametrize(
    ("code", "deletes"),
    [
        ("del x", ["x"]),
        ("if a: del x, y[0]", ["x"]),
        ("del x\nx = 1\nprint(x)", ["x"]),
        ("print(x)\ndel x", []),
        ("if a:\n    del x\nelse:\n    print(x)", []),
        ("x = 1\ndel x", []),
        ("del x.a, y[0]", []),
    ],
)
def test_names_that_are_only_deleted(code, deletes):
    assert found(code).get("deletes", []) == deletes


def test_imports_make_names():
    told = found("import numpy as np, os\nnp.x")
    assert (told["uses"], told["makes"]) == ([], ["np", "os"])
    # The import makes the name whatever stands above, so this cell alone is enough for users of the name.
    told = found("from datetime import datetime")
    assert (told["uses"], told["makes"]) == ([], ["datetime"])
    # Importing a submodule into an existing module needs that module.
    told = found("import os.path")
    assert (told["uses"], told["makes"], told["own"]) == (["os"], ["os"], ["os"])
    told = found("import os.path as path")
    assert (told["uses"], told["makes"]) == ([], ["path"])
    told = found("try: import m\nexcept ImportError: m = None")
    assert (told["uses"], told["makes"]) == ([], ["m"])


def test_whoever_uses_an_object_may_call_its_methods():
    kind = type("A", (), {"__module__": "cells"})
    told = found("a = A()\nb = 1", __name__="cells", A=kind, a=kind(), b=1)
    assert told["later"] == {"a": {"uses": ["A"], "makes": []}}
    # The result omits classes of other modules, or with another name.
    assert found("a = A()", __name__="main", A=kind, a=kind())["later"] == {}
    assert found("a = A()", __name__="cells", B=kind, a=kind())["later"] == {}


def test_the_folder_and_the_environment():
    shell = "get_ipython()."
    folder, environment = ["%cd"], ["%env"]
    for code in (shell + "run_line_magic('cd', 'data')", shell + "run_line_magic('pushd', 'data')"):
        told = found(code)
        assert (told["uses"], told["makes"], told["own"]) == (folder, folder, folder)
    for code in (shell + "run_line_magic('env', 'A=1')", shell + "run_line_magic('set_env', 'A 1')"):
        told = found(code)
        assert (told["uses"], told["makes"], told["own"]) == (environment, environment, environment)
    assert found("os.environ['A'] = '1'")["makes"] == ["%env", "os"]
    assert found("os.environ.update(a)")["makes"] == ["%env", "os"]
    told = found("load_dotenv()")
    assert (told["uses"], told["makes"]) == (["%env", "load_dotenv"], environment)
    for code in ("os.environ['A']", "os.getenv('A')"):
        assert (found(code)["uses"], found(code)["makes"]) == (["%env", "os"], []), code
    for code in ("os.getcwd()", "os.listdir()"):
        assert (found(code)["uses"], found(code)["makes"]) == (["%cd", "os"], []), code
    assert found(shell + "run_line_magic('env', 'A')")["uses"] == environment
    assert found(shell + "run_line_magic('ls', '')")["uses"] == folder


def test_magics():
    shell = "get_ipython()."
    assert found(shell + "run_line_magic('matplotlib', 'inline')\nx") == found("x")
    assert found(shell + "run_line_magic('time', 'y = f(x)')") == found("y = f(x)")
    assert found(shell + "run_cell_magic('time', '', 'y = f(x)\\nz = y')") == found("y = f(x)\nz = y")
    assert found(shell + "system('ls {folder} $other $PATH')", folder=1, other=2)["uses"][2:] == ["folder", "other"]
    assert found("x = " + shell + "getoutput('ls')")["makes"] == ["x"]
    assert found(shell + "run_line_magic('timeit', '-n 3 f()')") is None
    assert found(shell + "run_cell_magic('html', '', 'ls')") == found("")
    assert found(shell + "run_cell_magic('bash', '', 'ls')")["uses"] == ["%cd", "%env"]


def test_files_that_are_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in "abcd":
        (tmp_path / name).write_text(name * 3)
    place = {"path": str(tmp_path / "c"), "there": tmp_path / "d"}

    def files(code):
        return [(path[-1], size) for path, size, _ in found(code, **place)["files"]]

    assert files("open('a')") == [("a", 3)]
    # A relative path depends on the current directory.
    assert found("open('a')")["uses"] == ["%cd"]
    assert found("open(path)", **place)["uses"] == ["path"]
    assert files("with open('a', 'rb') as f: pass") == [("a", 3)]
    assert files("pd.read_csv('b', sep=';')") == [("b", 3)]
    assert files("np.load(path)") == [("c", 3)]
    assert files("there.read_text()") == [("d", 3)]
    assert files("Path('a').read_bytes()") == [("a", 3)]
    for code in ("open('a', 'w')", "open('a', mode)", "open('none')", "json.loads('a b')", "df.to_csv('a')", "open('.')"):
        assert files(code) == [], code
    os.utime(tmp_path / "b", ns=(0, 300 * 365 * 86_400 * 10**9))
    assert files("open('b')") == [], "a time that does not fit into 64 bits"
    stamp = found("open('a')")["files"][0]
    assert stamp == [str(tmp_path / "a"), 3, (tmp_path / "a").stat().st_mtime_ns]


@pytest.mark.skipif(sys.version_info < (3, 10), reason="there is no match statement")
def test_patterns():
    told = found("match v:\n    case [a, *b]: pass\n    case {'k': c, **d}: pass\n    case E(f=e) as g if h: pass")
    assert told["makes"] == ["a", "b", "c", "d", "e", "g"]
    assert {"v", "E", "h"} <= set(told["uses"])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="there is no except*")
def test_groups_of_exceptions():
    assert found("try: f()\nexcept* E as e: g(e)")["uses"] == ["E", "f", "g"]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="there are no type parameters")
def test_type_parameters():
    assert found("type A[T] = list[T]")["makes"] == ["A"]
    assert found("def f[T](x: T) -> T: return k")["later"] == {"f": {"uses": ["k"], "makes": []}}


# The same in a runner.


def told(host, code, **fields):
    return host.run(code, names=True, **fields)[-1][1].get("names")


def test_the_end_of_a_cell_tells_its_names_when_they_are_wanted(host):
    assert "names" not in host.run("x = 1")[-1][1]
    assert told(host, "x = 1")["makes"] == ["x"]
    # A value comes in the same frame as the names.
    events = host.run("x + len([])", names=True)
    assert [event[0] for event in events] == ["started", "result", "done"]
    assert events[-1][1]["names"]["uses"] == ["x"]
    assert events[1][1] == {"text/plain": "1"}
    # A failed cell has names too.
    assert told(host, "y = 1\nx.nothing")["makes"] == ["y"]
    # Text that is not Python has no names.
    assert told(host, "not python at all") == found("")
    assert told(host, "%time z = x")["makes"] == ["z"]
    assert told(host, "%%time\nz = x")["uses"] == ["x"]
    assert told(host, "!echo {x}")["uses"] == ["%cd", "%env", "x"]
    assert told(host, "x = '" + "a" * 300_000 + "'") is None


COUNTER = """
class Counter:
    n = 0
    def inc(self): self.n += 1
    def next(self): self.inc(); return self.n
    async def later(self): self.inc()
c = Counter()
"""


def check_effects(host):
    assert told(host, COUNTER)["later"]["c"] == {"uses": ["Counter"], "makes": []}
    for code in ("c.inc()", "c.inc();", "await c.later()", "await c.later();", "x = 1\nc.inc()", "%time c.inc()"):
        assert "c" in told(host, code)["makes"], code
    for code in ("c.next()", "c.next();", "c.missing()", "%time c.next()"):
        assert told(host, code)["makes"] == [], code
    # The value of the cell before does not count.
    told(host, "None")
    assert told(host, "c.missing()")["makes"] == []


def test_a_method_that_gives_nothing_was_called_for_an_effect(host):
    check_effects(host)


def test_looking_for_names_warns_nobody_twice(host):
    assert host.text("'\\d'", names=True).count("Warning") <= 1
    assert host.text("import warnings; warnings.warn('once')", names=True).count("once") <= 2


def test_names_never_fail_a_cell(host):
    """Whatever user code does to Python, a cell ends as it would without names."""
    host.run("import builtins, sys\nsys.modules['inkcell_runner.names'] = None")
    events = host.run("1 + 1", names=True)
    assert events[-1][1]["status"] == "ok" and "names" not in events[-1][1]


def test_names_can_be_asked_for_before_code_runs():
    from inkcell_runner import questions

    shell = types.SimpleNamespace(transform_cell=lambda code: code.replace("%time ", ""))
    session = types.SimpleNamespace(namespace={}, hidden={}, shell=shell)
    codes = ["y = x", "%time y = x", "from m import *", "not python at all", "'\\d'", "x" * 300_000]
    answer = questions.answer(session, {"what": "names", "codes": codes})["names"]
    assert answer[0] == answer[1] == {**found("y = x"), "absent": ["x"]}
    assert answer[2:] == [None, found(""), found("''"), None]


def test_a_jupyter_kernel_tells_names_to_who_wants_them(monkeypatch):
    from inkcell_runner import guest

    sent = []

    def send(socket, kind, content, parent):
        sent.append((socket, kind, content, parent))

    def told(code, result=None, success=True, metadata={"inkcell": {"names": True}}):
        parent = {"metadata": metadata, "content": {"code": code}}
        session = types.SimpleNamespace(send=send)
        kernel = types.SimpleNamespace(get_parent=lambda: parent, iopub_socket="iopub", session=session)
        shell = types.SimpleNamespace(kernel=kernel, transform_cell=lambda code: code.replace("%time ", ""))
        namespace = {"c": types.SimpleNamespace()}
        monkeypatch.setattr(guest, "_session", types.SimpleNamespace(namespace=namespace, hidden={}, shell=shell))
        sent.clear()
        guest._tell_names(types.SimpleNamespace(result=result, success=success))
        assert all(one[:2] == ("iopub", "inkcell_names") and one[3] is parent for one in sent)
        return sent[0][2] if sent else None

    assert told("y = c") == found("y = c")
    assert told("%time y = c")["makes"] == ["y"]
    assert told("y = c\n1 / 0", success=False)["makes"] == ["y"]
    assert told("exec('y = c')") is None
    # As in a runner, except for a value that a semicolon hides.
    assert told("c.inc()")["makes"] == ["c"]
    assert told("c.next()", result=1)["makes"] == told("c.next();")["makes"] == []
    assert told("c.missing()", success=False)["makes"] == []
    for metadata in ({}, {"inkcell": None}, {"inkcell": {"names": False}}, None):
        assert told("y = c", metadata=metadata) is None
    guest._session.shell.kernel = None
    guest._tell_names()


ABSENT = [
    ("y = x + there", ["x"]),
    ("print(x, len(y))", ["x", "y"]),
    ("x += 1", ["x"]),
    ("[x for i in there]", ["x"]),
    # The cell may do without the name.
    ("if there: x", []),
    ("try: x\nexcept NameError: x = 1\nx", []),
    ("if there: x = 1\nx", []),
    ("def f(): return x\nf()", []),
    ("x = 1\nx", []),
    ("import os.path", []),
    # Names that the session does not hold.
    ("import os\nos.getcwd()", []),
    ("!ls", []),
]


@pytest.mark.parametrize(("code", "absent"), ABSENT)
def test_what_a_cell_to_come_lacks_is_told(code, absent):
    from inkcell_runner import questions

    shell = types.SimpleNamespace(transform_cell=lambda code: "get_ipython().system('ls')")
    session = types.SimpleNamespace(namespace={"there": [1]}, hidden={}, shell=shell)
    (answer,) = questions.answer(session, {"what": "names", "codes": [code]})["names"]
    assert answer.get("absent", []) == absent


@pytest.mark.skipif(not importlib.util.find_spec("IPython"), reason="IPython is not installed")
def test_ipython_tells_names_too(tmp_path):
    import os

    from host import Host

    one = Host(shell="ipython", cwd=str(tmp_path), env=dict(os.environ, HOME=str(tmp_path)))
    try:
        assert told(one, "x = 1\nx")["makes"] == ["x"]
        assert told(one, "%%time\ny = x")["uses"] == ["x"]
        assert told(one, "1 + x")["uses"] == ["x"]
        check_effects(one)
        assert told(one, "not python at all") == found("")
    finally:
        one.close()
