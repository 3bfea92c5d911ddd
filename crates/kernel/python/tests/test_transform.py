"""Transforming cells: R-40, W-04, and agreement with IPython if it is installed."""

import ast
import glob
import io
import os
import random
import sys
import tokenize

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from inkcell_runner import transform as module  # noqa: E402
from inkcell_runner.transform import rewrite, special_start, transform  # noqa: E402

LINE = "get_ipython().run_line_magic(%r, %r)"
SYSTEM = "get_ipython().system(%r)"
OUTPUT = "get_ipython().getoutput(%r)"

FORMS = [
    ("%time x", LINE % ("time", "x")),
    ("x = %time 3", "x = " + LINE % ("time", "3")),
    ("!ls -l", SYSTEM % "ls -l"),
    ("!!ls", OUTPUT % "ls"),
    ("x = !ls", "x = " + OUTPUT % "ls"),
    ("x = !!ls", "x = " + OUTPUT % "ls"),
    ("a, b = !ls", "a, b = " + OUTPUT % "ls"),
    ("x['='] = !ls", "x['='] = " + OUTPUT % "ls"),
    ("f?", LINE % ("pinfo", "f")),
    ("f??", LINE % ("pinfo2", "f")),
    ("?f", LINE % ("pinfo", "f")),
    ("??f", LINE % ("pinfo2", "f")),
    ("a.b?", LINE % ("pinfo", "a.b")),
    ("*int*?", LINE % ("psearch", "*int*")),
    ("%time?", LINE % ("pinfo", "%time")),
    ("%%time?", LINE % ("pinfo", "%%time")),
    ("%%time\nx\n", "get_ipython().run_cell_magic('time', '', 'x\\n')\n\n"),
    ("\n\n%%sh -e  a\nx", "\n\nget_ipython().run_cell_magic('sh', '-e  a', 'x\\n')\n"),
    ("%time \\\n  foo\ny", LINE % ("time", "   foo") + "\n\ny"),
    ("if 1:\n    %time x\n", "if 1:\n    " + LINE % ("time", "x") + "\n"),
    (">>> x = 1\n>>> !ls\n... y", "x = 1\n" + SYSTEM % "ls" + "\ny"),
    ("In [1]: x = 1\n   ...: y = 2\n", "x = 1\ny = 2\n"),
    ("    s = '''\n  \n    '''\n    !ls\n", "s = '''\n  \n'''\n" + SYSTEM % "ls" + "\n"),
    ("  x = 1\n  !ls\n", "x = 1\n" + SYSTEM % "ls" + "\n"),
    ("x = !echo it's\ny = 3\n", "x = " + OUTPUT % "echo it's" + "\ny = 3\n"),
    ("!echo 'a\ny", SYSTEM % "echo 'a" + "\ny"),
    ("!ls\r\nx\r\n", SYSTEM % "ls" + "\nx\r\n"),
]


@pytest.mark.parametrize("source, expected", FORMS)
def test_each_form(source, expected):
    assert transform(source) == expected


# W-04: these lines are Python, next to one line that is not.
HIDING = [
    's = """\n%time x\n!ls\nname?\n"""\n',
    "s = '''\n%%bash\n'''\n",
    "x = (a\n% b)\n",
    "x = (a\n!= b)\n",
    "x = a \\\n% b\n",
    "d = {\n'a': '!ls',\n'b': f'{x!r}',\n}\n",
    "print('%d items\\n'\n% 3 if y else\n'!x')\n",
    "@decorator\ndef f(a, b='%x'):\n    '''\n    !ls\n    '''\n    return '%s' % a\n",
    "s = f'''\n!ls {x\n!r:>10} %time\n'''\n",
    "# is this !ls?\nx = 1  # why?\n",
    "text = '%s' % (\nx,\n)\n",
    "s = rb'''\n%x\n'''\n",
    "x = 'it\\'s' ; y = \"\\\"\"\n",
    "a = [\n-1\n]\n",
    "x: int = 3\nf(a=3)\nx == 4\ny = x != 4\n",
]


@pytest.mark.parametrize("source", HIDING)
def test_python_beside_a_magic_stays(source):
    assert transform("!true\n" + source + "%pwd\n") == (
        SYSTEM % "true" + "\n" + source + LINE % ("pwd", "") + "\n"
    )


@pytest.mark.skipif(sys.version_info < (3, 12), reason="f-strings nest from 3.12 on")
def test_nested_fstrings():
    source = 'x = f"{f("(")} {d["it\'s"]} {y:{"<"}{3}}"\n!ls\n'
    assert transform(source).endswith(SYSTEM % "ls" + "\n")


@pytest.mark.parametrize(
    "source",
    ["x = 1; !ls", "for i in x: !ls", "x += !ls", "f(a=!ls)", "foo? # why", "x = 5 if %foo", "(a\n?)", "'a'?"],
)
def test_not_at_a_statement_start(source):
    assert transform(source) == source


def test_line_numbers_are_kept():
    source = "%a \\\n b\nx = !c \\\n d\nf?\n\n  \ny = 1\n"
    result = transform(source)
    assert result.count("\n") == source.count("\n")
    assert result.split("\n")[7] == "y = 1"


def test_special_starts_are_announced():
    assert special_start("%%time\nx") and special_start("\n In [3]: x") and not special_start("In[3]")


def test_deterministic():
    source = "".join(source + "\n" for source, _ in FORMS if not source.lstrip().startswith(("%%", ">>>", "In")))
    assert len({transform(source) for _ in range(5)}) == 1


