"""Tracebacks: the lines they show, the names of functions, and that nothing makes them fail."""

import importlib
import os
import sys
import textwrap
import types

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)

from inkcell_runner import excerpts, tracebacks  # noqa: E402


class FakeSession:
    shell_object = None

    class executor:
        @staticmethod
        def publish_sources():
            pass


def codes(code):
    """A code object and all code objects inside it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from codes(inner)


def code_named(source, name):
    return next(code for code in codes(compile(source, "<test>", "exec")) if code.co_name == name)


def shown(source, name, line, before=2, after=2):
    source = textwrap.dedent(source).strip("\n") + "\n"
    lines = source.splitlines(keepends=True)
    found = excerpts.excerpt(lines, code_named(source, name), line, before, after)
    return [one and "%d %s" % one for one in found]


SOURCE = '''
    import os

    class A:
        @property
        @staticmethod
        def m(
            a,
            b=(1,
        2),
        ):
            """Text
    that reaches the margin
            """
            # A remark.

            x = 1; y = 2
            for i in a:
                if i:
                    z = [
                        1,
                        i,
                    ]
                else:
                    pass
            return (lambda q:
                q)

    def after(): return 1
    '''


def test_context_counts_statements_and_stays_in_the_function():
    assert shown(SOURCE, "m", 16, before=1, after=1) == ["14 # A remark.", "16 x = 1; y = 2", "17 for i in a:"]
    assert shown(SOURCE, "m", 21) == [
        "17 for i in a:", "18     if i:", "19         z = [", "20             1,", "21             i,", "22         ]",
        "23     else:", "24         pass",
    ]
    assert shown(SOURCE, "m", 25)[-2:] == ["25 return (lambda q:", "26     q)"]
    # The head has more than six lines, so it loses its middle as context.
    numbers = [one and int(one.split()[0]) for one in shown(SOURCE, "m", 12, before=1, after=0)]
    assert numbers == [4, 5, 6, None, 9, 10, 11, 12, 13]
    assert shown(SOURCE, "after", 28) == ["28 def after(): return 1"]
    assert shown(SOURCE, "<lambda>", 26, before=0) == ["25 return (lambda q:", "26     q)"]
    assert shown(SOURCE, "<module>", 28, before=0) == ["28 def after(): return 1"]


def test_a_source_that_is_no_python_is_shown_by_lines():
    lines = ["a b\n", "c d\n", "e f\n", "g h\n"]
    code = compile("1", "<test>", "exec")
    assert excerpts.excerpt(lines, code, 2, 1, 1) == [(1, "a b"), (2, "c d"), (3, "e f")]
    assert excerpts.excerpt(lines, code, 9, 1, 1) == excerpts.excerpt([], code, 1, 1, 1) == []


@pytest.mark.parametrize("module", ["argparse", "json.decoder", "asyncio.base_events", "dataclasses", "typing"])
def test_every_line_of_real_code_is_among_its_own_lines(module):
    """The pieces also equal those of IPython's own library, if it is installed."""
    path = importlib.util.find_spec(module).origin
    with open(path, encoding="utf-8") as file:
        source = file.read()
    lines = source.splitlines(keepends=True)
    pieces = reference(path)
    for code in codes(compile(source, path, "exec")):
        # Newer versions have code for other things too, such as the value of a `type` statement.
        if not lines[code.co_firstlineno - 1].lstrip().startswith(("@", "def ", "async ", "class ")) or code.co_name[0] == "<":
            continue
        found = excerpts._pieces(lines, code, code.co_firstlineno)
        assert found and code.co_firstlineno in found[0], (code.co_name, code.co_firstlineno)
        if pieces is not None:
            first, last = found[0].start, found[-1].stop
            assert found == [piece for piece in pieces if first <= piece.start and piece.stop <= last], code.co_name
        line = found[-1].stop - 1
        assert line in [one[0] for one in excerpts.excerpt(lines, code, line, 2, 2) if one]


def reference(path):
    try:
        import stack_data
    except ImportError:
        return None
    return stack_data.Source.for_filename(path).pieces


