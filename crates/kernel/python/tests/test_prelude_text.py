"""Helpers on text, batches and the session's own reports. B:E-41, B:E-43, B:X-42."""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from test_prelude import ns, session  # noqa: F401


def test_head_tail(ns, session):
    text = "\n".join(str(n) for n in range(20)) + "\n"
    assert ns.head(text) == "\n".join(str(n) for n in range(10))
    assert session.last() == {"op": "head", "lines": 10, "preview": ns.head(text)}
    assert ns.tail(text, 2) == "18\n19"
    assert session.last() == {"op": "tail", "lines": 2, "preview": "18\n19"}
    assert ns.tail(text, 0) == "" and ns.head(text, -1) == "" and ns.tail("a", 5) == "a"
    ns.head("x" * 900)
    assert len(session.last()["preview"]) == 500


def test_wc(ns, session):
    assert ns.wc("a b\nc\n") == {"lines": 2, "words": 3, "chars": 6}
    assert session.last() == {"op": "wc", "lines": 2, "words": 3, "chars": 6}
    assert ns.wc("") == {"lines": 0, "words": 0, "chars": 0}


def test_sort(ns, session):
    assert ns.sort("b\na\nb\n") == "a\nb\nb"
    assert session.last() == {"op": "sort", "lines": 3, "unique": False, "reverse": False}
    assert ns.sort_lines("b\na\nb", reverse=True, unique=True) == "b\na"
    assert session.last() == {"op": "sort_lines", "lines": 2, "unique": True, "reverse": True}


def test_uniq(ns, session):
    assert ns.uniq("a\na\nb\na\n") == "a\nb\na"
    assert session.last() == {"op": "uniq", "groups": 3, "count_mode": False}
    assert ns.uniq("a\na\nb", count=True) == [(2, "a"), (1, "b")]
    assert session.last() == {"op": "uniq", "groups": 2, "count_mode": True}
    assert ns.uniq("") == "" and ns.uniq("", count=True) == []


def test_cols(ns, session):
    assert ns.cols("a  b c\nd e", 2, 0) == "c a\nd"
    assert session.last() == {"op": "cols", "lines": 2, "columns": [2, 0]}
    assert ns.cols("a,b,,c", 0, -1, sep=",") == "a c"


def test_counter(ns, session):
    assert ns.counter("b\na\nb\n") == [(2, "b"), (1, "a")]
    assert session.last() == {
        "op": "counter", "unique": 2, "total": 3, "top": [[2, "b"], [1, "a"]],
    }  # fmt: skip
    assert ns.counter(["x", "y", "x"], reverse=False) == [(1, "y"), (2, "x")]
    assert ns.counter([1, "a", None, 1], limit=1) == [(2, 1)]
    ns.counter(list(range(30)))
    assert len(session.last()["top"]) == 10
    json.dumps(session.last())


def test_batch(ns, session, tmp_path):
    ns.write("a", "1")
    ns.write("b", "22")
    assert ns.batch((name for name in ("a", "b")), lambda p: p.stat().st_size) == [1, 2]
    assert session.last() == {"op": "batch", "files": 2}


def test_parallel(ns, session):
    barrier = threading.Barrier(3, timeout=60)
    assert ns.parallel([lambda n=n: (barrier.wait(), n)[1] for n in range(3)]) == [0, 1, 2]
    assert session.last() == {"op": "parallel", "count": 3}
    assert ns.parallel([]) == []
    done = []

    def fail(text):
        done.append(text)
        raise ValueError(text)

    with pytest.raises(ValueError, match="first"):
        ns.parallel([lambda: 1, lambda: fail("first"), lambda: fail("second")], workers=1)
    assert done == ["first", "second"]
    with pytest.raises(TypeError, match="not int"):
        ns.parallel([3])


def test_pipeline(ns, session):
    assert ns.pipeline([1, 2, 3], lambda n: n + 1, str) == ["2", "3", "4"]
    assert session.last() == {"op": "pipeline", "count": 3, "stages": 2}
    assert ns.pipeline([1]) == [1]
    with pytest.raises(TypeError):
        ns.pipeline([1], 5)


def test_log_and_phase(ns, session):
    assert ns.log(5) is None
    assert session.last() == {"op": "log", "message": "5"}
    ns.phase("load")
    assert session.last() == {"op": "phase", "title": "load"}


