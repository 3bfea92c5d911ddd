"""Cells whose outputs are compared with those of a Jupyter kernel, and where they differ on purpose.

Cells of a group run one after another in one kernel, so that later ones may use what earlier ones made.
"""

VALUES = r'''
1 + 1
====
"a" * 200
====
None
====
x = 5; x
====
x;
====
_, __, ___
====
Out[1], In[1], _1, _i1, len(In)
====
_i, _ii, _iii
====
{"a": {"b": [1, 2, {"c": {"d": list(range(30))}}], "longer key": "x" * 60}, 3: (1,)}
====
{3, 1, 2}, frozenset([2, 1]), set(), frozenset(), {(1, 2), (0, 5)}
====
import collections, dataclasses, datetime, decimal, enum, fractions, pathlib, re, sys, types
@dataclasses.dataclass
class Point:
    x: int
    y: list = dataclasses.field(default_factory=list)
Point(1, list(range(40)))
====
P = collections.namedtuple("P", "x y z")
P(1, "a" * 50, list(range(20)))
====
collections.Counter("abracadabra" * 3), collections.defaultdict(list, {"a": [1] * 30, "b": [2] * 30})
====
collections.OrderedDict((str(i), i) for i in range(20))
====
collections.deque(range(30), maxlen=50), collections.ChainMap({"a": 1}, {"b": 2}), collections.UserList([1])
====
r = [1]; r.append(r); d = {}; d["self"] = d; r, d
====
list(range(1005))
====
{i: i for i in range(1002)}
====
["x" * 30] * 5
====
[["a" * 20, "b" * 20, ["c" * 20, "d" * 20]], {"k" * 20: ("v" * 20, "w" * 20, "u" * 20)}]
====
class R:
    def __repr__(self): return "multi\nline repr"
[R(), R()], {"a": R()}
====
class PrettyOne:
    def _repr_pretty_(self, p, cycle):
        with p.group(4, "P(", ")"):
            for i in range(20):
                if i: p.text(","); p.breakable()
                p.pretty(i * 1000)
PrettyOne()
====
lambda x, y=1: x
====
len, print, str.upper, object, type, int
====
def documented(a, b: int = 2, *args, c, **kw) -> str:
    "doc"
documented
====
class C:
    "class doc"
    def method(self): pass
    @property
    def p(self): return 1
C, C(), C.method, C().method, C.p
====
range(3), slice(1, 2), ..., NotImplemented, 1.5, 1j, b"x", bytearray(b"y"), memoryview(b"z")
====
float("nan"), float("inf"), 1e100, 10**50, -0.0, True
====
"line\nline2", 'quote\'s', "\t", "é", "\x00"
====
re.compile("a\\d+", re.I | re.M), re.match("a", "a")
====
datetime.datetime(2020, 1, 2), datetime.timedelta(1), pathlib.Path("/x"), decimal.Decimal("1.5"), fractions.Fraction(1, 2)
====
class Color(enum.Enum):
    RED = 1
Color.RED, Color, list(Color)
====
types.SimpleNamespace(a=1, b=[2] * 40), types.MappingProxyType({"a": 1})
====
ValueError("x"), KeyError("a", "b"), Exception(), OSError(2, "x")
====
iter([]), (i for i in ()), map(str, []), {}.keys(), {"a": 1}.items(), {"b": 2}.values()
====
import numpy as np
np.arange(20).reshape(4, 5)
====
{"a": np.eye(3), "b": [np.zeros(2), np.ones((2, 2))]}
====
np.float64(1.5), np.int32(3), np.array([]), np.array("x"), np.random.default_rng(0).random(3)
====
np.arange(2000)
====
import pandas as pd
df = pd.DataFrame({"a": [1, 2, 3], "b": list("xyz")})
df
====
df["a"]
====
df.describe()
====
df.style.set_uuid("u").highlight_max()
====
df.dtypes, df.index, df.groupby("b")
====
pd.Series([1.5, None], name="s")
====
pd.DataFrame({"a": range(100)})
====
class H:
    def _repr_html_(self): return "<h>"
    def __repr__(self): return "H"
H()
====
H(), [H()]
====
class HB(H):
    def _repr_html_(self): raise ValueError("html broke")
HB()
====
class BadRepr:
    def __repr__(self): raise ValueError("no repr")
BadRepr()
====
class Own:
    def _ipython_display_(self): print("own display")
Own()
====
class MB:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": "mb", "application/x": {"a": 1}}, {"application/x": {"m": 1}}
MB()
====
from IPython.display import *
display(1, "two", [3])
====
HTML("<b>x</b>")
====
h = display("first", display_id="fixed"); h.update("second"); update_display("third", display_id="fixed")
====
h
====
print("a"); clear_output(); print("b"); clear_output(wait=True); print("c")
====
display(Markdown("*m*"), Latex("$x$"), JSON({"a": [1]}), Math("x^2"), Javascript("1"), Pretty("pp"))
====
display({"text/plain": "p", "text/html": "<i>"}, raw=True)
====
print("out"); print("err", file=sys.stderr); print("out2")
====
print("no newline", end="")
====
import warnings
warnings.warn("careful")
====
warnings.warn("old", DeprecationWarning)
====
def w():
    warnings.warn("inner", UserWarning, stacklevel=2)
w()
====
import logging
logging.warning("root warning"); logging.info("unseen"); logging.getLogger("a.b").error("error %d", 3)
====
import asyncio
await asyncio.sleep(0, "slept")
====
async def co():
    return 42
[await co() for _ in range(2)]
====
t = asyncio.create_task(co())
====
asyncio.run(co())
====
import threading
t = threading.Thread(target=print, args=("from thread",)); t.start(); t.join()
====
5 if True else 6
====
if True:
    5
====
y: int = 3
y
====
# only a comment
====
   indented = 1
   indented
====
>>> pasted = 1
>>> pasted
====
1;
# comment
====
type(get_ipython()).__name__, __name__
'''

