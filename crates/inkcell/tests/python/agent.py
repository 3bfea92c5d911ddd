"""What an agent does with the tools of the default profile, in the order it would do it."""

import base64
import io
import json
from pathlib import Path

import anyio
import jsonschema
import nbformat
from PIL import Image

import official
from official import connected, file, ok, refused, said, text, word_after

NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Sales"]},
        {
            "cell_type": "code",
            "execution_count": 7,
            "id": "load",
            "metadata": {"tags": ["parameters"]},
            "outputs": [{"name": "stdout", "output_type": "stream", "text": ["twenty\n"]}],
            "source": ["total = 20\n", "print('twenty')"],
        },
    ],
    "metadata": {"ours": {"n": 1.0}},
    "nbformat": 4,
    "nbformat_minor": 5,
}

# What a picture may take on its way, before base64, unless the settings say otherwise.
PICTURE_BYTES = 256 * 1024


async def whole_session(revision):
    """Everything in one connection, with a server of its own."""
    async with connected(revision=revision) as session:
        await everything(session)


async def everything(session):
    """One thing after the other; a later one may use what an earlier one left."""
    Path("sales.ipynb").write_text(json.dumps(NOTEBOOK, indent=3) + "\n")
    await introduces_itself(session)
    await reads_and_edits(session)
    await runs(session)
    await edits_and_runs(session)
    await shows_a_picture(session)
    await waits_and_asks_again(session)
    await takes_back_one_call(session)
    await fetches_the_rest(session)
    await offers_prompts(session)
    await starts_again(session)


async def introduces_itself(session):
    assert session.server_info.name == "inkcell", session.server_info
    tools = (await session.list_tools()).tools
    for tool in tools:
        assert tool.name in session.instructions or tool.name == "kernel", tool.name
        assert tool.description, tool.name


async def reads_and_edits(session):
    nb = "sales.ipynb"
    outline = await said(session, "notebook_read", {"path": nb, "view": "outline"})
    assert "intro" in outline and "load" in outline, outline
    version = word_after(outline, "version ")
    op = {"op": "insert", "after": "load", "type": "code", "source": "total * 2"}
    await ok(session, "notebook_edit", {"path": nb, "ops": [op], "if_hash": version})
    # Somebody else changes a cell between this reading and the next edit of the same cell.
    stale = word_after(await said(session, "notebook_read", {"path": nb}), "version ")
    other = {"path": nb, "op": "sub", "cell": "load", "old": "twenty", "new": "somebody else"}
    await ok(session, "notebook_edit", other)
    before = Path(nb).read_bytes()
    mine = {"path": nb, "op": "replace", "cell": "load", "source": "total = 21", "if_hash": stale}
    conflict = await refused(session, "notebook_edit", mine)
    assert "load" in text(conflict) and "Next:" in text(conflict), text(conflict)
    assert Path(nb).read_bytes() == before
    # An edit of another cell goes through with the same old version.
    intro = {"path": nb, "op": "replace", "cell": "intro", "source": "# Profit", "if_hash": stale}
    await ok(session, "notebook_edit", intro)
    fresh = word_after(await said(session, "notebook_read", {"path": nb}), "version ")
    await ok(session, "notebook_edit", mine | {"if_hash": fresh})
    written = Path(nb).read_text()
    notebook = nbformat.reads(written, as_version=4)
    nbformat.validate(notebook)
    sources = [cell.source for cell in notebook.cells]
    assert sources == ["# Profit", "total = 21", "total * 2"], sources
    assert notebook.cells[1].metadata == {"tags": ["parameters"]}
    # What nobody edited has its bytes: the layout of the file, and a number that is not 1.
    assert '\n   "metadata": {\n      "ours": {\n         "n": 1.0\n' in written, written
    # One operation of two is wrong: nothing is done.
    before = Path(nb).read_bytes()
    ops = [{"op": "delete", "cell": "intro"}, {"op": "delete", "cell": "nowhere"}]
    wrong = await refused(session, "notebook_edit", {"path": nb, "ops": ops})
    assert "nowhere" in text(wrong), text(wrong)
    assert Path(nb).read_bytes() == before


