"""A small session for the tests of magics, and tests that it keeps the contract.

It runs cells in this process and records the messages to a host. It must not grow features that the real
session lacks.
"""

import ast
import contextlib
import io
import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import inkcell_runner  # noqa: E402


class Collected:
    def __init__(self):
        self.out, self.err, self.outputs = io.StringIO(), io.StringIO(), []

    stdout = property(lambda self: self.out.getvalue())
    stderr = property(lambda self: self.err.getvalue())


class FakeSession:
    def __init__(self):
        self.namespace = {"__name__": "__main__", "__builtins__": __builtins__, "_dh": [os.getcwd()]}
        self.hidden = set(self.namespace) | {"get_ipython"}
        self.count = 0
        self.history = [""]
        self.outputs = {}
        self.displays = []
        self.results = []
        self.statuses = []
        self.capturing = []
        from inkcell_runner.shell import Shell

        self.shell = Shell(self)
        self.namespace["get_ipython"] = lambda: self.shell

    def display(self, data, metadata=None, *, display_id=None, update=False):
        where = self.capturing[-1].outputs if self.capturing else self.displays
        where.append((data, metadata or {}, display_id, update))

    def clear_output(self, wait=False):
        self.displays.clear()

    def flush(self):
        sys.stdout.flush()
        sys.stderr.flush()

    def status(self, op, **fields):
        self.statuses.append(dict(op=op, **fields))

    def set_cwd(self, path):
        os.chdir(path)

    def reset_namespace(self):
        for name in [name for name in self.namespace if name not in self.hidden]:
            del self.namespace[name]

    def eval(self, code):
        return eval(code, self.namespace)

    @contextlib.contextmanager
    def capture(self):
        collected = Collected()
        self.capturing.append(collected)
        try:
            with contextlib.redirect_stdout(collected.out), contextlib.redirect_stderr(collected.err):
                yield collected
        finally:
            self.capturing.pop()

    def show_figures(self):
        pass

    def run_source(self, code, *, filename=None):
        value = self._run(code, filename or "<source>")
        if value is not None:
            self.display({"text/plain": repr(value)})
        return value

    def _run(self, code, filename):
        tree = ast.parse(self.shell.transform_cell(code), filename)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, filename, "exec", 0, True), self.namespace)
        if last is None:
            return None
        return eval(compile(ast.Expression(last.value), filename, "eval", 0, True), self.namespace)

    def cell(self, code):
        """Runs a numbered cell as the real session does; returns its value."""
        self.count += 1
        self.history.append(code)
        self.shell.events.trigger("pre_run_cell", None)
        try:
            value = self._run(code, "<cell %d>" % self.count)
            if value is not None:
                self.outputs[self.count] = value
                self.results.append(value)
            return value
        finally:
            self.shell.events.trigger("post_run_cell", None)


@pytest.fixture
def session(monkeypatch, tmp_path):
    fake = FakeSession()
    monkeypatch.setattr(inkcell_runner, "current", lambda: fake, raising=False)
    monkeypatch.chdir(tmp_path)
    fake.namespace["_dh"] = [str(tmp_path)]
    return fake


def test_a_cell_gives_its_last_value(session):
    assert session.cell("x = 3\nx + 1") == 4
    assert session.outputs == {1: 4}


def test_output_can_be_captured(session):
    with session.capture() as collected:
        session.run_source("print('a')\n5")
    assert collected.stdout == "a\n"
    assert collected.outputs == [({"text/plain": "5"}, {}, None, False)]
