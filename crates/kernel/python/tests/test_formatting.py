"""Bundles: known results, and equality with the real IPython if it is installed."""

import base64
import collections
import copy
import os
import re
import subprocess
import sys
from unittest import mock

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)

from inkcell_runner import formatting, mime  # noqa: E402

try:
    import IPython

    have_ipython = not hasattr(IPython, "__inkcell__")
except ImportError:
    have_ipython = False
if not have_ipython:
    print("!! IPython is not installed: bundles are not compared with it", file=sys.__stderr__)

needs_ipython = pytest.mark.skipif(not have_ipython, reason="!! IPython is not installed")

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x04rest"


class All:
    def __repr__(self):
        return "All()"

    def _repr_html_(self):
        return "<b>x</b>"

    def _repr_markdown_(self):
        return "**x**", {"m": 1}

    def _repr_svg_(self):
        return "<svg/>"

    def _repr_png_(self):
        return PNG

    def _repr_jpeg_(self):
        return base64.b64encode(b"\xff\xd8jpeg").decode(), {"width": 3}

    def _repr_pdf_(self):
        return b"%PDF"

    def _repr_latex_(self):
        return "$x$"

    def _repr_json_(self):
        return {"x": 1}, {"expanded": True}

    def _repr_javascript_(self):
        return "x()"


class Bundle(All):
    result = ({"text/html": "from bundle", "application/x+json": {"a": 1}}, {"text/html": {"isolated": True}})

    def _repr_mimebundle_(self, include=None, exclude=None):
        # A new dict each time: IPython adds to the dict that it receives.
        return copy.deepcopy(self.result)


class Partial:
    def __repr__(self):
        return "Partial()"

    def _repr_html_(self):
        return None

    def _repr_latex_(self):
        raise NotImplementedError


class ClassMethod:
    @classmethod
    def _repr_html_(cls):
        return "class"


class ListWithBundle(list):
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": "mine", "text/html": "h"}


class Instance:
    def __init__(self):
        self._repr_html_ = lambda: "on the instance"

    def __repr__(self):
        return "Instance()"


class AnswersAll:
    def __repr__(self):
        return "AnswersAll()"

    def __getattr__(self, name):
        return lambda *args, **kwargs: "lie"


class RaisesOnAttribute:
    def __repr__(self):
        return "Raises()"

    def __getattr__(self, name):
        raise RuntimeError(name)


def bundle_of(result):
    made = Bundle()
    made.result = result
    return made


VALUES = [
    1, "text", None, [1, 2], {"a": 1}, All(), All, Bundle(), Bundle, Partial(), ClassMethod(), ClassMethod,
    ListWithBundle([1]), Instance(), AnswersAll(), RaisesOnAttribute(), mock.Mock(), mock.MagicMock(name="m"),
    bundle_of({"text/html": "only data"}), bundle_of(None), bundle_of({}), bundle_of({"image/png": PNG}),
    bundle_of({"text/plain": "given", "image/gif": base64.b64encode(b"GIF89a").decode()}),
    collections.OrderedDict(a=1), object,
]


def as_bytes(data):
    """IPython's bundle in the form of the runner's: binary kinds as bytes."""
    return {
        kind: base64.b64decode(value) if mime.is_binary(kind) and isinstance(value, str) else value
        for kind, value in data.items()
    }


def without_ids(bundle):
    """Some libraries make a new id for every rendering."""
    return re.sub(r"altair-viz-\w+|T_[0-9a-f]{5}", "id", repr(bundle))


@needs_ipython
@pytest.mark.parametrize("options", [{}, {"include": ["text/html", "image/png"]}, {"exclude": {"text/plain", "text/html"}}])
@pytest.mark.parametrize("index", range(len(VALUES)))
def test_same_bundle_as_ipython(index, options):
    from IPython.core.formatters import DisplayFormatter

    value = VALUES[index]
    data, metadata = DisplayFormatter().format(value, **options)
    ours = formatting.bundle(value, **options)
    assert ours == (as_bytes(data), metadata)
    assert list(ours[0]) == list(data), "the kinds come in IPython's order"