async def runs(session):
    before = Path("sales.ipynb").read_bytes()
    await ok(session, "python", {"path": "sales.ipynb", "cell": "load"})
    assert await said(session, "python", {"code": "total * 2"}) == "42"
    assert Path("sales.ipynb").read_bytes() == before
    names = await said(session, "inspect", {})
    assert "total" in names, names
    failed = await refused(session, "python", {"code": "total / 0"})
    assert "ZeroDivisionError: division by zero" in text(failed), text(failed)
    facts = failed.meta["details"]["cells"][0]
    assert (facts["ename"], facts["evalue"]) == ("ZeroDivisionError", "division by zero"), facts


async def edits_and_runs(session):
    """A notebook is changed and its cells run in a live kernel, in one call; the outputs are in the file."""
    nb = "runs.ipynb"
    Path(nb).write_text(json.dumps(NOTEBOOK, indent=3) + "\n")
    op = {"op": "insert", "after": "load", "source": "print(total * 2)\ntotal"}
    call = {"path": nb, "ops": [op], "run": "changed-and-below"}
    failed = await refused(session, "notebook_edit", call)
    assert "cell 2 needs total of cell 1" in text(failed) and "Cell inserted" in text(failed), text(failed)
    ran = await said(session, "notebook_run", {"path": nb, "fresh": True})
    assert "40" in ran and "2 of 2 cells ran" in ran, ran
    notebook = nbformat.read(nb, as_version=4)
    nbformat.validate(notebook)
    outputs = notebook.cells[2].outputs
    assert outputs[0].text == "40\n" and outputs[1].data["text/plain"] == "20", outputs
    assert notebook.cells[2].execution_count == 2
    assert '\n      "ours": {\n         "n": 1.0\n' in Path(nb).read_text()
    assert "total: int" in await said(session, "inspect", {"path": nb, "name": "total"})
    outline = await said(session, "notebook_read", {"path": nb, "view": "outline"})
    assert "fresh " in outline and "[2]" in outline, outline


async def shows_a_picture(session):
    code = (
        "import matplotlib.pyplot as plt, numpy as np\n"
        "fig = plt.figure(figsize=(5, 4), dpi=120)\n"
        "plt.imshow(np.random.default_rng(1).random((480, 600, 3)))\n"
        "plt.show()"
    )
    answer = await ok(session, "python", {"code": code, "timeout": 90, "wait": 90})
    pictures = [block for block in answer.content if block.type == "image"]
    assert len(pictures) == 1, answer
    data = base64.b64decode(pictures[0].data, validate=True)
    assert len(data) <= PICTURE_BYTES, len(data)
    picture = Image.open(io.BytesIO(data))
    assert picture.get_format_mimetype() == pictures[0].mime_type, picture.format
    picture.load()
    assert min(picture.size) > 100, picture.size
    # Words beside it, all of it behind a link, and nothing structured for a client to show instead.
    words = text(answer)
    links = [str(block.uri) for block in answer.content if block.type == "resource_link"]
    assert "artifact://" + word_after(words, "artifact://") in links, answer
    assert answer.structured_content is None
    assert pictures[0].data[:40] not in words
    facts = answer.meta["details"]
    assert facts["cells"][0]["state"] == "ok" and facts["isError"] is False, facts
    # What the link leads to is the picture as Python made it.
    stored = (await session.read_resource(links[0])).contents[0]
    whole = Image.open(io.BytesIO(base64.b64decode(stored.blob)))
    whole.load()
    assert stored.mime_type == "image/png" and whole.size >= picture.size, (whole, picture)
    assert len(base64.b64decode(stored.blob)) > PICTURE_BYTES, "a picture that did not need shrinking"
    small = "fig, ax = plt.subplots(figsize=(3, 2)); ax.plot([1, 3, 2]); fig"
    answer = await ok(session, "python", {"code": small})
    picture = next(block for block in answer.content if block.type == "image")
    assert picture.mime_type == "image/png", picture.mime_type
    Image.open(io.BytesIO(base64.b64decode(picture.data))).verify()


