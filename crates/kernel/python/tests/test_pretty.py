"""The plain text of values: known texts, and equality with the real IPython if it is installed."""

import collections
import datetime
import enum
import os
import random
import re
import sys
import types

import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from inkcell_runner import pretty as ours  # noqa: E402

try:
    from IPython.lib import pretty as theirs

    if hasattr(sys.modules["IPython"], "__inkcell__"):
        theirs = None
except ImportError:
    theirs = None
if theirs is None:
    print("!! IPython is not installed: the text of values is not compared with it", file=sys.__stderr__)

needs_ipython = pytest.mark.skipif(theirs is None, reason="!! IPython is not installed")

Point = collections.namedtuple("Point", "x y")


class Plain:
    pass


class Named:
    def __repr__(self):
        return "Named()"


class Lines:
    def __repr__(self):
        return "first\n  second\nthird"


class Empty:
    def __repr__(self):
        return ""


class OwnList(list):
    pass


class ReprList(list):
    def __repr__(self):
        return "ReprList!"


class OwnTuple(tuple):
    pass


class OwnDict(dict):
    pass


class OwnSet(set):
    pass


class OwnOrdered(collections.OrderedDict):
    pass


class OwnInt(int):
    pass


class ReprInt(int):
    def __repr__(self):
        return "ReprInt"


class Colour(enum.Enum):
    RED = 1


class Number(enum.IntEnum):
    ONE = 1


class Meta(type):
    def __repr__(cls):
        return "<Meta %s>" % cls.__name__


class WithMeta(metaclass=Meta):
    pass


class Error(Exception):
    pass


class Pretty:
    def __init__(self, *parts):
        self.parts = parts

    def _repr_pretty_(self, p, cycle):
        if cycle:
            p.text("Pretty(...)")
            return
        with p.group(7, "Pretty(", ")"):
            for index, part in enumerate(self.parts):
                if index:
                    p.text(",")
                    p.breakable()
                p.pretty(part)


class Breaks:
    def _repr_pretty_(self, p, cycle):
        p.text("one")
        with p.indent(4):
            p.break_()
            p.text("two")
            p.begin_group(2, "[")
            p.breakable("")
            p.text("x" * 40)
            p.breakable()
            p.text("y" * 40)
            p.end_group(2, "]")
        p.breakable()
        p.text("end")


class Child(Plain):
    def above(self):
        return super()


class Liar:
    """Has every attribute."""

    def __getattr__(self, name):
        return lambda *args, **kwargs: "lie"


def function(a, b=2, *args, c: int = 3, **kwargs) -> str:
    """Is shown with its signature."""


def loops():
    items = [1]
    items.append(items)
    table = {"a": 1}
    table["self"] = table
    deque = collections.deque([1])
    deque.append(deque)
    default = collections.defaultdict(list)
    default["me"] = default
    ordered = collections.OrderedDict()
    ordered["me"] = ordered
    space = types.SimpleNamespace(a=1)
    space.me = space
    pair = ([],)
    pair[0].append(pair)
    pretty = Pretty(1)
    pretty.parts = (pretty,)
    users = collections.UserList([1])
    users.append(users)
    return [items, table, deque, default, ordered, space, pair, pretty, users]


WORDS = ["word%d" % n for n in range(40)]