def test_display(ns, session):
    ns.display({"a": 1}, [1, (2,)])
    assert session.shown == [
        ({"application/json": {"a": 1}, "text/plain": "{'a': 1}"}, {}, {}),
        ({"application/json": [1, (2,)], "text/plain": "[1, (2,)]"}, {}, {}),
    ]
    del session.shown[:]
    ns.display(5, {"a": object}, [float("nan")])
    assert len(session.shown) == 3
    assert all("application/json" not in shown[0] for shown in session.shown)
    assert session.shown[0][0]["text/plain"] == "5"
    del session.shown[:]
    ns.display({"text/html": "<b>"}, raw=True)
    assert session.shown[0][0]["text/html"] == "<b>"


class Index:
    def __init__(self, contents):
        self.contents = contents

    def read(self, wanted):
        return self.contents.get(wanted)

    def ids(self):
        return list(self.contents)


@pytest.fixture
def index(session):
    data = {"files": [{"name": "x"}, {"name": "y"}], "odd key": 1}
    session.artifacts = Index(
        {"a": b"1\n2\n3\n4\n", "j": json.dumps(data).encode(), "c": b"\x1b[31mred\x1b[0m\xff"}
    )
    return session.artifacts


def test_output(ns, session, index):
    assert ns.output("a") == "1\n2\n3\n4\n"
    assert session.last() == {"op": "output", "id": "a", "chars": 8}
    assert ns.output("a", offset=2, limit=2) == "2\n3"
    assert ns.output("a", limit=1) == "1"
    assert ns.output("c", format="stripped") == "red\ufffd"
    assert ns.output("a", format="json", offset=3) == {
        "id": "a", "line_count": 2, "char_count": 3, "content": "3\n4",
        "range": {"start_line": 3, "end_line": 4, "total_lines": 4},
    }  # fmt: skip
    assert ns.output("a", "c")[0] == {"id": "a", "content": "1\n2\n3\n4\n"}
    assert session.last() == {"op": "output", "count": 2, "total_chars": 8 + 13}


@pytest.mark.parametrize(
    "query, want",
    [
        (".files[1].name", "y"),
        ("files[-1].name", "y"),
        ('.["odd key"]', 1),
        ('["files"][0]["name"]', "x"),
        (".files[9].name", None),
        (".none.deeper", None),
        (".files.name", None),
    ],
)
def test_output_query(ns, index, query, want):
    assert json.loads(ns.output("j", query=query)) == want


def test_output_errors(ns, session, index):
    cases = [
        (ValueError, "at least one", (), {}),
        (ValueError, "cannot be combined", ("a",), {"query": ".x", "limit": 1}),
        (ValueError, "offset 9 is past the end of output a \\(4 lines\\)", ("a",), {"offset": 9}),
        (ValueError, "output a is not JSON", ("a",), {"query": ".x"}),
        (ValueError, "not understood at", ("j",), {"query": ".files[x]"}),
        (ValueError, "'raw', 'json', 'stripped'", ("a",), {"format": "xml"}),
        (FileNotFoundError, "not found: zz, yy\n\nAvailable outputs: a, c, j$",
         ("zz", "a", "yy"), {}),
    ]  # fmt: skip
    for kind, text, ids, options in cases:
        with pytest.raises(kind, match=text):
            ns.output(*ids, **options)
        assert session.last()["op"] == "output" and session.last()["error"]
    index.contents = {"id%02d" % n: b"" for n in range(25)}
    with pytest.raises(FileNotFoundError, match=r"id19 \(and 5 more\)"):
        ns.output("x")
    assert session.last()["not_found"] == ["x"] and session.last()["available_count"] == 25


def test_output_from_a_directory(ns, session, tmp_path, monkeypatch):
    with pytest.raises(RuntimeError, match="no artifacts directory"):
        ns.output("a")
    monkeypatch.setenv("PI_ARTIFACTS_DIR", str(tmp_path / "none"))
    with pytest.raises(RuntimeError, match="none does not exist"):
        ns.output("a")
    monkeypatch.setenv("PI_ARTIFACTS_DIR", str(tmp_path))
    (tmp_path / "a.md").write_text("hello")
    assert ns.output("a") == "hello"
    (tmp_path / "d").mkdir()
    hostile = ("../" + tmp_path.name + "/a", "d/../a", "..", ".", "", "a\0", "d", "%2e%2e/a", "con")
    for bad in (*hostile, str(tmp_path / "a"), "a.md", "x" * 10240):
        with pytest.raises(FileNotFoundError, match="Available outputs: a$"):
            ns.output(bad)