def test_same_bundle_as_ipython_for_libraries():
    if not have_ipython:
        pytest.skip("!! IPython is not installed")
    from IPython import display as objects
    from IPython.core.formatters import DisplayFormatter

    values = [
        objects.HTML("<i>"), objects.Markdown("*m*"), objects.Image(data=PNG, width=3), objects.JSON({"a": 1}),
        objects.SVG("<svg xmlns='http://www.w3.org/2000/svg'/>"), objects.Latex("x"), objects.Math("x"),
        objects.Javascript("x()"), objects.Pretty("p"), objects.IFrame("http://x", 1, 2), objects.Code("x = 1", language="python"),
        objects.Image(url="http://x/y.png"), objects.Audio([0.0, 1.0], rate=8000),
    ]
    for name, make in (
        ("pandas", lambda lib: [lib.DataFrame({"a": [1, 2], "b": ["x", None]}), lib.Series([1, 2]), lib.DataFrame({"a": [1]}).style]),
        ("numpy", lambda lib: [lib.arange(200).reshape(10, 20), lib.float64(0.1), [lib.float32(1), lib.arange(40)], {"a": lib.eye(12)}]),
        ("altair", lambda lib: [lib.Chart("d.json").mark_bar()]),
        ("sympy", lambda lib: [lib.Symbol("x") ** 2]),
    ):
        try:
            values += make(__import__(name))
        except ImportError:
            print("!! %s is not installed: its values are not compared" % name, file=sys.__stderr__)
    for value in values:
        data, metadata = DisplayFormatter().format(value)
        ours = formatting.bundle(value)
        assert without_ids(ours) == without_ids((as_bytes(data), metadata)), value


def test_every_kind():
    data, metadata = formatting.bundle(All())
    assert data == {
        "text/plain": "All()", "text/html": "<b>x</b>", "text/markdown": "**x**", "image/svg+xml": "<svg/>",
        "image/png": PNG, "application/pdf": b"%PDF", "image/jpeg": b"\xff\xd8jpeg", "text/latex": "$x$",
        "application/json": {"x": 1}, "application/javascript": "x()",
    }
    assert metadata == {"text/markdown": {"m": 1}, "image/jpeg": {"width": 3}, "application/json": {"expanded": True}}


def test_a_raising_helper_is_left_out_and_told(capsys):
    class Bad:
        def __repr__(self):
            return "Bad()"

        def _repr_html_(self):
            raise ValueError("inside html")

        def _repr_mimebundle_(self, include, exclude):
            raise KeyError("inside bundle")

    assert formatting.bundle(Bad()) == ({"text/plain": "Bad()"}, {})
    told = capsys.readouterr().err
    assert "Traceback (most recent call last):" in told and "ValueError: inside html" in told and "KeyError" in told
    assert "inkcell_runner" not in told, "only the user's own frames"


class RaisingRepr:
    def __repr__(self):
        raise ValueError("no repr")


class NonTextRepr:
    def __repr__(self):
        return 5


class EndlessRepr:
    def __repr__(self):
        return repr(self)


class EvilException:
    def __repr__(self):
        raise EvilError()


class EvilError(Exception):
    def __str__(self):
        raise self

    __repr__ = __str__


@pytest.mark.parametrize("kind", [RaisingRepr, NonTextRepr, EndlessRepr, EvilException])
def test_a_failing_repr_has_a_fallback(kind, capsys):
    assert formatting.bundle(kind()) == ({"text/plain": "<unrepr %s>" % kind.__name__}, {})
    assert formatting.bundle([kind()])[0] == {"text/plain": "<unrepr list>"}
    assert capsys.readouterr().err


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_exits_and_interrupts_pass_through(kind):
    class Leaves:
        def _repr_html_(self):
            raise kind

    with pytest.raises(kind):
        formatting.bundle(Leaves())


@pytest.mark.parametrize("result", [
    5, "text", [], (1, 2), ("a",), ({"text/html": "x"},), ({"text/html": "x"}, 5), ({1: 2}, {3: 4}), {None: "x"}, {5: "x"},
    {"text/html": 5}, {"text/html": object()}, {"image/png": 5}, {"application/json": object()}, {"a/b": {1, 2}},
    {"application/json": float("nan")}, {"application/json": [float("inf"), b"bytes"]}, {"text/html": b"bytes\xff"},
    {"image/png": "not base64!"}, {"text/html": None}, {"": "x"}, ({}, {"text/html": object()}),
])
@pytest.mark.filterwarnings("ignore")
def test_garbage_bundles_give_something_that_can_be_sent(result):
    import json

    class Garbage:
        def __repr__(self):
            return "Garbage()"

        def _repr_mimebundle_(self, include=None, exclude=None):
            return result

    data, metadata = formatting.bundle(Garbage())
    assert data["text/plain"] == "Garbage()"
    json.dumps(metadata, allow_nan=False)
    for kind, value in data.items():
        assert isinstance(kind, str)
        assert isinstance(value, (str, bytes)) or json.dumps(value, allow_nan=False)
        assert mime.is_binary(kind) or not isinstance(value, bytes)


