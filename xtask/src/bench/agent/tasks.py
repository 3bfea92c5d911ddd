"""Ten tasks that an agent does with the tools of `inkcell mcp`.

Owns the calls of each task, in the order of an agent that reads each answer, and the check that the task reached its
end. What an answer leaves out, another call asks for; an edition whose answer has it needs one call less.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import anyio

import notebooks
from client import Tally, connected, told
from notebooks import inkcell, printed, read, write

# No task takes longer, in seconds.
LIMIT = 300


class Size:
    """Sizes of what is loaded, printed and read."""

    def __init__(self, is_quick):
        self.rows = 2_000 if is_quick else 100_000
        self.lines = 20_000 if is_quick else 500_000
        self.cells = 60 if is_quick else 300


SALES = [
    ("markdown", "# Sales\n\nRevenue by month, from `sales.csv`."),
    ("code", "import matplotlib.pyplot as plt\nimport pandas as pd"),
    ("code", "raw = pd.read_csv('sales.csv', parse_dates=['day'])\nraw.shape"),
    (
        "code",
        "clean = raw.dropna(subset=['amount'])\nclean = clean[clean['amount'] > 0]\n"
        "print(len(raw) - len(clean), 'rows left out')",
    ),
    ("code", "monthly = clean.set_index('day')['amount'].resample('MS').sum()\nmonthly.head()"),
    ("code", "fig, ax = plt.subplots(figsize=(6, 3))\nmonthly.plot(ax=ax, title='Revenue')\nplt.show()"),
    ("code", "clean.groupby('region')['amount'].describe().round(2)"),
]


async def create(agent, size):
    """A notebook that loads, cleans, plots and summarises a table; a cell in the middle is broken and mended."""
    nb = "report.ipynb"
    notebooks.write_sales("sales.csv", size.rows)
    look = "import pandas as pd\nraw = pd.read_csv('sales.csv')\nraw.info()\nraw.head()"
    await agent.ok("python", code=look)
    ops = [{"op": "insert", "type": kind, "source": source} for kind, source in SALES]
    made, outline = await agent.together(
        ("notebook_edit", {"path": nb, "create": True, "ops": ops, "run": "changed"}),
        ("notebook_read", {"path": nb, "view": "outline"}),
    )
    assert not made.is_error and made.pictures == 1, made.text
    assert re.search(r"\[6\]|fresh", outline.text), f"the outline was read before the run: {outline.text}"
    wrong = {"path": nb, "cell": 3, "old": "dropna(", "new": "drop_na(", "run": "changed-and-below"}
    broken = await agent.refused("notebook_edit", **wrong)
    assert "AttributeError" in broken.text, broken.text
    await agent.ok("notebook_edit", **wrong | {"old": "drop_na(", "new": "dropna("})
    outputs = [output for cell in read(nb).cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"], outputs
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 1, outputs
    papermill = [sys.executable, "-m", "papermill", "--no-progress-bar", "-k", "python3", nb, "again.ipynb"]
    subprocess.run(papermill, check=True, capture_output=True, timeout=LIMIT)


async def change(agent, size):
    """In three notebooks: find a parameter, change it, run only what is stale."""
    for nb, cells in [("orders.ipynb", 40), ("study.ipynb", size.cells // 2), ("pipeline.ipynb", size.cells)]:
        steps = notebooks.write_analysis(nb, cells)
        before = read(nb)
        await agent.ok("notebook_read", path=nb, view="outline")
        found = await agent.ok("notebook_read", path=nb, search=r"\bthreshold\b")
        assert "threshold = 10" in found.text, found.text
        await agent.ok("notebook_read", path=nb, cells="0-5", outputs="full")
        edit = {"path": nb, "cell": 2, "old": "threshold = 10", "new": "threshold = 20"}
        await agent.ok("notebook_edit", **edit, run="stale")
        after = read(nb)
        for number in range(steps):
            place = 3 + 5 * number
            old, new = before.cells[place : place + 5], after.cells[place : place + 5]
            if number % 3:
                assert old == new, f"step {number} of {nb} does not use the threshold"
            else:
                assert printed(old[2]) != printed(new[2]) != "", f"step {number} of {nb} is still stale"
                assert old[4].outputs != new[4].outputs != [], f"the end of step {number} of {nb} is still stale"


LOOP = """import time
done = []
for step in range(60):
    done.append(step)
    print('step', step, flush=True)
    time.sleep(1)"""


async def long(agent, size):
    """A loop of a minute: control comes back, it is polled and interrupted. A shorter one is left to its end."""
    loop, behind = await agent.together(
        ("python", {"code": LOOP, "timeout": 120, "wait": 2}),
        ("python", {"code": "len(done) < 60", "timeout": 120, "wait": 2}),
    )
    assert "step 0" in loop.text, loop.text
    polled = await agent.ok("result", id=loop.execution, wait=2)
    assert "step 2" in polled.text, polled.text
    await agent.ok("kernel", action="interrupt")
    ended = await agent.call("result", id=loop.execution)
    assert re.search("interrupt|abort", ended.text, re.IGNORECASE) or ended.is_error, ended.text
    late = await agent.ok("result", id=behind.execution)
    assert "True" in late.text, late.text
    kept = await agent.ok("python", code="done[:3]")
    assert "[0, 1, 2]" in kept.text, kept.text
    left = await agent.ok("python", code=LOOP.replace("60", "6"), timeout=120, wait=0.5)
    other = await agent.ok("python", code="6 * 7", session="other")
    assert "42" in other.text, other.text
    whole = await agent.ok("result", id=left.execution)
    assert "step 5" in whole.text, whole.text


async def flood(agent, size):
    """Much output: a line, a row and a value are found in it."""
    middle = size.lines // 2
    lines = (
        f"for n in range({size.lines}):\n"
        f"    print(f'row {{n:07d}}', 'needle=4711' if n == {middle} else 'x' * 11, 'y' * 75)"
    )
    output = (await agent.ok("python", code=lines)).artifacts[0]
    found = await agent.ok("result", id=output, grep="needle")
    assert "needle=4711" in found.text, found.text
    line = int(re.search(r"(\d+)\D+row \d+ needle", found.text)[1])
    assert line == middle + 1, found.text
    page = await agent.ok("result", id=output, lines=f"{line - 2}-{line + 2}")
    assert f"row {middle + 2:07d}" in page.text and f"row {middle - 2:07d}" in page.text, page.text
    frame = (
        "import pandas as pd\nnumbers = range(10_000)\nframe = pd.DataFrame({'order': numbers, "
        "'shop': ['s%d' % (n % 40) for n in numbers], 'amount': [n * 7 % 1000 for n in numbers]})\n"
        "print(frame.to_string())"
    )
    output = (await agent.ok("python", code=frame)).artifacts[0]
    row = await agent.ok("result", id=output, grep=r"^\s*7777\s")
    assert str(7777 * 7 % 1000) in row.text, row.text
    tree = (
        "tree = {'level': 30, 'rows': list(range(2_000)), 'value': 4711}\nfor level in range(29, 0, -1):\n"
        "    tree = {'level': level, 'rows': list(range(2_000)), 'child': tree}\n"
        "display({'application/json': tree}, raw=True)"
    )
    output = (await agent.ok("python", code=tree)).artifacts[0]
    last = await agent.ok("result", id=output, json_path=".child.rows[-1]")
    assert "1999" in last.text, last.text
    value = await agent.ok("result", id=output, json_path=".child" * 29 + ".value")
    assert "4711" in value.text, value.text


async def others(agent, size):
    """Another program changes a cell and inserts one, between a reading and two edits that are sent together."""
    nb = "shared.ipynb"
    write(nb, [f"name_{letter} = {number}" for number, letter in enumerate("abcdef")])
    version = (await agent.ok("notebook_read", path=nb)).version
    notebook = json.loads(Path(nb).read_text())
    theirs = {**notebook["cells"][1], "id": "by-another", "source": ["theirs = True"]}
    notebook["cells"][1]["source"] = ["name_b = 'by another program'"]
    notebook["cells"].insert(2, theirs)
    Path(nb).write_text(json.dumps(notebook, indent=1) + "\n")
    merged, conflict = await agent.together(
        ("notebook_edit", {"path": nb, "cell": "003f00d", "source": "name_d = 33", "if_hash": version}),
        ("notebook_edit", {"path": nb, "cell": "001f00d", "source": "name_b = 11", "if_hash": version}),
    )
    assert not merged.is_error, merged.text
    assert conflict.is_error and "001f00d" in conflict.text, conflict.text
    if "by another program" not in conflict.text:
        conflict = await agent.ok("notebook_read", path=nb, cells="001f00d")
        assert "by another program" in conflict.text, conflict.text
        version = conflict.version
    else:
        version = re.findall(r"\b[0-9a-f]{16}\b", conflict.text)[-1]
    mine = "name_b = 11  # was 'by another program'"
    await agent.ok("notebook_edit", path=nb, cell="001f00d", source=mine, if_hash=version)
    sources = [cell.source for cell in read(nb).cells]
    wanted = ["name_a = 0", mine, "theirs = True", "name_c = 2", "name_d = 33", "name_e = 4", "name_f = 5"]
    assert sources == wanted, sources


PLOT = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots(figsize=(4, 3))\nax.plot([1, 3, 2])\nplt.show()"
PLOTS = (
    "for n in range(20):\n    fig, ax = plt.subplots(figsize=(4, 3))\n    ax.plot(range(n + 2))\n"
    "    ax.set_title(f'plot {n}')\n    plt.show()"
)
SVG = (
    "circle = '<circle cx=\"20\" cy=\"20\" r=\"15\"/>'\n"
    "svg = f'<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"40\" height=\"40\">{circle}</svg>'\n"
    "display({'image/svg+xml': svg}, raw=True)"
)
STORED = (
    "import json\noutputs = json.load(open('stored.ipynb'))['cells'][0]['outputs']\n"
    "picture = next(output['data']['image/png'] for output in outputs if 'image/png' in output.get('data', {}))\n"
    "display({'image/png': ''.join(picture)}, raw=True)"
)


async def pictures(agent, size):
    """A plot, twenty plots of which the last is looked at, an SVG, and a plot that an earlier run stored."""
    write("stored.ipynb", [PLOT])
    inkcell("run", "--quiet", "stored.ipynb")
    assert (await agent.ok("python", code=PLOT)).pictures == 1
    many = await agent.ok("python", code=PLOTS)
    assert many.pictures > 1 and many.artifacts, many.text
    assert (await agent.ok("result", id=many.artifacts[-1])).pictures == 1
    drawn = await agent.ok("python", code=SVG)
    assert "svg" in drawn.text.lower(), drawn.text
    stored = await agent.ok("notebook_read", path="stored.ipynb", cells="0", outputs="full")
    if stored.pictures == 0:
        stored = await agent.ok("python", code=STORED)
    assert stored.pictures == 1, stored.text


MUCH_MEMORY = (
    "import resource\nsoft, hard = resource.getrlimit(resource.RLIMIT_AS)\n"
    "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, hard))\nblock = bytearray(8 << 30)"
)


async def death(agent, size):
    """The kernel dies, or has no memory left, in the middle of a call with several cells."""
    cells = [{"code": "kept = 20"}, {"code": "import os\nos._exit(3)"}, {"code": "print('after', kept + 1)"}]
    died = await agent.refused("python", cells=cells)
    assert re.search("gone|lost", died.text), died.text
    again = await agent.ok("python", cells=[cells[0], cells[2]])
    assert "after 21" in again.text, again.text
    nb = "dies.ipynb"
    write(nb, ["first = 1\nprint('first')", "import ctypes\nctypes.string_at(0)", "print('last', first + 1)"])
    died = await agent.refused("notebook_run", path=nb)
    assert re.search("signal|segmentation", died.text, re.IGNORECASE), died.text
    assert printed(read(nb).cells[0]) == "first\n"
    mended, ran = await agent.together(
        ("notebook_edit", {"path": nb, "cell": 1, "source": "import ctypes"}), ("notebook_run", {"path": nb})
    )
    assert not mended.is_error and not ran.is_error, ran.text
    assert printed(read(nb).cells[2]) == "last 2\n"
    cells = [{"code": "kept = 30"}, {"code": MUCH_MEMORY}, {"code": "print('after')"}]
    full = await agent.refused("python", cells=cells)
    assert "MemoryError" in full.text, full.text
    kept = await agent.ok("python", code="resource.setrlimit(resource.RLIMIT_AS, (soft, hard))\nkept + 1")
    assert "31" in kept.text, kept.text


SLOW = "import time\nfor step in range(60):\n    print('step', step, flush=True)\n    time.sleep(0.5)"


async def clients(agent, size):
    """Two servers on one notebook, and a person at a shell who attaches and interrupts."""
    nb = "shared.ipynb"
    write(nb, [SLOW, "print('end')"])
    async with connected(agent.tally) as other:
        running = await agent.ok("notebook_run", path=nb, wait=2)
        await other.ok("notebook_read", path=nb, view="outline")
        await other.refused("notebook_run", path=nb)
        assert "step 1" in inkcell("attach", nb, "--no-follow")
        inkcell("interrupt", nb)
        ended = await agent.call("result", id=running.execution)
        assert re.search("interrupt|abort", ended.text, re.IGNORECASE), ended.text
        edit = {"path": nb, "cell": 0, "old": "range(60)", "new": "range(3)"}
        await other.ok("notebook_edit", **edit, run="changed-and-below")
        seen = await agent.ok("notebook_read", path=nb, cells="0", outputs="full")
        assert "step 2" in seen.text and "step 3" not in seen.text, seen.text
    assert [printed(cell) for cell in read(nb).cells] == ["step 0\nstep 1\nstep 2\n", "end\n"]


NAMES = '''import pandas as pd
shops = ['north', 'south', 'east', 'west']
frame = pd.DataFrame({'order': range(10_000), 'shop': shops * 2_500, 'amount': [n % 97 for n in range(10_000)]})
config = {'threshold': 10, 'paths': ['a.csv', 'b.csv']}
def summarise(rows, by='shop'):
    """Totals of the amounts, by a column."""
    return rows.groupby(by)['amount'].sum()'''


async def inside(agent, size):
    """Variables, a frame, completions, help, and the names that a cell makes and uses."""
    await agent.ok("python", code=NAMES)
    names = await agent.ok("inspect")
    assert all(name in names.text for name in ["frame", "config", "shops"]), names.text
    frame = await agent.ok("inspect", name="frame")
    assert "amount" in frame.text and "north" in frame.text, frame.text
    completed = await agent.ok("inspect", code="frame.groupb")
    assert "groupby" in completed.text, completed.text
    helped = await agent.ok("inspect", help="summarise")
    assert "by='shop'" in helped.text and "Totals" in helped.text, helped.text
    nb = "names.ipynb"
    write(nb, ["rows = [3, 1, 2]", "total = sum(rows)\nlargest = max(rows)", "print(total / largest)"])
    if await agent.takes("inspect", "cell"):
        cell = await agent.ok("inspect", path=nb, cell=1)
    else:
        cell = await agent.ok("notebook_read", path=nb, cells="1")
    assert all(name in cell.text for name in ["rows", "total", "largest"]), cell.text


async def slips(agent, size):
    """Calls with a mistake, each followed by the right one."""
    nb = "report.ipynb"
    write(nb, ["total = 20", "print(total)"])
    write("../outside.ipynb", ["1"])

    async def slip(wrong, right, lead, detour=None):
        """Where the refusal does not name what is right, another call finds it."""
        refusal = await agent.refused(wrong[0], **wrong[1])
        if lead not in refusal.text:
            assert detour, f"nothing leads from {wrong} to {right}: {refusal.text}"
            found = await agent.ok(detour[0], **detour[1])
            assert lead in found.text, found.text
        return await agent.ok(right[0], **right[1])

    edit = {"path": nb, "cell": "000f00d"}
    outline = ("notebook_read", {"path": nb, "view": "outline"})
    files = ("python", {"code": "import os\nos.getcwd(), sorted(os.listdir())"})
    field = ("notebook_edit", {**edit, "sorce": "total = 21"})
    await slip(field, ("notebook_edit", {**edit, "source": "total = 21"}), "source")
    kind = ("python", {"code": "1 + 1", "timeout": "soon"})
    await slip(kind, ("python", {"code": "1 + 1", "timeout": 60}), "seconds")
    await slip(("notebook_read", {"path": "reprot.ipynb"}), ("notebook_read", {"path": nb}), nb, files)
    outside = ("notebook_read", {"path": "../outside.ipynb"})
    await slip(outside, outline, str(Path.cwd()), files)
    cell = ("notebook_edit", {"path": nb, "cell": "zero", "source": "total = 22"})
    await slip(cell, ("notebook_edit", {**edit, "source": "total = 22"}), "000f00d", outline)
    printing = await agent.ok("python", code="for n in range(20_000): print('line', n)")
    output = printing.artifacts[0]
    unknown = ("result", {"id": output[:-4] + ("0000" if output[-4:] != "0000" else "1111"), "lines": "5-6"})
    await slip(unknown, ("result", {"id": output, "lines": "5-6"}), "")
    await slip(("result", {"id": "xzzzzzzzzz"}), ("kernel", {"action": "status"}), "")
    assert [cell.source for cell in read(nb).cells] == ["total = 22", "print(total)"]


# Each task, and the arguments of its server.
TASKS = {
    "create": (create, []),
    "change": (change, []),
    "long": (long, []),
    "flood": (flood, []),
    "others": (others, []),
    "pictures": (pictures, []),
    "death": (death, []),
    "clients": (clients, []),
    "inside": (inside, []),
    "slips": (slips, ["--root", "."]),
}


async def done(name, size, log):
    """The figures of a task, or why it did not reach its end."""
    task, arguments = TASKS[name]
    tally = Tally(name, log)
    try:
        with anyio.fail_after(LIMIT):
            async with connected(tally, *arguments) as agent:
                await task(agent, size)
    except Exception as problem:
        while isinstance(problem, BaseExceptionGroup):
            problem = problem.exceptions[0]
        return {"error": f"{type(problem).__name__}: {problem}"[:2000]}
    return tally.figures()


async def every(asked, log):
    """Does the tasks one after the other, each in a folder of its own."""
    # The first import writes caches, which no answer should mention.
    subprocess.run([sys.executable, "-c", "import matplotlib.pyplot, pandas"], check=True, capture_output=True)
    home, figures = Path.cwd(), {}
    for name in asked["tasks"] or TASKS:
        folder = home / name / "work"
        folder.mkdir(parents=True)
        os.chdir(folder)
        figures[name] = await done(name, Size(asked["quick"]), log)
        os.chdir(home)
    return figures


def main():
    asked = json.loads(sys.argv[1])
    if asked["part"] == "told":
        print(json.dumps(anyio.run(told)))
        return
    with open(asked["log"], "w") as log:
        print(json.dumps(anyio.run(every, asked, log)))


if __name__ == "__main__":
    main()