async def waits_and_asks_again(session):
    notes = []

    async def note(done, total, message):
        notes.append((done, total, message or ""))

    code = (
        "import os, time\nprint('begun', flush=True)\n"
        "while not os.path.exists('gate'): time.sleep(0.02)\nprint('over')"
    )
    answer = await ok(session, "python", {"code": code, "wait": 1}, progress_callback=note)
    assert "begun" in text(answer) and "over" not in text(answer), text(answer)
    assert any("begun" in message for _, _, message in notes), notes
    counts = [done for done, _, _ in notes]
    assert counts == sorted(set(counts)), counts
    execution = word_after(text(answer), "execution ")
    still = await said(session, "result", {"id": execution, "wait": 0.1})
    assert "still running" in still, still
    Path("gate").write_text("open")
    ended = await said(session, "result", {"id": execution, "wait": 60})
    assert "begun" in ended and "over" in ended and "still running" not in ended, ended
    # It can be asked for again after its end.
    assert await said(session, "result", {"id": execution}) == ended


async def takes_back_one_call(session):
    await ok(session, "python", {"code": "kept = 'still here'"})
    waiting = (
        "import time\ntry:\n    open('endless', 'w').write('x')\n    while True: time.sleep(0.02)\n"
        "except KeyboardInterrupt:\n    open('struck', 'w').write('x')\n    raise"
    )
    patient = (
        "import os, time\nopen('patient', 'w').write('x')\n"
        "while not os.path.exists('struck'): time.sleep(0.02)\n'untouched'"
    )
    other = []

    async def beside():
        arguments = {"code": patient, "session": "beside", "timeout": 90, "wait": 90}
        other.append(await said(session, "python", arguments))

    async with anyio.create_task_group() as group:
        group.start_soon(beside)
        await file("patient")
        with anyio.CancelScope() as scope:

            async def when_it_runs():
                await file("endless")
                scope.cancel()

            group.start_soon(when_it_runs)
            await session.call_tool("python", {"code": waiting, "timeout": 90, "wait": 90})
        assert scope.cancelled_caught
    await file("struck")
    assert other == ["'untouched'"], other
    assert await said(session, "python", {"code": "kept"}) == "'still here'"


async def fetches_the_rest(session):
    code = "for n in range(60_000): print('line', n)"
    long = await ok(session, "python", {"code": code, "timeout": 90, "wait": 90})
    assert len(text(long)) < 70_000, len(text(long))
    uri = "artifact://" + word_after(text(long), "artifact://")
    part = await said(session, "result", {"id": uri, "lines": "50000-50001"})
    assert "line 49999\nline 50000" in part and "line 50001" not in part, part
    found = await said(session, "result", {"id": uri, "grep": "line 44444$"})
    assert "line 44444" in found and "line 44445" not in found, found
    templates = (await session.list_resource_templates()).resource_templates
    forms = [template.uri_template for template in templates]
    assert forms == ["artifact://{id}", "execution://{id}", "notebook:{+path}?cell={cell}"], forms
    cell = (await session.read_resource("notebook:sales.ipynb?cell=load")).contents[0]
    assert "total = 21" in cell.text and cell.mime_type == "text/plain", cell
    listed = {str(resource.uri): resource for resource in (await session.list_resources()).resources}
    assert uri in listed, listed
    assert listed[uri].mime_type == "text/plain" and listed[uri].size > 600_000, listed[uri]
    content = (await session.read_resource(uri)).contents[0]
    assert content.text.startswith("line 0\nline 1\n"), content.text[:100]
    assert uri in [str(block.uri) for block in long.content if block.type == "resource_link"]


