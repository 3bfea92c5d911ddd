"""Help about names, and completion, in both shells."""

from test_questions import fresh, run, shell  # noqa: F401


def test_help_of_what_cells_defined_has_its_source(fresh):
    run(
        fresh,
        "import functools\n\n@functools.lru_cache\ndef kept(a): return a\n\n"
        "def f(a, b: int = 2, *rest, c=None) -> str:\n    'Doc of f.'\n    return a\n\n"
        "class K:\n    '''A class.\n\n    more'''\n    def __init__(self, q, r=1): self.q = q\n"
        "    def m(self): 'doc of m'\n"
        "k = K(1); short = lambda x: x + 1",
    )
    found = fresh.ask("help", name="f")
    assert found["signature"] == "f(a, b: int = 2, *rest, c=None) -> str"
    assert (found["doc"], found["kind"]) == ("Doc of f.", "function")
    assert found["line"] == 6 and found["file"].startswith("<")
    assert found["source"] == "def f(a, b: int = 2, *rest, c=None) -> str:\n    'Doc of f.'\n    return a"
    found = fresh.ask("help", name="K")
    assert (found["signature"], found["doc"], found["kind"]) == ("K(q, r=1)", "A class.\n\nmore", "class")
    assert found["source"].startswith("class K:") and found["source"].endswith("'doc of m'")
    assert fresh.ask("help", name="k")["doc"] == "A class.\n\nmore"
    found = fresh.ask("help", name="k.m")
    assert (found["signature"], found["doc"]) == ("m()", "doc of m")
    assert fresh.ask("help", name="short")["source"] == "k = K(1); short = lambda x: x + 1"
    assert fresh.ask("help", name="kept")["signature"] == "kept(a)"


def test_help_of_libraries_names_the_file(fresh):
    run(fresh, "import json")
    found = fresh.ask("help", name="json.dumps")
    assert found["signature"].startswith("dumps(obj, *, skipkeys=False")
    assert found["doc"].startswith("Serialize ``obj``") and found["source"] is None
    assert found["file"].endswith("json/__init__.py") and found["line"] > 100
    assert fresh.ask("help", name="len")["signature"] == "len(obj, /)"
    assert fresh.ask("help", name="json")["kind"] == "module"
    assert fresh.ask("help", name="%timeit")["kind"] == "magic"
    assert "There is no magic %nope" in fresh.ask("help", name="%nope")
    assert fresh.ask("help", name="grep")["signature"].startswith("grep(pattern, path")


def test_help_of_the_prelude_has_all_helpers_by_category(fresh):
    """B:E-42"""
    found = fresh.ask("help", name="prelude")
    rows = [(row["category"], row["name"]) for row in found["helpers"]]
    assert rows == sorted(rows) and len(rows) > 40
    grep = next(row for row in found["helpers"] if row["name"] == "grep")
    assert grep["signature"].startswith("(pattern, path") and grep["text"].startswith(grep["doc"]) and grep["installed"]
    run(fresh, "prelude = 5")
    assert fresh.ask("help", name="prelude")["kind"] == "scalar"


def test_completion(fresh):
    run(
        fresh,
        "import os\nalpha = 1; alphabet = {'first': 1, 'second': {'third': 2}}\n"
        "def call(one, *, other=2): pass\nclass Thing:\n    def method(self): pass\n"
        "thing = Thing(); thing.field = 1\n"
        "os.makedirs('folder/inner', exist_ok=True); open('folder/file.txt', 'w').close();",
    )
    assert fresh.complete("alph") == ["alpha", "alphabet"]
    assert fresh.complete("x = alphab + 1", cursor=10) == ["x = alphabet + 1"]
    assert fresh.complete("ä = alphab") == ["ä = alphabet"]
    assert fresh.complete("thing.") == ["thing.field", "thing.method"]
    assert fresh.complete("alphabet['") == ["alphabet['first", "alphabet['second"]
    assert fresh.complete("alphabet['second']['th") == ["alphabet['second']['third"]
    assert {"call(one=", "call(other="} <= set(fresh.complete("call(o"))
    assert "call(1, other=" in fresh.complete("call(1, oth")
    assert "%timeit" in fresh.complete("%tim")
    assert "%%bash" in fresh.complete("%%bas")
    assert fresh.complete("open('folder/") == ["open('folder/file.txt", "open('folder/inner/"]
    assert "import json" in fresh.complete("import js")
    assert fresh.complete("from os.path import isdi") == ["from os.path import isdir"]
    assert fresh.complete("'a'.upp") == ["'a'.upper"]
    assert fresh.complete("unknown().x") == []
    assert fresh.complete("def f():\n    return alphab") == ["def f():\n    return alphabet"]


def test_arguments_and_attributes_come_before_builtins(fresh):
    run(
        fresh,
        "def call(one, *, other=2): pass\nclass Thing:\n    def open(self, order=1): pass\n"
        "thing = Thing(); thing.one = 1;",
    )
    for code, stem, first in [
        ("call(", "call(", ["one=", "other="]),
        ("call(o", "call(", ["one=", "other="]),
        ("print(call(1, o", "print(call(1, ", ["one=", "other="]),
        ("call(1,\n     ot", "call(1,\n     ", ["other="]),
        ("thing.open(o", "thing.open(", ["order="]),
        ("thing.o", "thing.", ["one", "open"]),
        ("print(thing.o", "print(thing.", ["one", "open"]),
    ]:
        found = fresh.complete(code)
        assert found[: len(first)] == [stem + text for text in first], code


def test_completion_is_bounded_and_refuses_what_is_no_position(fresh):
    answer = fresh.ask("complete", code="", cursor=0)
    assert len(answer["matches"]) <= 200 <= answer["total"] or answer["total"] == len(answer["matches"])
    assert fresh.ask("complete", code="x", cursor=2) == "`cursor` is 2; it can be 0 to 1, the length of the code."
    assert fresh.ask("complete", cursor=0).startswith("Completion needs `code`")


def test_importing_is_not_needed_to_complete_an_import(fresh):
    run(fresh, "import sys\nsys.modules.pop('this', None);")
    fresh.complete("from this import ")
    assert fresh.text("print('this' in sys.modules)") == "False\n"
