"""The same notebooks run by nbclient with ipykernel and by `inkcell run`, and what is stored compared.

    compare.py run FILE ...          notebooks as text, see `read`, and `.ipynb` files
    compare.py table PAGE FILE ...   whether the names of differences are those of the table of this page

A cell may differ only where it says which of the differences of the table it is, and then it must. In `.ipynb` files
nothing may differ.

The environment: INKCELL is the executable; Python is the one that runs this. With INKCELL_DIFFERENTIAL_FRESH every
Jupyter kernel is a process that was started for it, not a fork.
"""

import asyncio
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import alike

#: Names of one length, so that a path is not broken over lines in one of them alone.
JUPYTER, WAYS = "jupyter", {"lite": "as-lite", "ipython": "ipython", "zmq": "overzmq"}
#: The shells of inkcell's own runner.
SHELLS = ("lite", "ipython")
#: Notebooks that are run over ZeroMQ too, unless everything is asked for. There the kernel is Jupyter's own, and makes the same
#: outputs; these show what we do with its messages.
OVER_ZMQ = ("asking", "async", "displays", "errors", "figures_inline", "large", "leaving_exit", "order", "processes")
OVER_ZMQ += ("streams", "updates", "widgets")
#: Two processes at a time for two cores; one more, because kernels also wait.
AT_ONCE = 3
#: The kernelspec of kernels that are forks.
FORKED = "forked"
#: Notebooks about the process that they run in: their kernels are never forks.
ABOUT_PROCESSES = ("leaving_exit", "processes")
#: Modules that the server of kernels imports too where a notebook has the first word in it. Not pandas and pyplot: they look
#: for the kernel that imports them.
PRELOADED = {"numpy": ["numpy"], "matplotlib": ["matplotlib.figure", "matplotlib.backends.backend_agg"]}
#: Notebooks as nbclient stored them. They replace a run where nbclient hangs now and then, as it does with widgets.
RECORDED = pathlib.Path(__file__).with_name("recorded")
#: No notebook takes nearly as long, unless the machine is very busy.
LIMIT = 400


class Notebook:
    """The cells of one notebook, and for each the differences that are meant, by shell."""

    def __init__(self, name):
        self.name, self.cells, self.meant = name, [], []

    def as_json(self):
        from nbformat import v4

        cells = [v4.new_code_cell(source, id="cell-%d" % at) for at, source in enumerate(self.cells)]
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        return json.dumps(v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}))


def read(path):
    """A notebook as text: each cell begins after a line of `====`, which may go on with what differs.

    `==== help` says that the cell differs in every way as the row `help` of the table says, `==== runner:help`
    that it does in both shells of the runner, `==== lite:help` that it does in one of them.
    """
    notebook = Notebook(path.stem)
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.startswith("===="):
            notebook.cells.append("")
            meant = {way: set() for way in WAYS}
            for word in line.strip("= \n").split():
                who, _, name = word.rpartition(":")
                for way in {"": WAYS, "runner": SHELLS}.get(who, [who]):
                    meant[way].add(name)
            notebook.meant.append(meant)
        else:
            notebook.cells[-1] += line
    notebook.cells = [cell[:-1] if cell.endswith("\n") else cell for cell in notebook.cells]
    return notebook


def read_ipynb(path):
    notebook = Notebook(path.stem)
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            notebook.cells.append("".join(cell["source"]))
            notebook.meant.append({way: set() for way in WAYS})
    return notebook