def test_json_that_is_nearly_json():
    import datetime

    value = {1: float("nan"), "when": datetime.date(2020, 1, 2), "raw": b"x", "many": (n for n in (1, 2))}
    assert mime.clean({"application/json": value}) == {
        "application/json": {"1": "nan", "when": "2020-01-02", "raw": "eA==", "many": [1, 2]}
    }
    loop = []
    loop.append(loop)
    with pytest.warns(mime.FormatterWarning):
        assert mime.clean({"application/json": loop}) == {}


@pytest.mark.filterwarnings("ignore:application/json")
def test_wrong_types_are_warned_about():
    class Wrong:
        def __repr__(self):
            return "Wrong()"

        def _repr_html_(self):
            return 5

        def _repr_json_(self):
            return "text"

    with pytest.warns(mime.FormatterWarning, match="text/html formatter returned invalid type <class 'int'>"):
        assert formatting.bundle(Wrong()) == ({"text/plain": "Wrong()"}, {})


def test_widgets_have_their_view():
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "1"}}
    assert formatting.bundle(bundle_of(view))[0].items() >= view.items()


def test_registered_formatters():
    html = formatting.display_formatter.formatters["text/html"]
    plain = formatting.display_formatter.formatters["text/plain"]
    try:
        assert html.for_type(Partial, lambda obj: "registered") is None
        assert formatting.bundle(Partial())[0]["text/html"] == "registered"
        assert html.for_type("collections.OrderedDict", lambda obj: "by name") is None
        assert formatting.bundle(collections.OrderedDict())[0]["text/html"] == "by name"
        before = plain.for_type(int, lambda obj, p, cycle: p.text("I" * obj))
        assert formatting.bundle([2, True])[0]["text/plain"] == "[II, True]"
        plain.for_type(int, before)
        plain.float_precision = 3
        assert formatting.bundle([0.12345])[0]["text/plain"] == "[0.123]"
        plain.float_precision = ""
        assert formatting.bundle([0.12345])[0]["text/plain"] == "[0.12345]"
        with pytest.raises(ValueError):
            plain.float_precision = "many"
    finally:
        html.pop(Partial)
        html.pop("collections.OrderedDict")
    assert html.pop(Partial, None) is None
    with pytest.raises(KeyError):
        html.pop(Partial)
    with pytest.raises(KeyError):
        html.lookup_by_type(Partial)
    assert Partial not in html


def test_import_brings_little():
    code = "import sys; sys.path.insert(0, %r); import inkcell_runner.formatting, inkcell_runner.displays, inkcell_runner.figures; " % ROOT
    code += "print(sorted({'re', 'typing', 'dataclasses', 'inspect', 'json', 'traceback', 'IPython', 'matplotlib'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stdout + done.stderr


def test_what_is_registered_counts_from_the_next_value_on():
    """A value whose text equals Python's own takes a shorter path, which must not outlive a registration."""
    html, plain = (formatting.display_formatter.formatters[kind] for kind in ("text/html", "text/plain"))
    simple = ({"text/plain": "5"}, {})
    assert formatting.bundle(5) == simple
    html.for_type(int, lambda obj: "<i>")
    assert formatting.bundle(5)[0] == {"text/plain": "5", "text/html": "<i>"}
    html.pop(int)
    assert formatting.bundle(5) == simple
    # Remove one printer and add one: the number stays the same.
    kept = plain.type_printers.pop(slice)
    plain.type_printers[bool] = lambda obj, p, cycle: p.text("B")
    before, plain.singleton_printers = plain.singleton_printers, {}
    try:
        assert formatting.bundle(5) == simple
        with mock.patch.object(formatting._pretty, "singleton_printers", {}):
            assert formatting.bundle(True)[0] == {"text/plain": "B"}
    finally:
        plain.singleton_printers = before
        del plain.type_printers[bool]
        plain.type_printers[slice] = kept
    html.type_printers, own = {int: lambda obj: "<b>"}, html.type_printers
    try:
        assert formatting.bundle(5)[0]["text/html"] == "<b>"
    finally:
        html.type_printers = own
    assert formatting.bundle(5) == simple