VALUES = [
    None, True, False, Ellipsis, NotImplemented, 0, -5, 10**30, 1.0, 0.1, 1e300, float("nan"), float("inf"), 2j,
    "", "text", "a\nb", "quote'\"", b"bytes", bytearray(b"x"), memoryview(b"x"), "x" * 200,
    (), (1,), (1, 2), [], [1], [[], [[]], ()], {}, {1: 2}, set(), {1}, {3, 1, 2}, frozenset(), frozenset({2, 1}),
    {1, "a", None}, {(1, 2), (0, 1)}, [set(), frozenset()],
    list(range(100)), tuple(range(100)), set(range(100)), frozenset(range(60)), {n: n * n for n in range(50)},
    WORDS, tuple(WORDS), dict.fromkeys(WORDS, 1), [WORDS, WORDS], {"a": WORDS, "b": {"c": WORDS}},
    [{"name": "n%d" % n, "value": n / 7, "tags": ["a", "b"]} for n in range(5)],
    list(range(999)), list(range(1000)), list(range(1001)), tuple(range(2000)), dict.fromkeys(range(1500)),
    collections.deque(range(1200)), [list(range(1001))],
    {"b": 1, "a": 2}, {"nested": {"deep": {"deeper": {"deepest": ["value"] * 20}}}},
    ["x" * 30, "y" * 30, "z" * 30], ["x" * 77], ["x" * 75], ["x" * 74, 1], ["x" * 73, 1], ["x" * 72, 1],
    collections.OrderedDict(), collections.OrderedDict(a=1, b=WORDS), collections.Counter(),
    collections.Counter("abracadabra"), collections.Counter(WORDS), collections.defaultdict(list),
    collections.defaultdict(int, a=1), collections.defaultdict(None), collections.defaultdict(list, {"k": WORDS}),
    collections.deque(), collections.deque([1, 2]), collections.deque([1], maxlen=3), collections.deque(WORDS, 50),
    collections.UserList([1, 2]), collections.UserDict(a=1), collections.ChainMap({"a": 1}), collections.UserString("s"),
    types.SimpleNamespace(), types.SimpleNamespace(a=1, b="two"), types.SimpleNamespace(words=WORDS, more=WORDS),
    types.MappingProxyType({}), types.MappingProxyType({"a": 1}), types.MappingProxyType(dict.fromkeys(WORDS)),
    {"a": 1}.keys(), {"a": 1}.values(), {"a": 1}.items(), dict.fromkeys(WORDS).keys(),
    Point(1, 2), [Point(n, n) for n in range(20)], range(3), range(1, 10, 2), slice(1, 2), slice(None),
    Plain(), [Plain()], Named(), Lines(), [Lines(), Lines()], {"k": Lines(), "l": [1, Lines()]}, Empty(), [Empty()],
    OwnList([1, 2]), ReprList([1]), OwnTuple((1,)), OwnDict(a=1), OwnSet({1}), OwnSet(), OwnOrdered(a=1), OwnInt(3),
    ReprInt(3), [ReprList(), ReprInt(1)], Colour.RED, Colour, Number.ONE, Number, [Colour.RED, Number.ONE],
    int, list, Plain, [Plain, int, str], WithMeta, WithMeta(), type, object, object(), Point, collections.OrderedDict,
    function, len, print, [].append, "".join, lambda x: x, Plain.__init__, Child().above, Child().above(), Child.above,
    os.path.join, re.compile, sys.getsizeof, dict.fromkeys, [function, len], iter, type.mro, object.__init__,
    re.compile("a+"), re.compile("a\\d'", re.I | re.M), re.compile(b"x"), re.compile(b"x\\\\", re.S), re.match("a", "a"),
    ValueError(), ValueError("bad"), KeyError("k", 2), OSError(2, "no"), Error("x", WORDS), StopIteration(),
    [ValueError("x" * 90, "y")], UnicodeDecodeError("utf-8", b"x", 0, 1, "r"),
    datetime.datetime(2020, 1, 2), datetime.timedelta(1), datetime.date(2020, 1, 2), [datetime.datetime(2020, 1, 2)] * 5,
    Pretty(), Pretty(1, WORDS, Pretty(2)), Pretty(WORDS, WORDS), Breaks(), [Breaks(), Breaks()], Pretty(Lines(), Breaks()),
    {"k": Breaks(), "l": Pretty(*WORDS)}, os, sys.implementation, sys.flags, sys.version_info, NotImplementedError,
    (n for n in ()), iter([]), zip(), enumerate([]), map(str, []), property(), staticmethod(len), Liar(),
    *loops(), loops(),
]


@needs_ipython
@pytest.mark.parametrize("index", range(len(VALUES)))
def test_same_text_as_ipython(index):
    value = VALUES[index]
    assert ours.pretty(value) == theirs.pretty(value)


@needs_ipython
@pytest.mark.parametrize("width", [10, 20, 40, 79, 120])
def test_same_text_as_ipython_at_other_widths(width):
    for value in VALUES:
        assert ours.pretty(value, width) == theirs.pretty(value, max_width=width)
    for value in VALUES:
        assert ours.pretty(value, width, 7) == theirs.pretty(value, max_width=width, max_seq_length=7)