def environment(folder):
    """Nothing of whoever runs this but where programs are."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    bin_folder = str(pathlib.Path(sys.executable).parent)
    return {
        "PATH": bin_folder + os.pathsep + os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTER_PLATFORM_DIRS": "0",
        "JUPYTER_PATH": str(home / "jupyter"),
        "INKCELL_STATE_DIR": str(home / "state"),
        "INKCELL_PYTHON_INTERPRETER": os.environ.get("INKCELL_DIFFERENTIAL_PYTHON", sys.executable),
        "MPLCONFIGDIR": os.environ.get("MPLCONFIGDIR", str(home / "matplotlib")),
    }


@contextlib.contextmanager
def fork_server(notebooks, root, env):
    """While this lasts, the kernels of the kernelspec `FORKED` are forks."""
    program, where = str(pathlib.Path(__file__).with_name("kernels.py")), str(root / "kernels")
    argv = [sys.executable, "-I", "-S", program, "ipykernel_launcher", where]
    argv += ["--HistoryManager.hist_file=:memory:", "-f", "{connection_file}"]
    spec = pathlib.Path(env["JUPYTER_PATH"], "kernels", FORKED, "kernel.json")
    spec.parent.mkdir(parents=True)
    spec.write_text(json.dumps({"argv": argv, "display_name": "Python 3", "language": "python"}), encoding="utf-8")
    cells = [cell for notebook in notebooks for cell in notebook.cells]
    modules = [name for word, names in PRELOADED.items() if any(word in cell for cell in cells) for name in names]
    command = [sys.executable, program, "serve", where, *modules]
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        if server.stdout.readline() != b"ready\n":
            raise SystemExit("the server of kernels did not start")
        yield


def kernel_of(notebook):
    """The kernelspec of a notebook where Jupyter runs it."""
    # A fork has the Python that runs this, which need not be the one that inkcell is to use.
    is_free = not {"INKCELL_DIFFERENTIAL_FRESH", "INKCELL_DIFFERENTIAL_PYTHON"} & os.environ.keys()
    return FORKED if is_free and notebook.name not in ABOUT_PROCESSES else "python3"


async def run_in_jupyter(file, env, kernel):
    import nbformat
    from nbclient import NotebookClient

    content = nbformat.read(file, as_version=4)
    folder = {"metadata": {"path": str(file.parent)}}
    client = NotebookClient(
        content, kernel_name=kernel, timeout=LIMIT, allow_errors=True, record_timing=False, resources=folder
    )
    with open(os.devnull, "w") as nowhere:
        try:
            await client.async_execute(env=env, stdout=nowhere, stderr=nowhere)
        except Exception as problem:
            # The kernel is gone: cells below have no outputs, and that is compared.
            print("%s: nbclient: %s" % (file.parent.name, problem), file=sys.stderr)
    nbformat.write(content, file)


async def take_recorded(file, env, recorded):
    shutil.copyfile(recorded, file)


async def run_in_inkcell(file, env, words):
    command = [os.environ["INKCELL"], "run", str(file), "--allow-errors", "--quiet", *words]
    process = await asyncio.create_subprocess_exec(
        *command,
        env=env,
        cwd=file.parent,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), LIMIT)
    except asyncio.TimeoutError:
        process.kill()
        await process.wait()
        raise SystemExit("inkcell run of %s did not end" % file)
    if process.returncode != 0 and os.environ.get("INKCELL_DIFFERENTIAL_SAY"):
        print("%s: %s" % (" ".join(command), said.decode("utf-8", "replace")), file=sys.stderr)


def ways_of(notebook):
    """The ways of inkcell in which a notebook is run, with the folder of each."""
    everything = "INKCELL_TEST_ALL" in os.environ or notebook.name in OVER_ZMQ
    return {way: folder for way, folder in WAYS.items() if way in SHELLS or everything}


async def run_all(notebooks, root, env):
    """Every notebook in every way, each in a folder of its own."""
    room, runs = asyncio.Semaphore(AT_ONCE), []

    async def one(notebook, way, run, words):
        folder = root / way / notebook.name
        folder.mkdir(parents=True)
        file = folder / "notebook.ipynb"
        file.write_text(notebook.as_json(), encoding="utf-8")
        async with room:
            await run(file, env, words)

    for notebook in notebooks:
        kernel = kernel_of(notebook)
        recorded = RECORDED / (notebook.name + ".ipynb")
        if recorded.exists():
            runs.append(one(notebook, JUPYTER, take_recorded, recorded))
        else:
            runs.append(one(notebook, JUPYTER, run_in_jupyter, kernel))
        for way, folder in ways_of(notebook).items():
            words = ["--kernel", kernel] if kernel == FORKED else ["--backend", "zmq"]
            runs.append(one(notebook, folder, run_in_inkcell, ["--shell", way] if way in SHELLS else words))
    await asyncio.gather(*runs)


def stored(root, way, notebook):
    """What each code cell of the file holds, without what differs from one run to the next."""
    folder = root / way / notebook.name
    cells = json.loads((folder / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    return [alike.cell(cell, str(folder)) for cell in cells]


def widgets(root, way, notebook):
    """What the file holds of widgets."""
    file = root / way / notebook.name / "notebook.ipynb"
    return json.loads(file.read_text(encoding="utf-8"))["metadata"].get("widgets")


def compare(notebook, root):
    """What differs and should not, or should and does not, as texts."""
    problems = []
    theirs = stored(root, JUPYTER, notebook)
    for way, folder in ways_of(notebook).items():
        ours = stored(root, folder, notebook)
        if widgets(root, folder, notebook) != widgets(root, JUPYTER, notebook):
            both = [json.dumps(widgets(root, of, notebook), indent=1) for of in (JUPYTER, folder)]
            problems.append("%s, widgets, %s\n--- Jupyter\n%s\n--- inkcell\n%s\n" % (notebook.name, way, *both))
        for at, source in enumerate(notebook.cells):
            meant = notebook.meant[at][way]
            differs = ours[at] != theirs[at]
            if differs != bool(meant):
                what = "stores something else" if differs else "does not differ: it is marked with %s" % sorted(meant)
                problems.append(
                    "%s, cell %d, %s: %s\n%s\n--- Jupyter\n%s\n--- inkcell\n%s\n"
                    % (notebook.name, at, way, what, source, alike.shown(theirs[at]), alike.shown(ours[at]))
                )
    return problems


def names_in(page):
    """The names in the first column of the page's table of differences."""
    text = page.read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    return {row.split("`")[1] for row in rows}


