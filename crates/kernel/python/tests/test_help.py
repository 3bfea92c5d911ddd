"""`?` and `??`: layout and lookup, compared with IPython if it is installed."""

import os
import re
import subprocess
import sys

import pytest
from test_magics_session import session  # noqa: F401

SETUP = """
import os, json, collections
x = 1; s = 'abc'; big = list(range(1000)); d = {'k': [1]}
def f(a, b=2, *, c: int = 3) -> str:
    'Doc of f.'
    return a
def g(): pass
def long_name(first_parameter, second_parameter=None, third_parameter='something', *args, **kwargs): 'x'
class K:
    '''A class.

    more'''
    def __init__(self, q): 'init doc'
    def __call__(self, z): 'call doc'
    @property
    def p(self): 'prop doc'; return 1
    def m(self): 'method doc'
class Plain: pass
k = K(1); plain = Plain()
"""

NAMES = (
    "x s big d f g long_name K Plain len print int dict os os.path.join json.dumps json k.p k.m k plain nope os.nope"
    " d.get collections.OrderedDict True None x.real big[3] K.m"
).split()


def test_the_layout(session, capsys):
    session.cell(SETUP)
    session.cell("f?")
    assert capsys.readouterr().out == (
        "Signature: f(a, b=2, *, c: int = 3) -> str\nDocstring: Doc of f.\nFile:      <cell 1>\nType:      function\n"
    )
    session.cell("nope?")
    assert capsys.readouterr().out == "Object `nope` not found.\n"
    session.cell("json.dumps??")
    out = capsys.readouterr().out
    assert "Source:   \ndef dumps(" in out and "Docstring:" not in out


def test_magics_can_be_asked_about(session, capsys):
    session.cell("%time?")
    assert capsys.readouterr().out.startswith("Docstring:\nTime execution of a Python statement")
    session.cell("%%bash?")
    assert "Run the cell with bash" in capsys.readouterr().out
    session.cell("?")
    assert "%lsmagic" in capsys.readouterr().out


def test_wildcards(session, capsys):
    session.cell("import os\nalpha = alphabet = 1\n_alpha = 2")
    session.cell("alph*?")
    assert capsys.readouterr().out == "alpha\nalphabet\n"
    session.cell("os.path.isdi*?")
    assert capsys.readouterr().out == "os.path.isdir\n"
    session.cell("%psearch -a _alph*")
    assert capsys.readouterr().out == "_alpha\n"


def test_printing_source_doc_and_file(session, capsys):
    session.cell("import json")
    session.cell("%psource json.dumps")
    assert capsys.readouterr().out.startswith("def dumps(")
    session.cell("%pdoc json.dumps")
    assert capsys.readouterr().out.startswith("Class docstring:\n    Serialize")
    session.cell("%pdef json.dumps")
    assert capsys.readouterr().out.startswith(" json.dumps(\n    obj,\n")
    session.cell("%pfile json.dumps")
    assert "def dumps(" in capsys.readouterr().out
    session.cell("%pfile nosuch")
    assert capsys.readouterr().out == "Object `nosuch` not found.\nFile `'nosuch'` not found.\n"
    session.cell("%psource len")
    assert capsys.readouterr().out == "No source found for len\n"


def test_a_property_is_not_computed(session, capsys):
    session.cell("class T:\n    @property\n    def p(self):\n        'doc of p'\n        raise SystemExit\nt = T()")
    session.cell("t.p?")
    assert "Docstring:" in capsys.readouterr().out


THEIRS = """
import sys
from IPython.core.interactiveshell import InteractiveShell
import IPython.core.page as page
page.page = lambda s, *a, **k: print(s["text/plain"] if isinstance(s, dict) else s)
ip = InteractiveShell.instance()
try: ip.colors = "nocolor"
except Exception: ip.colors = "NoColor"
ip.run_cell(%r)
for name in %r:
    print("\\n=====", name)
    ip.run_cell(name + "?")
"""


def comparable(text):
    text = re.sub(r"\x1b\[[\d;]*m", "", text)
    text = re.sub(r"0x[0-9a-f]+", "0x", text)
    # Cells have other file names; IPython knows no file for classes typed in.
    text = re.sub(r"^File: +\S*<(ipython-input|cell|frozen).*\n", "", text, flags=re.M)
    # The two processes have loaded different classes.
    text = re.sub(r"^(Subclasses:).*", r"\1", text, flags=re.M)
    sections = re.split(r"^===== (.*)\n", text, flags=re.M)
    return {name: body.strip() for name, body in zip(sections[1::2], sections[2::2])}


def test_ipython_agrees(session, capsys, tmp_path):
    pytest.importorskip("IPython")
    env = dict(os.environ, IPYTHONDIR=str(tmp_path / "ipython"))
    theirs = comparable(
        subprocess.run(
            [sys.executable, "-c", THEIRS % (SETUP, NAMES)], capture_output=True, text=True, env=env, check=True
        ).stdout
    )
    session.cell(SETUP)
    capsys.readouterr()
    for name in NAMES:
        print("\n=====", name)
        session.cell(name + "?")
    ours = comparable(capsys.readouterr().out)
    assert ours.keys() == theirs.keys()
    different = {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]}
    assert not different