# IPython keeps the second mark of `x = !!ls`, and newer ones empty blank lines inside strings.
IPYTHON_TOO = [source for source, _ in FORMS if "!!" not in source and "'''" not in source] + [
    "x=!ls $y", "%%bash -x  y\necho 1\n", "a[0]?", "a.b[1].c?", "?", "??", "?%time", "\n\n%%time\nx",
    "if 1:\n    x=!ls\n    !ls\n", "!ls \\\n  -l\nz", "x = !ls \\\n -l\n", "In [1]: !ls", ",f a b", ";f a b",
    "/f a b", "%foo %bar", "% time x", "%%time", "x = f?", "!ls ?", "x = (1\n% b)\n!ls", "@dec\n!ls",
    "x = 1; !ls", "%matplotlib inline\nimport x", "a = b = !ls", "x += !ls", "x.y = %pwd", "f(a=!ls)",
    "x = ! ls", "! ls", "# what?\n!ls\n", "'''\n%foo\n!ls\n'''\n!ls", "if x:\n    a?\n", "?a b c", "a b?",
    "  %%time\n  x\n", "%timeit -n 1 x = '#'", "await x\n!ls", "%cd ..;", "?*a*", "a??b", "f?\n\n", "a.b.*c*?",
    "1?", "x[1]?", "def f():\n    '''\n    !x\n    '''\n    %time 1\n", "x = \\\n!ls", "x = \\\n%time 1",
    "try:\n    !ls\nexcept:\n    %pwd\n", "with a as b:\n\t!ls\n", "!pip install a>=1 'b[c]'", "%env A=b c",
    "!cd x && ls | wc -l > out.txt", "files = !ls *.py", "%load_ext autoreload\n%autoreload 2\n",
    "class A:\n    x = !ls\n    def f(self):\n        return 1\n", "!git clone https://x/y.git", "%%html\n<b>%x</b>\n",
    "%%writefile a.py\n%time x\n!ls\n'''\n", "x = 5\n%time y = x\nprint('%d' % x)\n", "  \n",
    "    # c\n    x = 1\n    %pwd\n", "!echo {x} $y $$z", "%timeit [i\\\n for i in x]\n",
]


def meaning(source):
    try:
        return ast.dump(ast.parse(source))
    except SyntaxError:
        return "error"


@pytest.mark.parametrize("source", IPYTHON_TOO)
def test_ipython_agrees(source):
    manager = pytest.importorskip("IPython.core.inputtransformer2").TransformerManager()
    try:
        theirs = meaning(manager.transform_cell(source))
    except SyntaxError:
        theirs = "error"
    assert meaning(transform(source)) == theirs


def library(count):
    found = sorted(glob.glob(os.path.join(os.path.dirname(os.__file__), "**", "*.py"), recursive=True))
    random.Random(7).shuffle(found)
    for path in found[:count]:
        try:
            with tokenize.open(path) as file:
                source = file.read()
        except (SyntaxError, UnicodeDecodeError, OSError):
            continue
        if module._compiles(source):
            yield path, source


def starts_by_tokens(source):
    starts, fresh = set(), True
    quiet = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in quiet:
            continue
        if fresh:
            starts.add(token.start[0])
        fresh = token.type == tokenize.NEWLINE
    return starts


def starts_by_scanning(source):
    starts, pos, line = set(), 0, 1
    while pos < len(source):
        begin = pos
        while pos < len(source) and source[pos] in " \t\f":
            pos += 1
        stop = module._logical_line(source, pos)[0]
        if source[pos:stop].strip() and source[pos] != "#":
            starts.add(line)
        line += source.count("\n", begin, stop)
        pos = stop
    return starts


def test_valid_python_is_returned_unchanged():
    """This includes the part that the compiler's success would skip."""
    checked = 0
    for path, source in library(300):
        assert transform(source) == source, path
        assert rewrite(source) == source, path
        checked += 1
    assert checked > 150


def test_statement_starts_are_those_of_the_tokenizer():
    for path, source in library(60):
        assert starts_by_scanning(source) == starts_by_tokens(source), path


def test_magics_put_between_statements_are_found_and_nothing_else():
    choose = random.Random(11)
    for path, source in library(60):
        lines = source.splitlines(keepends=True)
        if not lines or not lines[-1].endswith("\n"):
            continue
        # Only before statements of the top level, where any line may stand.
        tops = sorted(n for n in starts_by_tokens(source) if lines[n - 1][:1].isalpha())
        tops = [n for n in tops if not lines[n - 1].startswith(("else", "elif", "except", "finally"))]
        tops = [n for n in tops if n < 2 or not lines[n - 2].startswith("@")]
        expected = list(lines)
        for number in sorted(choose.sample(tops, min(3, len(tops))), reverse=True):
            form, call = choose.choice([("%time it's", LINE % ("time", "it's")), ("!ls '", SYSTEM % "ls '")])
            lines.insert(number - 1, form + "\n")
            expected.insert(number - 1, call + "\n")
        assert rewrite("".join(lines)) == "".join(expected), path


def test_any_text_ends_without_an_error():
    choose = random.Random(3)
    pieces = ["%", "!", "?", "'", '"', '"""', "\\", "\n", "(", ")", "{", "}", "f'", "x", " = ", "#", ":", " "]
    pieces += ["%%", "\r\n", "é", "\0"]
    for _ in range(3000):
        source = "".join(choose.choice(pieces) for _ in range(choose.randrange(1, 25)))
        result = transform(source)
        assert isinstance(result, str)
