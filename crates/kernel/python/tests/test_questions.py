"""Questions between cells: their answers, and the absence of traces."""

import json
import os
import time

import pytest
from host import LIMIT, Host


class Asker(Host):
    """A host that can also ask."""

    def ask(self, what, after=None, **fields):
        """The answer, or the reason for a failure as a text."""
        self.next_id += 1
        self._send(t="ask", id=self.next_id, question=dict(fields, what=what))
        if after:
            after(self)
        frame = self._frame()
        assert (frame["t"], frame["id"]) == ("answer", self.next_id), frame
        return frame["failed"] if "failed" in frame else json.loads(frame["payload"])

    def variables(self, **fields):
        answer = self.ask("variables", **fields)
        return {row["name"]: row for row in answer["variables"]}

    def table(self, name):
        answer = self.ask("table", name=name)
        assert isinstance(answer, dict), answer
        return answer

    def complete(self, code, cursor=None):
        """The texts that could complete the code."""
        answer = self.ask("complete", code=code, cursor=len(code) if cursor is None else cursor)
        return [code[: answer["start"]] + match["text"] + code[answer["end"] :] for match in answer["matches"]]


# Every way in which a class can run code when inspected; `ran` records the ways used.
SPY = """
ran = []
class Spy:
    def __init__(self):
        self.inner = 1
    @property
    def computed(self):
        ran.append("property")
    def method(self, first, second=2):
        "What it does."
    def __getattr__(self, name):
        ran.append("getattr " + name)
        raise AttributeError(name)
for _name in "repr str len iter dir sizeof hash bool class_getitem getitem format call".split():
    def _special(self, *rest, _name=_name):
        ran.append(_name)
        raise SystemExit
    setattr(Spy, "__%s__" % _name, _special)
spy = Spy()
"""


@pytest.fixture(scope="module", params=["lite", "ipython"])
def shell(request, tmp_path_factory):
    if request.param == "ipython":
        pytest.importorskip("IPython")
    home = tmp_path_factory.mktemp("home")
    one = Asker(shell=request.param, prelude="full", cwd=str(home), env=dict(os.environ, HOME=str(home)))
    one.kind = request.param
    yield one
    one.close()


@pytest.fixture
def fresh(shell):
    """A session without names of the user."""
    shell.run("%reset -f")
    return shell


def run(shell, code):
    events = shell.run(code)
    assert events[-1][1]["status"] == "ok", events


def test_the_users_names_are_listed_and_nobody_elses(fresh):
    assert fresh.ask("variables") == {"variables": [], "total": 0, "complete": True}
    run(fresh, "b = 1\na = 'x'\n_private = 2\ndef f(): pass\nclass C: pass\nimport os\n5")
    assert list(fresh.variables()) == ["a", "b", "f", "C", "os"]
    # A helper's name with another value belongs to the user.
    run(fresh, "grep = 3")
    assert "grep" in fresh.variables()


def test_each_has_type_kind_length_size_and_preview(fresh):
    run(
        fresh,
        "import collections, datetime, functools\n"
        "whole = 5; text = 'a\\nb'; listed = [1, [2, [3, [4, [5]]]]]; single = (1,); nothing = set()\n"
        "counted = collections.Counter('aab'); when = datetime.date(2024, 1, 2); huge = 10 ** 5000\n"
        "def doubled(x): return x * 2\nhalf = functools.partial(doubled, 1)\n"
        "class Kind: pass\n",
    )
    found = fresh.variables()
    rows = {name: (row["type"], row["kind"], row["length"], row["preview"]) for name, row in found.items()}
    assert rows == {
        "whole": ("int", "scalar", None, "5"),
        "text": ("str", "text", 3, "'a\\nb'"),
        "listed": ("list", "sequence", 2, "[1, [2, [3, […]]]]"),
        "single": ("tuple", "sequence", 1, "(1,)"),
        "nothing": ("set", "sequence", 0, "set()"),
        "counted": ("collections.Counter", "mapping", 2, "Counter({'a': 2, 'b': 1})"),
        "when": ("datetime.date", "scalar", None, "datetime.date(2024, 1, 2)"),
        "huge": ("int", "scalar", None, "<int of about 4983 digits>"),
        "doubled": ("function", "function", None, "<function doubled>"),
        "half": ("functools.partial", "function", None, "<partial of function doubled>"),
        "Kind": ("type", "class", None, "<class Kind>"),
        "collections": ("module", "module", None, "<module collections>"),
        "datetime": ("module", "module", None, "<module datetime>"),
        "functools": ("module", "module", None, "<module functools>"),
    }
    assert all(row["bytes"] > 0 for row in found.values())