def test_output_of_a_picture(ns, session, tmp_path, monkeypatch):
    monkeypatch.setenv("PI_ARTIFACTS_DIR", str(tmp_path))
    (tmp_path / "t.md").write_bytes(b"one\r\ntwo\n")
    (tmp_path / "t.json").write_text("{}")
    (tmp_path / "p.png").write_bytes(b"\x89PNG\r\n")
    (tmp_path / "s.svg").write_text("<svg/>")
    assert ns.output("artifact://t") == "one\r\ntwo\n"
    assert session.last() == {"op": "output", "id": "t", "chars": 9}
    assert ns.output("p") == b"\x89PNG\r\n" and type(ns.output("p")) is bytes
    assert ns.output("s") == "<svg/>"
    assert [entry["content"] for entry in ns.output("t", "artifact://p")] == [
        "one\r\ntwo\n",
        b"\x89PNG\r\n",
    ]
    for options in ({"limit": 1}, {"format": "json"}, {"query": ".a"}):
        with pytest.raises(ValueError, match="output p is a file p.png, not text"):
            ns.output("p", **options)
    with pytest.raises(FileNotFoundError, match="Available outputs: p, s, t$"):
        ns.output("x")


@pytest.fixture
def bridge(monkeypatch):
    seen = []

    class Handler(BaseHTTPRequestHandler):
        reply = (200, {"ok": True, "value": {"n": 1}})

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.append((self.path, self.headers["Authorization"], json.loads(body)))
            code, answer = Handler.reply
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(code)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("PI_TOOL_BRIDGE_URL", "http://127.0.0.1:%d/" % server.server_port)
    monkeypatch.setenv("PI_TOOL_BRIDGE_TOKEN", "secret")
    monkeypatch.setenv("PI_TOOL_BRIDGE_SESSION", "s1")
    # A proxy where nothing answers: the bridge must not use it.
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    yield Handler, seen
    server.shutdown()
    thread.join()
    server.server_close()


def test_tool(ns, session, bridge):
    handler, seen = bridge
    assert ns.tool.read_cell({"path": "x"}, index=2) == {"n": 1}
    body = {"session": "s1", "run": "run-1", "name": "read_cell",
            "args": {"path": "x", "index": 2}, "cwd": os.getcwd()}  # fmt: skip
    assert seen == [("/v1/tool", "Bearer secret", body)]
    assert session.last() == {"op": "tool", "name": "read_cell", "ok": True}
    ns.tool["odd-name"]()
    assert seen[-1][2]["args"] == {} and seen[-1][2]["name"] == "odd-name"
    assert repr(ns.tool) == "<tools of session s1>" and repr(ns.tool.x) == "<tool.x>"
    assert "secret" not in repr(ns.tool)


def test_tool_of_a_run_that_the_host_names(ns, bridge, monkeypatch, tmp_path):
    """B:X-41: the run is the host's, and relative paths start at the code's current directory."""
    handler, seen = bridge
    monkeypatch.setenv("PI_TOOL_BRIDGE_RUN", "r7")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    ns.tool.read_cell()
    assert seen[-1][2]["run"] == "r7"
    assert seen[-1][2]["cwd"] == os.path.realpath(tmp_path / "sub")
    (tmp_path / "sub").rmdir()
    ns.tool.read_cell()
    assert "cwd" not in seen[-1][2]


def test_tool_errors(ns, session, bridge):
    handler, seen = bridge
    with pytest.raises(TypeError, match="dict of arguments, not list"):
        ns.tool.x([1])
    assert seen == []
    with pytest.raises(AttributeError):
        ns.tool._private
    for reply, text in [
        ((200, {"ok": False, "error": "no such tool"}), "^no such tool$"),
        ((403, {"ok": False, "error": "bad token"}), "bad token"),
        ((200, {"ok": False}), "without a reason"),
        ((500, b"<html>"), "answered b'<html>' to tool.x"),
    ]:
        handler.reply = reply
        with pytest.raises(RuntimeError, match=text):
            ns.tool.x()
        assert session.last() == {"op": "tool", "name": "x", "ok": False}


def test_tool_without_a_bridge(ns, monkeypatch):
    for key in ("URL", "TOKEN", "SESSION"):
        monkeypatch.delenv("PI_TOOL_BRIDGE_" + key, raising=False)
    with pytest.raises(RuntimeError, match="^tool bridge is unavailable in this kernel$"):
        ns.tool.read({})
    with pytest.raises(TypeError):
        ns.tool.read("text")
    assert "unavailable" in repr(ns.tool)


def test_tool_when_the_bridge_is_gone(ns, monkeypatch):
    monkeypatch.setenv("PI_TOOL_BRIDGE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("PI_TOOL_BRIDGE_TOKEN", "secret")
    monkeypatch.setenv("PI_TOOL_BRIDGE_SESSION", "s1")
    with pytest.raises(RuntimeError, match="127.0.0.1:1 did not answer") as caught:
        ns.tool.read({})
    assert "secret" not in str(caught.value)
