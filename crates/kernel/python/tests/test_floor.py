"""The runner uses only the syntax and the library of CPython 3.9, whichever Python runs it here."""

import glob
import importlib
import os
import subprocess
import sys
import tokenize

import floor
import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILES = sorted(
    os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, "inkcell_runner", "**", "*.py"), recursive=True)
)


def source_of(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def test_there_are_files():
    assert len(FILES) > 40, FILES


@pytest.mark.parametrize("name", FILES)
def test_nothing_newer_than_the_floor_is_used_without_a_guard(name):
    found = floor.newer(source_of(name), name)
    assert not found, ["%s:%d: %s is new in %d.%d" % (name, line, what, *version) for line, what, version in found]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="before 3.12 these are syntax errors by themselves")
@pytest.mark.parametrize("name", FILES)
def test_f_strings_do_not_nest_their_quotes(name):
    assert nested_quotes(source_of(name)) == []


def nested_quotes(source):
    """Lines with an f-string that only 3.12 reads: with its own quotes, a line end or a backslash inside a field."""
    import io

    lines, quotes = [], []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        name = tokenize.tok_name[token.type]
        if quotes and name in ("NL", "COMMENT") and len(quotes[-1]) == 1:
            lines.append(token.start[0])
        if name == "FSTRING_START" or (quotes and name == "STRING"):
            quote = token.string.lstrip("rbfuRBFU")
            quote = quote[:3] if quote[:3] in ("'''", '"""') else quote[:1]
            if quote in quotes or (name == "STRING" and "\\" in token.string):
                lines.append(token.start[0])
            if name == "FSTRING_START":
                quotes.append(quote)
        elif name == "FSTRING_END":
            quotes.pop()
    return lines


def test_every_file_compiles_and_imports_here_without_a_warning():
    """This includes rarely imported files; a warning of today is an error in a later version."""
    names = []
    for name in FILES:
        parts = name[: -len(".py")].split(os.sep)
        if "standin" not in parts:
            names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    done = subprocess.run(
        [sys.executable, "-I", "-c", EVERYTHING, ROOT, " ".join(FILES), " ".join(names)], capture_output=True, text=True
    )
    assert done.stdout == "whole\n", done.stderr


EVERYTHING = """
import importlib, sys, warnings

root, files, names = sys.argv[1:]
sys.path.insert(0, root)
warnings.filterwarnings("error", module="inkcell_runner")
with warnings.catch_warnings():
    warnings.simplefilter("error")
    for name in files.split():
        with open(root + "/" + name, encoding="utf-8") as file:
            compile(file.read(), name, "exec")
for name in names.split():
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        # What hosts the user's IPython is loaded where there is one.
        if "ipython" not in name or error.name.split(".")[0] not in ("IPython", "traitlets"):
            raise
print("whole")
"""


NEWER = [
    "import tomllib",
    "from itertools import pairwise",
    "import itertools as it\nit.batched([], 2)",
    "import os\nos.path.splitroot('x')",
    "from os import path\npath.isjunction('x')",
    "import types\ntypes.NoneType",
    "zip([], [], strict=True)",
    "(5).bit_count()",
    "raise ExceptionGroup('', [])",
    "import traceback\ntraceback.format_exception(error)",
    "import dataclasses\n@dataclasses.dataclass(slots=True)\nclass A: pass",
    "import bisect\nbisect.bisect_left([], 1, key=abs)",
    "import asyncio\nasync def f():\n    async with asyncio.timeout(1): pass",
    "from contextlib import chdir",
    "isinstance(1, int | str)",
    "def f(x: int | None): pass",
    "def f() -> 'list' | None: pass",
    "(1).to_bytes()",
    "if ready:\n    import tomllib",
    "try:\n    pass\nexcept ImportError:\n    import tomllib",
    "try:\n    import tomllib\nexcept ValueError:\n    pass",
]

FINE = [
    "'ab'.removeprefix('a')",
    "import sys\nif sys.version_info >= (3, 10):\n    from itertools import pairwise",
    "try:\n    import tomllib\nexcept ImportError:\n    tomllib = None",
    "import os\nfd = os.pidfd_open(1) if hasattr(os, 'eventfd') and os.eventfd else None",
    "import traceback\ntraceback.format_exception(type(e), e, e.__traceback__)",
    "from __future__ import annotations\ndef f(x: int | None): pass",
    "def pairwise(): pass\npairwise()",
    "aiter = 1\naiter",
    "flags = 1 | 2\nisinstance(flags, int)",
    "(1).to_bytes(2, 'big')",
    "int.from_bytes(*args)",
    "zip([], [])",
]


@pytest.mark.parametrize("source", NEWER)
def test_newer_things_are_seen(source):
    assert floor.newer(source)


@pytest.mark.parametrize("source", FINE)
def test_older_and_guarded_things_are_not(source):
    assert floor.newer(source) == []


@pytest.mark.parametrize("source", ["match x:\n    case 1: pass", "try: pass\nexcept* ValueError: pass"])
def test_newer_syntax_is_refused(source):
    with pytest.raises(SyntaxError):
        floor.newer(source)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="before 3.12 these are syntax errors by themselves")
def test_nested_quotes_are_seen():
    assert nested_quotes("x = 1\nf'{a['b']}'\n") == [2]
    assert nested_quotes("f'{\"\\n\".join(a)}'\n") == [1]
    assert nested_quotes("f'{a[\"b\"]}' 'c' f\"{d['e']:{w}}\" f'''{a[\"b\"]\n}'''\n") == []


# Some names depend on the system on which a Python was built.
PLATFORM = {"eventfd", "splice", "login_tty", "unshare", "setns", "PIDFD_NONBLOCK", "timerfd_create", "grantpt"}


def test_the_table_is_true():
    """A name exists from its version on, and not before, as far as this Python can tell."""
    wrong = []
    for module, names in floor.NAMES.items():
        here = importlib.import_module(module)
        for name, since in names.items():
            if hasattr(here, name) != (sys.version_info >= since) and not (
                name in PLATFORM and sys.version_info >= since
            ):
                wrong.append((module, name, since))
    assert not wrong, wrong