def test_no_code_of_the_users_classes_runs(fresh):
    """This holds for previews, details, tables, help and completion, and inside objects that libraries made."""
    run(fresh, SPY)
    run(
        fresh,
        "import collections, dataclasses, enum, types\n"
        "listed = [spy]; keyed = {'k': spy}; queue = collections.deque([spy]); failed = ValueError(spy)\n"
        "space = types.SimpleNamespace(a=spy); chained = collections.ChainMap({'k': spy})\n"
        "Pair = collections.namedtuple('Pair', 'a b'); pair = Pair(1, spy)\n"
        "@dataclasses.dataclass\nclass Point:\n    x: int\n    s: object = None\n"
        "    hidden: str = dataclasses.field(default='secret', repr=False)\n"
        "point = Point(1, spy)\n"
        "class Colour(enum.Enum):\n    RED = 1\n    def __repr__(self): ran.append('enum')\n"
        "red = Colour.RED\n"
        "class Listed(list):\n    __repr__ = __len__ = __iter__ = Spy.__repr__\n"
        "own = Listed([1, 2])\n"
        "class Slotted:\n    __slots__ = ('a', 'b')\n"
        "slotted = Slotted(); slotted.a = 1\n"
        "def call(a, b=spy): pass\n"
        "rows = [{'a': spy}, {'a': 1}]\nran.clear()",
    )
    rows = {name: row["preview"] for name, row in fresh.variables().items()}
    spy = "<Spy object: inner>"
    wanted = {
        "spy": spy,
        "listed": "[%s]" % spy,
        "keyed": "{'k': %s}" % spy,
        "queue": "deque([%s])" % spy,
        "failed": "ValueError(%s)" % spy,
        "space": "SimpleNamespace(a=%s)" % spy,
        "chained": "<ChainMap: would run code of yours>",
        "pair": "Pair(a=1, b=%s)" % spy,
        "point": "Point(x=1, s=%s)" % spy,
        "red": "Colour.RED",
        "own": "Listed([1, 2])",
        "slotted": "<Slotted object: a>",
    }
    assert {name: rows[name] for name in wanted} == wanted
    for name in rows:
        assert isinstance(fresh.ask("variable", name=name), dict), name
        assert isinstance(fresh.ask("help", name=name), dict), name
        fresh.complete(name + ".")
        fresh.complete(name + "(")
        fresh.complete(name + "['")
    assert "computed by code of the class" in fresh.ask("variable", name="spy.computed")
    assert "computed by code of the class" in fresh.ask("variable", name="spy[0]")
    assert fresh.ask("help", name="spy.computed")["kind"] == "property"
    assert fresh.table("rows")["head"] == [[spy], ["1"]]
    assert fresh.ask("help", name="call")["signature"] == "call(a, b=%s)" % spy
    fresh.complete("spy.computed.")
    assert fresh.text("print(ran)") == "[]\n"


def test_a_question_changes_nothing(fresh):
    run(fresh, "import collections, sys\nd = collections.defaultdict(list)\n41")
    state = "(len(d), len(globals()), len(In), len(Out), _, list(sys.path), sys.getprofile(), sys.stdout)"
    before = fresh.run("print(%s)" % state)
    for what in ("variables", "variable", "table", "help", "complete"):
        fresh.ask(what, name="d['absent']", code="d['absent'].x", cursor=13)
    fresh.ask("variable", name="d")
    after = fresh.run("print(%s)" % state)
    assert after[0][1]["count"] == before[0][1]["count"] + 1
    shown = [b"".join(event[2] for event in events if event[0] == "stream").decode() for events in (before, after)]
    # The inspecting cell is in `In`, and its number is among the names.
    expected = shown[0].split(", ")
    expected[1] = str(int(expected[1]) + 1)
    expected[2] = str(int(expected[2]) + 1)
    assert shown[1].split(", ") == expected


def test_libraries_are_not_loaded_and_files_of_the_users_not_taken_for_them(tmp_path):
    for name in ("ast", "inspect", "keyword", "token", "decimal", "pkgutil"):
        (tmp_path / (name + ".py")).write_text("raise SystemExit('taken')")
    one = Asker(cwd=str(tmp_path))
    try:
        one.run("x = 1")
        assert one.variables()["x"]["preview"] == "1"
        assert one.ask("help", name="len")["signature"] == "len(obj, /)"
        assert "import numbers" in one.complete("import numb")
        loaded = "{'pandas', 'numpy', 'polars', 'pyarrow'} & set(sys.modules)"
        assert one.text("import sys\nprint(%s)" % loaded) == "set()\n"
    finally:
        one.close()


def test_the_users_function_on_a_class_of_a_library_is_still_the_users(fresh):
    run(fresh, "import string\nran = []\nloud = string.Template('x')")
    run(fresh, "string.Template.__repr__ = lambda self: ran.append(1)")
    assert fresh.variables()["loud"]["preview"] == "<Template: would run code of yours>"
    assert fresh.text("del string.Template.__repr__\nprint(ran)") == "[]\n"


