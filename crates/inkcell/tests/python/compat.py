"""The tools of the source documents (`--tools compat`): each of them, and their texts word for word."""

import json
from pathlib import Path

import anyio
import nbformat

import official
from official import connected, file, ok, refused, said, same, text

MARKDOWN = {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Sales"]}
CODE = {
    "cell_type": "code",
    "execution_count": 7,
    "id": "load",
    "metadata": {"tags": ["parameters"]},
    "outputs": [{"name": "stdout", "output_type": "stream", "text": ["20\n"]}],
    "source": ["total = 20\n", "print(total)"],
}
NOTEBOOK = {"cells": [MARKDOWN, CODE], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def put(name="nb.ipynb", content=None):
    """A notebook, or whatever else a file of that name may hold."""
    shown = content if isinstance(content, str) else json.dumps(content or NOTEBOOK, indent=1)
    Path(name).write_text(shown)
    return shown


def broken_notebooks():
    put("json.ipynb", "{nope")
    put("list.ipynb", "[]")
    put("nocells.ipynb", '{"metadata": {}}')
    put("number.ipynb", {**NOTEBOOK, "cells": [MARKDOWN, 5]})
    put("kind.ipynb", {**NOTEBOOK, "cells": [{**MARKDOWN, "cell_type": "heading"}]})


async def fails(session, tool, arguments, message):
    """One failure: its words, that they are behind `Error: ` for whoever looks for it, and no file changed."""
    files = {path: path.read_bytes() for path in Path().glob("*.ipynb")}
    answer = await refused(session, tool, arguments)
    same(text(answer).splitlines()[0], f"Error: {message}")
    assert files == {path: path.read_bytes() for path in Path().glob("*.ipynb")}, arguments
    return answer


async def notebook_by_index():
    """`notebook`: what it says when it worked, and its errors."""
    put()
    broken_notebooks()
    put("empty.ipynb", {**NOTEBOOK, "cells": []})
    async with connected("--tools", "compat") as session:

        def asked(action, path, index, content=None, **more):
            content = {} if content is None else {"content": content}
            return {"action": action, "notebook_path": path, "cell_index": index, **content, **more}

        worked = [
            (asked("edit", "nb.ipynb", 1, "total = 21\n"), "Replaced cell 1 (code)", 2, ["total = 21\n"]),
            (asked("insert", "nb.ipynb", 2, "a\nb"), "Inserted code cell at position 2", 3, ["a\n", "b"]),
            (
                asked("insert", "nb.ipynb", 0, "", cell_type="markdown"),
                "Inserted markdown cell at position 0",
                4,
                [],
            ),
            (asked("delete", "nb.ipynb", 1), "Deleted cell 1 (markdown)", 3, ["# Sales"]),
        ]
        for arguments, said_first, total, source in worked:
            answer = await ok(session, "notebook", arguments)
            same(text(answer), f"{said_first}. Notebook now has {total} cells.")
            details = answer.structured_content
            assert details["action"] == arguments["action"], details
            assert details["cellIndex"] == arguments["cell_index"], details
            assert details["totalCells"] == total and details["cellSource"] == source, details
            assert details["cellType"] in said_first, details
        after = nbformat.read("nb.ipynb", as_version=4)
        nbformat.validate(after)
        # An edit replaces the source alone.
        edited = after.cells[1]
        assert edited.id == "load" and edited.outputs and edited.execution_count == 7, edited

        nb = "nb.ipynb"
        table = [
            (asked("edit", "no.ipynb", 0, "x"), "Notebook not found: no.ipynb"),
            (asked("edit", "json.ipynb", 0, "x"), "Invalid JSON in notebook: json.ipynb"),
            (
                asked("edit", "nocells.ipynb", 0, "x"),
                "Invalid notebook structure (missing cells array): nocells.ipynb",
            ),
            (asked("insert", nb, 4, "x"), "Cell index 4 out of range for insert (0-3) in nb.ipynb"),
            (asked("insert", nb, -1, "x"), "Cell index -1 out of range for insert (0-3) in nb.ipynb"),
            (asked("edit", nb, 3, "x"), "Cell index 3 out of range (0-2) in nb.ipynb"),
            (asked("delete", nb, -1), "Cell index -1 out of range (0-2) in nb.ipynb"),
            (asked("edit", nb, 1.5, "x"), "Cell index 1.5 out of range (0-2) in nb.ipynb"),
            (asked("edit", nb, 0), "Content is required for edit action"),
            (asked("insert", nb, 0), "Content is required for insert action"),
            (asked("dance", nb, 0, "x"), "Invalid action: dance"),
            # The order of the checks: the index before the content, the content before the action.
            (asked("edit", nb, 3), "Cell index 3 out of range (0-2) in nb.ipynb"),
            (asked("dance", nb, 9, "x"), "Cell index 9 out of range (0-2) in nb.ipynb"),
        ]
        for arguments, message in table:
            answer = await fails(session, "notebook", arguments, message)
            same(answer.structured_content["message"], message)
        # The path is said as it was given.
        here = f"{Path.cwd()}/no.ipynb"
        await fails(session, "notebook", asked("edit", here, 0, "x"), f"Notebook not found: {here}")
        empty = await refused(session, "notebook", asked("edit", "empty.ipynb", 0, "x"))
        assert "the notebook has no cells" in text(empty), text(empty)


async def notebook_by_id():
    """`NotebookEdit`: what it says when it worked, and its errors."""
    put()
    broken_notebooks()
    async with connected("--tools", "compat") as session:

        def asked(path="nb.ipynb", **arguments):
            return {"notebook_path": path, **arguments}

        updated = await ok(session, "NotebookEdit", asked(cell_id="load", new_source="total = 21"))
        same(text(updated), "✓ Cell updated\n  Notebook: nb.ipynb\n  Cell: load (index 1)\n  Type: code")
        same(updated.structured_content, {"success": True, "cell_id": "load", "cell_index": 1})
        cell = nbformat.read("nb.ipynb", as_version=4).cells[1]
        assert cell.outputs == [] and cell.execution_count is None, cell
        assert cell.metadata == {"tags": ["parameters"]}, cell

        insert = asked(cell_id="load", new_source="a", cell_type="raw", edit_mode="insert")
        inserted = await ok(session, "NotebookEdit", insert)
        new = inserted.structured_content["cell_id"]
        assert len(new) == 8 and all(letter in "0123456789abcdef" for letter in new), new
        same(
            text(inserted),
            f"✓ Cell inserted\n  Notebook: nb.ipynb\n  New cell: {new} (index 2)\n  Type: raw\n"
            "  Inserted after: load",
        )
        first = await ok(session, "NotebookEdit", asked(new_source="b", cell_type="code", edit_mode="insert"))
        assert first.structured_content["cell_index"] == 0, first
        deleted = await ok(session, "NotebookEdit", asked(cell_id=new, edit_mode="delete"))
        same(text(deleted), f"✓ Cell deleted\n  Notebook: nb.ipynb\n  Removed: {new} (was at index 3)")
        # A number is a position when no cell has it for its id.
        await ok(session, "NotebookEdit", asked(cell_id="0", new_source="c"))
        nbformat.validate(nbformat.read("nb.ipynb", as_version=4))

        table = [
            (asked("no.ipynb", cell_id="load", new_source="x"), "Notebook not found"),
            (asked("json.ipynb", cell_id="load", new_source="x"), "Invalid notebook format"),
            (asked("nocells.ipynb", cell_id="load", new_source="x"), "Invalid notebook format"),
            (asked(cell_id="load", new_source="x", edit_mode="dance"), "Invalid edit mode"),
            (asked(cell_id="nowhere", new_source="x"), "Cell not found: nowhere"),
            (asked(cell_id="1abc", new_source="x"), "Cell not found: 1abc"),
            (asked(cell_id="99", new_source="x"), "Cell not found: 99"),
            (asked(new_source="x", edit_mode="insert"), "cell_type required for insert"),
            (
                asked(cell_id="nowhere", new_source="x", cell_type="code", edit_mode="insert"),
                "Reference cell not found: nowhere",
            ),
            (asked(edit_mode="delete"), "cell_id required for delete"),
            (asked(cell_id="nowhere", edit_mode="delete"), "Cell not found: nowhere"),
            (asked(new_source="x"), "cell_id required for replace"),
        ]
        for arguments, message in table:
            answer = await fails(session, "NotebookEdit", arguments, message)
            assert answer.structured_content["success"] is False, answer
            same(answer.structured_content["error"], message)


async def notebooks_as_text():
    """`read`, `edit` and `write` on notebooks and plain files."""
    stored = put()
    broken_notebooks()
    async with connected("--tools", "compat") as session:
        shown = "# %% [markdown] cell:0\n# Sales\n# %% [code] cell:1\ntotal = 20\nprint(total)"
        same(await said(session, "read", {"path": "nb.ipynb"}), shown)
        same(await said(session, "read", {"path": "nb.ipynb:raw"}), stored)
        same((await said(session, "read", {"path": "nb.ipynb:4-5"})).strip(), "total = 20\nprint(total)")

        invalid = (
            "Invalid notebook editable representation for nb.ipynb: expected first line to be "
            '"# %% [code] cell:0", "# %% [markdown] cell:0", or "# %% [raw] cell:0".'
        )
        for content in ["hello", "\n# %% [code] cell:0\nx", "# %% code\nx", "#%% [code]\nx"]:
            await fails(session, "write", {"path": "nb.ipynb", "content": content}, invalid)
        first = {"path": "nb.ipynb", "old_text": "# %% [markdown] cell:0", "new_text": "hello"}
        await fails(session, "edit", first, invalid)

        table = [
            ("json.ipynb", "Invalid JSON in notebook: json.ipynb"),
            ("list.ipynb", "Invalid notebook structure (expected object): list.ipynb"),
            ("nocells.ipynb", "Invalid notebook structure (missing cells array): nocells.ipynb"),
            ("number.ipynb", "Invalid notebook cell 1 in number.ipynb"),
            ("kind.ipynb", "Invalid notebook cell 0 in kind.ipynb"),
        ]
        for path, message in table:
            await fails(session, "read", {"path": path}, message)
            edit = {"path": path, "old_text": "a", "new_text": "b"}
            await fails(session, "edit", edit, message)
            await fails(session, "write", {"path": path, "content": "# %% [code]\nx"}, message)
        await fails(session, "read", {"path": "no.ipynb"}, "File not found: no.ipynb")

        selectors = [
            ("0", "Line selector 0 is invalid; lines are 1-indexed. Use :1."),
            ("0-3", "Line selector 0 is invalid; lines are 1-indexed. Use :1."),
            ("5-2", "Invalid range 5-2: end must be >= start."),
            ("3+0", "Invalid range 3+0: count must be >= 1."),
        ]
        for selector, message in selectors:
            for path in ["nb.ipynb", "a.txt"]:
                Path("a.txt").write_text("a\nb\n")
                await fails(session, "read", {"path": f"{path}:{selector}"}, message)
        # What is no selector is part of the name.
        Path("a.txt:x").write_text("odd")
        same(await said(session, "read", {"path": "a.txt:x"}), "odd")

        # A missing notebook begins with nothing, a plain file is what is written.
        await ok(session, "write", {"path": "new.ipynb", "content": "# %% [raw]\nhello\n# %% [code]\n1"})
        made = nbformat.read("new.ipynb", as_version=4)
        nbformat.validate(made)
        assert [cell.cell_type for cell in made.cells] == ["raw", "code"], made
        await ok(session, "write", {"path": "b.txt", "content": "one\ntwo\n"})
        await ok(session, "edit", {"path": "b.txt", "old_text": "two", "new_text": "three"})
        assert Path("b.txt").read_text() == "one\nthree\n"
        # An edit that spans a marker.
        span = {"path": "new.ipynb", "old_text": "hello\n# %% [code] cell:1\n1", "new_text": "2"}
        await ok(session, "edit", span)
        same(await said(session, "read", {"path": "new.ipynb"}), "# %% [raw] cell:0\n2")


async def running():
    """`python`, `eval` and `bash`: their texts, failures and times."""
    async with connected("--tools", "compat") as session:

        def cells(*code):
            return {"cells": [{"code": each} for each in code]}

        async def evaluated(*code, **more):
            asked = {"cells": [{"language": "py", "code": each, **more} for each in code]}
            return text(await session.call_tool("eval", asked))

        same(await said(session, "python", {"code": "print('a\\n')"}), "a")
        same(await said(session, "python", {"code": "x = 1"}), "(no output)")
        steps = {"cells": [{"title": "one", "code": "print('a')"}, {"code": "y = 2"}, {"code": "x + y"}]}
        same(await said(session, "python", steps), "[1/3] one\na\n\n[2/3] (ok)\n\n[3/3]\n3")
        # Both tools speak to the same session.
        same(await evaluated("x + y"), "3")

        failed = text(await refused(session, "python", cells("print('a')", "1/0", "z = 1")))
        assert failed.startswith("[1/3]\na\n\n[2/3]\n"), failed
        assert "ZeroDivisionError: division by zero" in failed and "[3/3]" not in failed, failed
        last = (
            "\n\nCell 2 failed (exit code 1). Earlier cells succeeded—their state persists. "
            "Fix only cell 2."
        )
        assert failed.endswith(last), failed
        for once in (text(await refused(session, "python", {"code": "1/0"})), await evaluated("1/0")):
            assert once.endswith("ZeroDivisionError: division by zero\n\nCommand exited with code 1"), once
        assert (await evaluated("print('a')", "1/0")).endswith(last)
        assert "NameError" in await evaluated("z")

        # Out of time: the sentence, what was printed before, and what became of the kernel.
        slow = "import time\nprint('before', flush=True)\ntime.sleep(60)"
        sentence = "Command timed out after 1 seconds"
        late = await refused(session, "python", {"code": slow, "timeout": 1})
        assert sentence in text(late) and "before" in text(late), text(late)
        assert "Its variables are kept." in text(late), text(late)
        assert "exitCode" not in late.structured_content["cells"][0], late
        same(await said(session, "python", {"code": "x"}), "1")
        late = text(await refused(session, "python", cells("print('a')", slow, "3") | {"timeout": 1}))
        assert late.startswith("[1/3]\na\n\n[2/3]\n") and "before" in late, late
        assert f"\n\nCell 2 aborted: {sentence}" in late, late
        # 1.4 s are 1 second in words, and a tenth is no less than one.
        assert sentence in await evaluated(slow, timeout=1.4)
        deaf = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + slow
        late = text(await refused(session, "python", {"code": deaf, "timeout": 1}))
        assert sentence in late and "ignored the interrupt" in late, late
        gone = text(await refused(session, "python", {"code": "x"}))
        assert "NameError" in gone and "the kernel is new" in gone, gone

        same(await said(session, "bash", {"command": "echo hello"}), "hello")
        same(await said(session, "bash", {"command": "true"}), "(no output)")
        bad = await refused(session, "bash", {"command": "echo hello; exit 3"})
        same(text(bad), "hello\n\nCommand exited with code 3")
        assert bad.structured_content["exitCode"] == 3, bad
        late = text(await refused(session, "bash", {"command": "echo hello; sleep 60", "timeout": 1}))
        assert sentence in late and "hello" in late, late

        long = await ok(session, "python", {"code": "for n in range(20_000): print('line', n)"})
        assert "line 0\n" not in text(long) and "line 19999" in text(long), text(long)[:200]
        notice = text(long).splitlines()[-1]
        start = "[Showing lines "
        assert notice.startswith(start) and notice.endswith(" for full output]"), notice
        uri = "artifact://" + official.word_after(notice, "Read artifact://")
        same((await said(session, "read", {"path": f"{uri}:1-2"})).split("\n")[:2], ["line 0", "line 1"])


async def taken_away():
    """A call whose kernel somebody else takes away is aborted, in the words for it; so is one that waits."""
    async with connected("--tools", "all") as session:

        async def aborted(tool, arguments, begun, progress=None):
            """The answer to a call whose kernel is restarted as soon as it has begun."""
            answers = []

            async def call():
                answers.append(await session.call_tool(tool, arguments, progress_callback=progress))

            async with anyio.create_task_group() as group:
                group.start_soon(call)
                await begun()
                await ok(session, "kernel", {"action": "restart"})
            assert answers[0].is_error, answers
            return text(answers[0])

        shown = anyio.Event()

        async def note(_done, _total, message):
            if message and "half" in message:
                shown.set()

        waits = "import time\nprint('half', flush=True)\ntime.sleep(60)"
        several = {"cells": [{"code": "print('a')"}, {"code": waits}, {"code": "3"}]}
        wanted = "[1/3]\na\n\n[2/3]\nhalf\n\nCell 2 aborted: Command aborted"
        same(await aborted("python", several, shown.wait, note), wanted)
        silent = "import time\nopen('begun', 'w').write('x')\ntime.sleep(60)"
        one = {"cells": [{"language": "py", "code": silent}]}
        same(await aborted("eval", one, lambda: file("begun")), "Command aborted")


async def read_eval_write():
    """The workflow of the source documents: read the notebook, try its code, write what was learnt back."""
    put()
    async with connected("--tools", "compat") as session:
        shown = await said(session, "read", {"path": "nb.ipynb"})
        source = shown.split("# %% [code] cell:1\n", 1)[1]
        asked = {"cells": [{"language": "py", "code": source}, {"language": "py", "code": "total * 2"}]}
        tried = await said(session, "eval", asked)
        same(tried, "[1/2]\n20\n\n[2/2]\n40")
        content = shown.replace("# Sales", f"# Sales\n\nTwice the total is {tried.split()[-1]}.")
        content += "\n# %% [code]\ntotal * 2"
        await ok(session, "write", {"path": "nb.ipynb", "content": content})
        after = nbformat.read("nb.ipynb", as_version=4)
        nbformat.validate(after)
        assert [cell.id for cell in after.cells[:2]] == ["intro", "load"], after
        assert after.cells[0].source == "# Sales\n\nTwice the total is 40.", after
        # The cell that was not touched is the same to the byte, outputs and all.
        untouched = json.dumps(CODE, indent=1).replace("\n", "\n  ")
        assert untouched in Path("nb.ipynb").read_text(), Path("nb.ipynb").read_text()
        assert after.cells[2].source == "total * 2" and after.cells[2].outputs == [], after


if __name__ == "__main__":
    official.main(globals())