@needs_ipython
def test_same_text_for_the_environment():
    assert ours.pretty(os.environ) == theirs.pretty(os.environ)


def make(rng, depth):
    """A random value of containers and all other types with their own layout."""
    if depth <= 0 or rng.random() < 0.25:
        return rng.choice([
            rng.randrange(10**6), "s" * rng.randrange(30), 1.5, None, Lines(), Plain(), function, ValueError("x"), "a\nb", Breaks()
        ])
    parts = [make(rng, depth - 1) for _ in range(rng.randrange(7))]
    keys = ["k" * rng.randrange(12) + str(n) for n in range(len(parts))]
    return rng.choice([
        lambda: parts, lambda: tuple(parts), lambda: dict(zip(keys, parts)), lambda: set(keys), lambda: Pretty(*parts),
        lambda: collections.deque(parts), lambda: collections.OrderedDict(zip(keys, parts)), lambda: OwnList(parts),
        lambda: types.SimpleNamespace(**dict(zip(keys, parts))), lambda: collections.defaultdict(list, zip(keys, parts)),
        lambda: types.MappingProxyType(dict(zip(keys, parts))), lambda: frozenset(keys), lambda: Error(*parts),
    ])()


@needs_ipython
@pytest.mark.parametrize("seed", range(40))
def test_same_text_as_ipython_for_random_values(seed):
    rng = random.Random(seed)
    for _ in range(50):
        value = make(rng, rng.randrange(1, 7))
        width = rng.choice([20, 50, 79, 79, 79, 100])
        assert ours.pretty(value, width) == theirs.pretty(value, max_width=width)


@pytest.mark.parametrize("value, text", [
    ([1, 2], "[1, 2]"),
    ((1,), "(1,)"),
    ((), "()"),
    (set(), "set()"),
    ({3, 1, 2}, "{1, 2, 3}"),
    (frozenset({2, 1}), "frozenset({1, 2})"),
    ({"b": 1, "a": (2,)}, "{'b': 1, 'a': (2,)}"),
    (collections.OrderedDict(a=1), "OrderedDict([('a', 1)])"),
    (collections.defaultdict(list, a=[1]), "defaultdict(list, {'a': [1]})"),
    (collections.Counter("aab"), "Counter({'a': 2, 'b': 1})"),
    (collections.deque([1], maxlen=2), "deque([1], maxlen=2)"),
    (types.SimpleNamespace(a=1), "namespace(a=1)"),
    (types.MappingProxyType({"a": 1}), "mappingproxy({'a': 1})"),
    (re.compile("a", re.I), "re.compile(r'a', re.IGNORECASE|re.UNICODE)"),
    (ValueError("x", 1), "ValueError('x', 1)"),
    (int, "int"),
    (collections.OrderedDict, "collections.OrderedDict"),
    (function, "<function %s.function(a, b=2, *args, c: int = 3, **kwargs) -> str>" % __name__),
    (len, "<function len(obj, /)>"),
    (list(range(1001)), ",\n ".join(map(str, range(1000))).join(["[", ",\n ...]"])),
    (["x" * 40, "y" * 40], "['%s',\n '%s']" % ("x" * 40, "y" * 40)),
    ([Lines()], "[first\n   second\n third]"),
])
def test_known_texts(value, text):
    assert ours.pretty(value) == text


def test_cycles_end():
    texts = [ours.pretty(value) for value in loops()]
    assert texts == [
        "[1, [...]]", "{'a': 1, 'self': {...}}", "deque([1, deque(...)])",
        "defaultdict(list, {'me': defaultdict(...)})", "OrderedDict([('me', OrderedDict(...))])",
        "namespace(a=1, me=namespace(...))", "([(...)],)", "Pretty(Pretty(...))", "UserList([1, UserList(...)])",
    ]


def test_a_failing_repr_leaves_the_printer_usable():
    class Bad:
        def __repr__(self):
            raise ValueError("no")

    with pytest.raises(ValueError):
        ours.pretty([1, Bad()])
    assert ours.pretty([1]) == "[1]"


def test_deep_nesting_is_an_error_and_not_a_crash():
    value = []
    for _ in range(100000):
        value = [value]
    with pytest.raises(RecursionError):
        ours.pretty(value)
    # Dismantling the value level by level avoids a deep recursion of the interpreter.
    while value:
        value = value.pop()