ERRORS = r'''
1 / 0
====
def f(x):
    y = x - 1
    return 1 / y

def g():
    return f(1)

g()
====
try:
    1 / 0
except ZeroDivisionError as e:
    raise ValueError("bad") from e
====
try:
    {}["k"]
except KeyError:
    raise RuntimeError("while handling")
====
try:
    int("x")
except ValueError:
    raise TypeError("hidden") from None
====
x = (1 +
====
for i in range(3)
    print(i)
====
def f():
x = 1
====
def f():
    x = 1
	y = 2
====
x = 'abc
====
print "hello"
====
a b c
====
return 5
====
(yield)
====
eval("1 +")
====
raise ExceptionGroup("several", [ValueError(1), ExceptionGroup("in", [KeyError("k")])])
====
e = ValueError("with note"); e.add_note("a note"); e.add_note("another"); raise e
====
raise SystemExit(3)
====
import sys
sys.exit("message")
====
assert 1 == 2, "not equal"
====
undefined_name
====
import nosuchmodule
====
class MyError(Exception):
    pass
raise MyError
====
raise KeyError("missing")
====
open("/nonexistent/file")
====
class A:
    def m(self, *args, k=1, **kw):
        def inner():
            return [1/0 for _ in range(2)]
        return inner()
A().m()
====
def r(n):
    return r(n + 1)
r(0)
====
def even(n):
    return odd(n - 1) if n else 1/0
def odd(n):
    return even(n - 1)
even(12)
====
import json
json.loads("{")
====
a = [1,
     2,
     3/0,
     4]
====
def deco(f):
    def wrapper(*args, **kw):
        return f(*args, **kw)
    return wrapper

@deco
def decorated(x):
    # a comment
    y = 1

    if x:
        z = {
            1: 2,
            3: 1/0,
        }
    else:
        pass
    return z
decorated(1)
====
x = 1; y = 0; x / y
====
f = lambda q: q / 0
f(1)
====
sum(1 / i for i in range(3))
====
def hidden():
    __tracebackhide__ = True
    inner()
def inner():
    raise ValueError("seen")
hidden()
====
def outer():
    try:
        inner()
    except ValueError:
        print("x")
        raise KeyError("again")
outer()
====
raise ValueError("a") from KeyError("never raised")
====
def long():
    """doc
    line 2
    line 3
    line 4
    line 5
    line 6
    line 7
    """
    a = 1
    return a / 0
long()
====
class K:
    x = 1
    y = x / 0
====
def gen():
    yield 1
    raise RuntimeError("in generator")
list(gen())
====
def args_gone(x):
    del x
    1/0
args_gone(1)
====
def branches(x):
    match x:
        case 1:
            pass
        case 2:
            1/0
        case _:
            pass
    while x:
        x = 0
branches(2)
====
with open("/nonexistent") as f:
    pass
====
for i in range(3):
    if i == 2:
        raise StopIteration
====
try:
    raise ValueError("x" * 10)
finally:
    undefined
====
async def bad():
    raise ValueError("in task")
await bad()
====
exec("1/0")
====
import pandas as pd
pd.DataFrame({"a": [1]})["nosuch"]
====
pd.Series([1]).loc["x"]
====
%xmode Plain
====
f(1)
====
%xmode Minimal
====
f(1)
====
%xmode Context
====
input("x")
====
import threading
t = threading.Thread(target=lambda: 1 / 0, name="T"); t.start(); t.join()
'''

