"""Requests that are sent together: they must be carried out in the order in which they were sent.

Every burst is made at random from a seed, with a model beside it that does the same things one after the other. Each
tool that runs code or changes a file takes part.
"""

import json
import os
import random
from pathlib import Path

import anyio

import official
import over_http
from official import connected, ok, said

#: A sample of them in an ordinary run, all with `cargo xtask test --all`.
BURSTS = 200 if "INKCELL_TEST_ALL" in os.environ else 60
FOLDER = Path("bursts")


class Model:
    """The expected state, if everything is done in order."""

    def __init__(self):
        FOLDER.mkdir()
        #: The numbers that each session has seen.
        self.seen = {"": [], "a": [], "b": [], "run.ipynb": []}
        #: The sources of the cells of each notebook.
        self.cells = {"one.ipynb": ["0"], "two.ipynb": ["0"]}
        self.anchor = "0"
        self.text = "0"
        self.written = "0"
        self.number = 0
        for name, sources in self.cells.items():
            put(name, sources)
        put("by_id.ipynb", ["0"])
        put("run.ipynb", ["0"])
        Path(FOLDER / "text.txt").write_text("0\n")
        Path(FOLDER / "written.txt").write_text("0\n")

    def request(self, dice):
        """The next request; updates the expected state."""
        self.number += 1
        number = str(self.number)
        kind = dice.choice([self.python, self.python, self.eval, self.insert, self.at_index, self.by_id])
        kind = dice.choice([kind, kind, self.edit, self.write, self.reset])
        return kind(dice, number)

    def python(self, dice, number):
        name = dice.choice(list(self.seen))
        self.seen[name].append(int(number))
        code = f"seen = globals().get('seen', []) + [{number}]"
        session = {"session": str(FOLDER / name) if name.endswith(".ipynb") else name} if name else {}
        return "python", {"code": code, **session}

    def eval(self, dice, number):
        self.seen[""].append(int(number))
        code = f"seen = globals().get('seen', []) + [{number}]"
        return "eval", {"cells": [{"language": "py", "code": code}]}

    def reset(self, dice, number):
        self.seen["a"] = [int(number)]
        return "python", {"code": f"seen = [{number}]", "session": "a", "reset": True}

    def insert(self, dice, number):
        name = dice.choice(list(self.cells))
        self.cells[name].append(number)
        return "notebook_edit", {"path": str(FOLDER / name), "op": "insert", "at": "end", "source": number}

    def at_index(self, dice, number):
        name = dice.choice(list(self.cells))
        cells = self.cells[name]
        path = str(FOLDER.absolute() / name)
        action = dice.choice(["edit", "insert", "delete"] if len(cells) > 1 else ["edit", "insert"])
        index = dice.randrange(len(cells))
        arguments = {"action": action, "notebook_path": path, "cell_index": index}
        if action == "delete":
            del cells[index]
            return "notebook", arguments
        if action == "edit":
            cells[index] = number
        else:
            cells.insert(index, number)
        return "notebook", {**arguments, "content": number}

    def by_id(self, dice, number):
        self.anchor = number
        arguments = {"notebook_path": str(FOLDER.absolute() / "by_id.ipynb"), "cell_id": "cell0", "new_source": number}
        return "NotebookEdit", arguments

    def edit(self, dice, number):
        before, self.text = self.text, number
        return "edit", {"path": str(FOLDER / "text.txt"), "old_text": before, "new_text": number}

    def write(self, dice, number):
        self.written = number
        return "write", {"path": str(FOLDER / "written.txt"), "content": number + "\n"}

    def run(self, dice):
        """Runs what an edit that was sent just before has put there, in a session that remembers."""
        self.number += 1
        self.seen["run.ipynb"].append(self.number)
        path = str(FOLDER / "run.ipynb")
        source = f"seen = globals().get('seen', []) + [{self.number}]"
        edit = {"path": path, "cell": 0, "source": source}
        # Sent behind the run, which must not see it.
        late = ("notebook_edit", {"path": path, "cell": 0, "source": "raise ValueError('sent later')"})
        if dice.random() < 0.5:
            return [("notebook_edit", {**edit, "run": "changed"}), late]
        return [("notebook_edit", edit), ("notebook_run", {"path": path}), late]

    async def check(self, session):
        for name, wanted in self.cells.items():
            assert sources(name) == wanted, f"{name}: {sources(name)}, not {wanted}"
        assert sources("by_id.ipynb") == [self.anchor]
        assert Path(FOLDER / "text.txt").read_text() == self.text + "\n"
        assert Path(FOLDER / "written.txt").read_text() == self.written + "\n"
        for name, wanted in self.seen.items():
            if not wanted:
                continue
            where = {"session": str(FOLDER / name) if name.endswith(".ipynb") else name} if name else {}
            got = json.loads(await said(session, "python", {"code": "seen", **where}))
            assert got == wanted, f"session {name!r}: {got}, not {wanted}"


def put(name, sources):
    cells = [
        {"cell_type": "code", "id": f"cell{at}", "metadata": {}, "outputs": [], "execution_count": None, "source": source}
        for at, source in enumerate(sources)
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    Path(FOLDER / name).write_text(json.dumps(notebook))


def sources(name):
    cells = json.loads(Path(FOLDER / name).read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells]


async def bursts(session):
    dice, model = random.Random(21), Model()
    for number in range(BURSTS):
        requests = [model.request(dice) for _ in range(dice.randrange(1, 6))]
        if number % 4 == 0:
            requests += model.run(dice)
        requests += [model.request(dice) for _ in range(dice.randrange(1, 6))]
        async with anyio.create_task_group() as group:
            for tool, arguments in requests:
                group.start_soon(ok, session, tool, arguments)
        if number % 5 != 4:
            continue
        try:
            await model.check(session)
        except AssertionError as wrong:
            raise AssertionError(f"burst {number}: {wrong}\n{requests}") from wrong


async def over_stdio():
    async with connected("--tools", "all") as session:
        await bursts(session)


async def over_http_too():
    with over_http.serving("--tools", "all") as url:
        async with over_http.client(url, over_http.ANNA) as session:
            await bursts(session)


async def side_by_side():
    """A session, and a file, that is busy holds up no other."""
    async with connected() as session:
        async with anyio.create_task_group() as group:
            group.start_soon(ok, session, "python", {"code": WAITS, "session": "one", "wait": 90, "timeout": 90})
            await official.file("begun")
            # In the same session it waits; elsewhere it does not.
            group.start_soon(ok, session, "python", {"code": "late = 1", "session": "one", "wait": 90, "timeout": 90})
            put_at_root = {"path": "new.ipynb", "create": True, "op": "insert", "at": "end", "source": "1"}
            await ok(session, "notebook_edit", put_at_root)
            await ok(session, "python", {"code": "open('go', 'w').close()", "session": "other"})
        assert await said(session, "python", {"code": "late", "session": "one"}) == "1"


WAITS = """
import os, time
open('begun', 'w').write('yes')
while not os.path.exists('go'):
    time.sleep(0.01)
"""


if __name__ == "__main__":
    official.main({"over_stdio": over_stdio, "over_http": over_http_too, "side_by_side": side_by_side})