async def offers_prompts(session):
    prompts = (await session.list_prompts()).prompts
    assert len(prompts) == 3, prompts
    for prompt in prompts:
        given = await session.get_prompt(prompt.name, {"path": "sales.ipynb"})
        assert "sales.ipynb" in given.messages[0].content.text, given


async def starts_again(session):
    assert await said(session, "python", {"code": "total"}) == "21"
    await ok(session, "kernel", {"action": "restart"})
    gone = await refused(session, "python", {"code": "total"})
    assert "NameError: name 'total' is not defined" in text(gone), text(gone)


async def twenty_at_once():
    """Each of 20 calls in four sessions gets its own answer, and a session its calls one at a time."""
    async with connected() as session:
        answers = {}

        async def one(number):
            code = (
                "runs = globals().get('runs', 0) + 1\nassert not globals().get('busy')\nbusy = True\n"
                f"import time; time.sleep(0.02)\nbusy = False\nprint('answer', {number})"
            )
            arguments = {"code": code, "session": f"s{number % 4}", "wait": 90, "timeout": 90}
            answers[number] = await said(session, "python", arguments)

        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(one, number)
        assert answers == {number: f"answer {number}" for number in range(20)}, answers
        for name in range(4):
            assert await said(session, "python", {"code": "runs", "session": f"s{name}"}) == "5"


async def offers(profile):
    """Schemas are schemas, hints tell the truth, and what has a schema for its answer keeps it: the client
    checks every structured answer of such a tool by itself."""
    Path("a.ipynb").write_text(json.dumps(NOTEBOOK))
    Path("a.txt").write_text("a")
    read_only = {"notebook_read", "result", "inspect", "read"}
    open_world = {"python", "eval", "bash", "notebook_run", "notebook_edit"}
    with_pictures = {"python", "eval", "notebook_run", "notebook_edit", "notebook_read", "result", "read"}
    async with connected("--tools", profile) as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        for name, tool in tools.items():
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            assert tool.input_schema["type"] == "object", name
            hints = tool.annotations
            assert hints.read_only_hint == (name in read_only), name
            assert hints.destructive_hint == (name not in read_only), name
            assert hints.open_world_hint == (name in open_world), name
            if tool.output_schema is not None:
                jsonschema.Draft202012Validator.check_schema(tool.output_schema)
                assert name not in with_pictures, f"{name} may answer with a picture"
        calls = [
            ("notebook_read", {"path": "a.ipynb"}),
            ("notebook_edit", {"path": "a.ipynb", "op": "clear"}),
            ("notebook_edit", {"path": "a.ipynb", "op": "delete", "cell": "nowhere"}),
            ("python", {"code": "x = 1"}),
            ("kernel", {"action": "list"}),
            ("kernel", {"action": "status"}),
            ("inspect", {}),
            ("inspect", {"name": "x"}),
            ("notebook", {"action": "edit", "notebook_path": "a.ipynb", "cell_index": 0, "content": "b"}),
            ("NotebookEdit", {"notebook_path": "a.ipynb", "cell_id": "intro", "new_source": "c"}),
            ("NotebookEdit", {"notebook_path": "a.ipynb", "cell_id": "nowhere", "new_source": "c"}),
            ("read", {"path": "a.ipynb"}),
            ("edit", {"path": "a.txt", "old_text": "a", "new_text": "b"}),
            ("write", {"path": "a.txt", "content": "c"}),
            ("eval", {"cells": [{"language": "py", "code": "x"}]}),
            ("bash", {"command": "echo hello"}),
        ]
        for name, arguments in calls:
            if name in tools:
                jsonschema.validate(arguments, tools[name].input_schema)
                await session.call_tool(name, arguments)


if __name__ == "__main__":
    official.main(globals())