def test_names_are_full_on_every_version():
    source = textwrap.dedent("""
        class A:
            class B:
                @classmethod
                async def m(cls):
                    def inner(x=(1,
                2)):
                        return [i for i in x]
                    def other(): pass
        def plain(): pass
        """)
    lines = source.splitlines(keepends=True)
    names = {}
    for code in codes(compile(source, "<test>", "exec")):
        named = types.SimpleNamespace(co_name=code.co_name, co_firstlineno=code.co_firstlineno)
        names[code.co_name] = excerpts.qualified_name(named, lines)
        assert excerpts.qualified_name(code, lines) == names[code.co_name]
    assert names["inner"] == "A.B.m.<locals>.inner" and names["other"] == "A.B.m.<locals>.other"
    assert names["m"] == "A.B.m" and names["B"] == "A.B" and names["plain"] == "plain"
    assert names.get("<listcomp>", "<listcomp>") == "<listcomp>"


def described(error):
    name, value, coloured, plain = tracebacks.describe(error, FakeSession())
    assert all(isinstance(text, str) for text in (name, value, *coloured, *plain))
    assert len(coloured) == len(plain)
    return "\n".join(plain)


def raised(function):
    try:
        function()
    except BaseException as error:
        return error
    raise AssertionError("it did not raise")


class Evil(Exception):
    def __str__(self):
        raise ValueError("no text")

    __repr__ = __str__


def test_nothing_makes_a_description_fail():
    def deep(n):
        return deep(n + 1)

    def many(n):
        if n:
            exec("many(n - 1)", {"many": many, "n": n})
        raise KeyError(n)

    loop = ValueError("loop")
    loop.__cause__ = loop
    other = ValueError("other")
    other.__context__, loop.__context__ = loop, other
    noted = ValueError("noted")
    noted.__notes__ = [Evil(), 3]
    odd = ValueError("odd")
    odd.__notes__ = 7
    odd.exceptions = "no group"
    strange = SyntaxError("strange")
    strange.lineno, strange.offset, strange.text = -4, -9, "x"
    for error in (raised(lambda: deep(0)), raised(lambda: many(60)), loop, other, noted, odd, strange, Evil(), SyntaxError()):
        text = described(error)
        assert type(error).__name__ in text and len(text) < 50_000, text
    assert "its __str__ raised ValueError" in described(Evil())


def test_recursion_is_told_once():
    def deep(n):
        return deep(n + 1) if n < 300 else 1 / 0

    text = described(raised(lambda: deep(0)))
    assert "deep at line %d (298 times)]" % (deep.__code__.co_firstlineno + 1) in text
    assert text.count(", in %s(n)" % deep.__qualname__) == 3


@pytest.mark.skipif(sys.version_info < (3, 11), reason="groups came with 3.11")
def test_a_group_shows_all_of_its_members():
    inner = ExceptionGroup("inner", [KeyError("k")])  # noqa: F821
    text = described(ExceptionGroup("outer", [ValueError(1), inner]))  # noqa: F821
    assert "ExceptionGroup: outer (2 sub-exceptions)" in text and "ValueError: 1" in text and "KeyError: 'k'" in text


def test_an_exit_is_short_and_whole_when_asked_again(host):
    host.run("def leave():\n    raise SystemExit(3)")
    (first,) = [event[1]["plain"] for event in host.run("leave()") if event[0] == "error"]
    assert first == ["An exception has occurred, use %tb to see the full traceback.\n", "SystemExit: 3\n"]
    text = host.text("%tb")
    assert "Cell In[1], line 2, in leave()" in text and "SystemExit: 3" in text
    assert host.run("import sys; type(sys.last_value).__name__")[-2][1] == {"text/plain": "'SystemExit'"}


def test_frames_of_the_runner_and_of_its_loop_are_not_shown(host):
    cell = "import asyncio\nasync def fail():\n    raise ValueError('here')\nawait fail()"
    (plain,) = [event[1]["plain"] for event in host.run(cell) if event[0] == "error"]
    text = "\n".join(plain)
    assert "File" not in text and "inkcell_runner" not in text, text
    assert "Cell In[1], line 4" in text and "Cell In[1], line 3, in fail()" in text