MAGICS = r'''
import os, sys
x = 10
====
%time sum(range(10))
====
%time y = 5
====
%%time
z = 1
z + 1
====
%timeit -n 2 -r 2 1 + 1
====
t = %timeit -o -q -n 2 -r 2 1
type(t).__name__
====
%%capture cap
print("hidden"); print("err", file=sys.stderr); 5
====
cap.stdout, cap.stderr, len(cap.outputs)
====
cap.show()
====
%%capture --no-stderr cap2
print("a"); print("b", file=sys.stderr)
====
%who
====
%who int
====
%who_ls
====
nosuchname?
====
x?
====
!echo hello
====
out = !echo a; echo b
out
====
out.n, out.s, out.l
====
!exit 3
====
_exit_code
====
!!echo hi
====
%env INKCELL_X=1
====
%env INKCELL_X
====
%nosuch
====
%history -n 1-3
====
%history -l 2
====
%precision 3
====
3.14159
====
%precision
====
%pprint
====
{"a": list(range(40))}
====
%pprint
====
%%bash
echo from bash
echo err >&2
====
%%sh
echo from sh
====
%%writefile some.txt
some
text
====
%%writefile -a some.txt
more
====
open("some.txt").read()
====
%%html
<b>x</b>
====
%%javascript
alert(1)
====
%%latex
$x$
====
%%markdown
# h
====
%load_ext nosuch_ext
====
%load_ext autoreload
%autoreload 2
====
%%time
1/0
====
print("""
%time not a magic
!not a shell line
""")
====
get_ipython().run_line_magic("time", "1 + 1")
====
get_ipython().ast_node_interactivity = "all"
====
1
2
"three"
====
get_ipython().ast_node_interactivity = "last_expr"
====
name = "wor"
words = !echo $name {name}ld
words
====
%%python
print("py")
====
%sx echo sx
====
%matplotlib inline
import matplotlib.pyplot as plt
fig, ax = plt.subplots(); ax.plot([1, 2])
====
plt.figure(); print("text")
====
fig
====
%config InlineBackend.figure_format = "retina"
====
fig
====
plt.plot([1, 3]); plt.show(); print("after")
====
%config InlineBackend.figure_formats = ["png", "jpeg"]
====
plt.plot([1, 3]);
====
%config InlineBackend.figure_format = "png"
%config InlineBackend.print_figure_kwargs = {"bbox_inches": None}
====
plt.plot([1, 3]); None
====
%reset -f
x
'''


def cells(group):
    return group.strip("\n").split("\n====\n")


#: Where the runner differs on purpose: the beginning of a cell, and why.
INTENDED = {
    "class HB": "a representation that fails is told on standard error; it is no error of the cell",
    "class BadRepr": "a representation that fails is told on standard error; it is no error of the cell",
    "t = asyncio.create_task": "the loop runs while a cell awaits, not between cells",
    "asyncio.run": "no loop runs already, so a script's way of starting one works",
    "x = (1 +": "the words of Python itself say which bracket is open",
    "eval(": "frames of the shell are no frames of the user",
    "raise ExceptionGroup": "IPython writes a group to standard error, and the cell seems to have gone well",
    "raise SystemExit(3)": "how to leave a terminal is of no use here",
    'exec("1/0")': "a frame without source has no line made up for it",
    "import pandas as pd\npd.DataFrame": "a frame without source has no line made up for it",
    "input(": "frames of the kernel are no frames of the user",
    "x?": "there is no pager, so help is printed",
    "!echo hello": "there is no terminal, so lines end as they were written",
    "%nosuch": "a magic that is not there is an error of the cell, and reported as one",
    "%%time\n1/0": "the line that failed is known",
}