def test_a_preview_that_fails_or_takes_long_does_not_spoil_the_rest(fresh):
    """A module on the path of installed modules stands in for a library."""
    folder = fresh.text("import tempfile\nprint(tempfile.mkdtemp())").strip()
    site = os.path.join(folder, "site-packages")
    os.mkdir(site)
    with open(os.path.join(site, "oddlib.py"), "w") as file:
        file.write(
            "class Failing:\n    def __repr__(self): raise SystemExit\n"
            "class Endless:\n    def __repr__(self):\n        while True: len(str())\n"
            "class Loud:\n    def __repr__(self):\n        print('noise'); return 'quiet'\n"
        )
    run(fresh, "import sys\nsys.path.append(%r)\nimport oddlib" % site)
    run(fresh, "a = oddlib.Failing(); b = oddlib.Endless(); c = oddlib.Loud(); d = 4")
    answer = fresh.ask("variables")
    rows = {row["name"]: row["preview"] for row in answer["variables"]}
    assert (rows["a"], rows["b"]) == ("<Failing: SystemExit>", "<Endless: took too long>")
    assert (rows["c"], rows["d"]) == ("quiet", "4")
    assert fresh.text("print('next')") == "next\n"
    run(fresh, "import shutil\nsys.path.remove(%r)\nshutil.rmtree(%r)" % (site, folder))


def test_an_interrupt_ends_a_question_that_hangs(fresh):
    """The file system can delay a completion; a function simulates this here."""
    run(
        fresh,
        "import os, pkgutil, time\nkept = pkgutil.iter_modules\n"
        "def wait():\n    os.write(1, b'waiting')\n    while True: time.sleep(0.01)\npkgutil.iter_modules = wait",
    )

    def interrupt_when_it_waits(one):
        source = next(fd for fd, name in one.pipes.items() if name == "stdout")
        assert source in one._fill(time.monotonic() + LIMIT)
        assert os.read(source, 100) == b"waiting"
        one.interrupt()

    answer = fresh.ask("complete", after=interrupt_when_it_waits, code="import nu", cursor=9)
    assert answer == "The question was interrupted."
    assert fresh.text("pkgutil.iter_modules = kept\nprint('alive')") == "alive\n"


def test_many_names_are_counted_and_cut(fresh):
    run(fresh, "for i in range(300): globals()['v%03d' % i] = 'x' * 1000\ndel i")
    answer = fresh.ask("variables")
    assert (answer["total"], len(answer["variables"])) == (300, 200)
    assert all(len(row["preview"]) <= 120 for row in answer["variables"])
    assert [row["name"] for row in fresh.ask("variables", limit=2)["variables"]] == ["v000", "v001"]


def test_one_variable_is_shown_from_nearer(fresh):
    run(
        fresh,
        "class Model:\n    def __init__(self): self.layers = [{'w': 1.5}]; self.name = 'm'\n"
        "model = Model(); text = 'long ' * 1000; d = {('a', 1): [1], 2: 'x'}",
    )
    assert fresh.ask("variable", name="model.layers[0]['w']")["preview"] == "1.5"
    assert fresh.ask("variable", name="d[2]")["preview"] == "x"
    assert fresh.ask("variable", name="d['a', 1][-1]")["preview"] == "1"
    found = fresh.ask("variable", name="model")
    assert (found["inside"], found["total"]) == ("attributes", 2)
    assert found["items"] == [
        {"name": "layers", "type": "list", "preview": "[{'w': 1.5}]"},
        {"name": "name", "type": "str", "preview": "'m'"},
    ]
    assert len(fresh.ask("variable", name="text")["preview"]) == 2000
    assert fresh.ask("variable", name="d")["items"][0]["name"] == "('a', 1)"


@pytest.mark.parametrize(
    "path", ["f()", "a + b", "[x for x in y]", "a[b]", "a.b[f()]", "", "a b", "(" * 300, "x" * 600, None, 5]
)
def test_only_names_attributes_and_constant_subscripts_are_followed(shell, path):
    assert shell.ask("variable", name=path).startswith("A name here is a variable")


def test_names_that_lead_nowhere_are_said(fresh):
    run(fresh, "d = {}; import os")
    assert fresh.ask("variable", name="nope") == "nope is not defined in this session; ask without a name to list what is."
    assert fresh.ask("variable", name="d['k']") == "d has no item 'k'."
    assert fresh.ask("variable", name="d[[1]]") == "d has no item [1]."
    assert "no attribute nope" in fresh.ask("variable", name="os.nope")
    assert fresh.ask("nonsense").startswith("There is no question 'nonsense'; there are variables,")