def run(notebooks):
    """What is wrong, as texts."""
    root = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="inkcell-differential-")))
    env = environment(root)
    # nbclient looks there for its kernels.
    os.environ["JUPYTER_PATH"] = env["JUPYTER_PATH"]
    try:
        with fork_server(notebooks, root, env):
            asyncio.run(run_all(notebooks, root, env))
        return [problem for notebook in notebooks for problem in compare(notebook, root)]
    finally:
        if "INKCELL_DIFFERENTIAL_KEEP" in os.environ:
            shutil.copytree(root, os.environ["INKCELL_DIFFERENTIAL_KEEP"], dirs_exist_ok=True, symlinks=True)
        shutil.rmtree(root, ignore_errors=True)


def check_table(page, notebooks):
    """The problems, as texts. A cell that is marked must differ, so what is named is also shown."""
    named = {name for notebook in notebooks for meant in notebook.meant for names in meant.values() for name in names}
    listed = names_in(page)
    problems = ["%s: no row of the table has this name" % name for name in sorted(named - listed)]
    return problems + ["%s: a row of the table that no cell shows" % name for name in sorted(listed - named)]


def main():
    task, *words = sys.argv[1:]
    files = [pathlib.Path(word) for word in (words if task == "run" else words[1:])]
    notebooks = [read_ipynb(file) if file.suffix == ".ipynb" else read(file) for file in files]
    problems = run(notebooks) if task == "run" else check_table(pathlib.Path(words[0]), notebooks)
    for problem in problems:
        print(problem)
    print("%d notebooks, %d cells, %d problems" % (len(notebooks), sum(len(one.cells) for one in notebooks), len(problems)))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
