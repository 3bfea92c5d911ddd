"""The same cells in the runner and in a Jupyter kernel, with the same stored outputs.

The test first normalizes addresses, times and names of cell files. The table below gives a reason for each
intended difference, and the test checks that the difference still exists.
"""

import base64
import json
import os
import re
import shutil
import sys
import tempfile

import pytest

NEEDED = ("IPython", "ipykernel", "jupyter_client", "numpy", "pandas", "matplotlib")


def missing():
    import importlib.util

    if sys.version_info < (3, 11):
        return "!! the cells use exception groups, which came with 3.11"
    gone = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    return "!! not installed: %s" % ", ".join(gone) if gone else None


why_not = missing()
pytestmark = pytest.mark.skipif(why_not is not None, reason=why_not or "")
if why_not:
    print("!! outputs are not compared with a Jupyter kernel: %s" % why_not, file=sys.__stderr__)

CELLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cells")


def cells(group):
    """The cells of a group run one after another in one kernel, so later cells may use names of earlier ones."""
    with open(os.path.join(CELLS, group + ".txt"), encoding="utf-8") as file:
        return file.read().rstrip("\n").split("\n====\n")


GROUPS = {name: cells(name) for name in ("values", "errors", "magics")}

#: Intended differences of the runner: the beginning of a cell, and the reason.
INTENDED = {
    "class HB": "a representation that fails is told on standard error; it is no error of the cell",
    "class BadRepr": "a representation that fails is told on standard error; it is no error of the cell",
    "t = asyncio.create_task": "the loop runs while a cell awaits, not between cells",
    "asyncio.run": "no loop runs already, so a script's way of starting one works",
    "x = (1 +": "the words of Python itself say which bracket is open",
    "eval(": "frames of the shell are no frames of the user",
    "raise ExceptionGroup": "IPython writes a group to standard error, and the cell seems to have gone well",
    "raise SystemExit(3)": "how to leave a terminal is of no use here",
    'exec("1/0")': "a frame without source has no line made up for it",
    "import pandas as pd\npd.DataFrame": "a frame without source has no line made up for it",
    "input(": "frames of the kernel are no frames of the user",
    "x?": "there is no pager, so help is printed",
    "!echo hello": "there is no terminal, so lines end as they were written",
    "%nosuch": "a magic that is not there is an error of the cell, and reported as one",
    "%%time\n1/0": "the line that failed is known",
}

# Newer releases of IPython lay out the frames of cells by lines and take the line of a chained exception from the
# wrong place. Frames of files, and frames of cells in earlier releases, use statements. This makes cells use
# statements again.
BY_STATEMENTS = "import IPython.core.ultratb as u; u.get_line_number_of_frame = lambda frame: 0; del u"


class Jupyter:
    def __init__(self, folder):
        from jupyter_client.kernelspec import KernelSpecManager
        from jupyter_client.manager import KernelManager

        # The kernel of this very Python, without the user's own profile.
        own = os.path.join(folder, ".jupyter")
        os.mkdir(own)
        env = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
        env.update(IPYTHONDIR=own, JUPYTER_CONFIG_DIR=own, JUPYTER_DATA_DIR=own, JUPYTER_RUNTIME_DIR=own)
        self._manager = KernelManager(
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),
            connection_file=os.path.join(own, "kernel.json"),
        )
        with open(os.devnull, "w") as nowhere:
            self._manager.start_kernel(cwd=folder, env=env, stdout=nowhere, stderr=nowhere)
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=60)
        self._client.execute_interactive(BY_STATEMENTS, silent=True, timeout=60)

    def run(self, code):
        outputs = []

        def collect(message):
            kind, content = message["header"]["msg_type"], message["content"]
            if kind == "stream":
                outputs.append(["stream", content["name"], content["text"]])
            elif kind == "execute_result":
                outputs.append(["result", content["data"], content["metadata"]])
            elif kind in ("display_data", "update_display_data"):
                shown = "display" if kind == "display_data" else "update"
                display_id = content.get("transient", {}).get("display_id")
                outputs.append([shown, content["data"], content["metadata"], display_id])
            elif kind == "error":
                outputs.append(["error", content["ename"], content["evalue"], content["traceback"]])
            elif kind == "clear_output":
                outputs.append(["clear", content["wait"]])

        self._client.execute_interactive(code, output_hook=collect, allow_stdin=False, timeout=60)
        return outputs

    def close(self):
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self._manager.cleanup_resources()


class Runner:
    def __init__(self, folder):
        from host import Host

        self._host = Host(cwd=folder)

    def run(self, code):
        outputs = []
        for event in self._host.run(code, timeout=60):
            kind = event[0]
            if kind in ("stream", "fd"):
                outputs.append(["stream", event[1], event[2].decode("utf-8", "replace")])
            elif kind in ("display", "result"):
                frame = event[2]
                # Status events of helpers are not part of a notebook.
                data = {mime: self._stored(value) for mime, value in event[1].items() if "omp-status" not in mime}
                if event[1] and not data:
                    continue
                metadata = json.loads(frame["metadata"]) if frame.get("metadata") else {}
                if kind == "result":
                    outputs.append(["result", data, metadata])
                else:
                    shown = "update" if frame.get("update") else "display"
                    outputs.append([shown, data, metadata, frame.get("display_id")])
            elif kind == "error":
                outputs.append(["error", event[1]["ename"], event[1]["evalue"], event[1]["traceback"]])
            elif kind == "clear":
                outputs.append(["clear", event[1]["wait"]])
        return outputs

    @staticmethod
    def _stored(value):
        return base64.b64encode(value).decode() if isinstance(value, bytes) else value

    def close(self):
        self._host.close()


def joined(outputs):
    """The outputs with the pieces of a stream joined.

    A Jupyter kernel sends its two streams by the clock, so text on one stream is not in order with text on the
    other; between two displays only the text of each stream can be compared.
    """
    result, streams = [], {}
    for output in [*outputs, ["end"]]:
        if output[0] == "stream":
            streams[output[1]] = streams.get(output[1], "") + output[2]
            continue
        result += [["stream", name, text] for name, text in sorted(streams.items())]
        result.append(output)
        streams = {}
    return result


SAME = [
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"0x[0-9a-fA-F]+"), "0x"),
    (re.compile(r"[^\s\"(]*ipykernel_\d+[/\\]\d+\.py|<cell \d+>"), "<cell>"),
    (re.compile(r"\(\d+\.py, line"), "(<cell>, line"),
    (re.compile(r"\d[\d.e+]* (ns|μs|µs|us|ms|s)\b"), "T"),
    (re.compile(r"\(\d{3,} times\)"), "(many times)"),
]


def alike(value):
    """The value without the parts that differ from one run to the next."""
    if isinstance(value, str) and len(value) < 20_000:
        for pattern, text in SAME:
            value = pattern.sub(text, value)
    elif isinstance(value, dict):
        return {key: alike(item) for key, item in value.items()}
    elif isinstance(value, list):
        return [alike(item) for item in value]
    return value


@pytest.fixture(scope="module")
def outputs():
    """The outputs of both kernels for every cell of a group; each group runs on first use."""
    ran = {}

    def of(group):
        if group not in ran:
            ran[group] = [run_all(kernel, GROUPS[group]) for kernel in (Jupyter, Runner)]
        return ran[group]

    return of


def run_all(kernel, cells):
    folder = tempfile.mkdtemp(prefix="inkcell-cells-")
    try:
        one = kernel(folder)
        try:
            return [alike(joined(one.run(cell))) for cell in cells]
        finally:
            one.close()
    finally:
        shutil.rmtree(folder)


def reason(cell):
    return next((why for start, why in INTENDED.items() if cell.startswith(start)), None)


@pytest.mark.parametrize("group, at", [(group, at) for group, cells in GROUPS.items() for at in range(len(cells))])
def test_a_cell_stores_what_it_does_in_jupyter(outputs, group, at):
    theirs, ours = outputs(group)
    cell = GROUPS[group][at]
    if reason(cell) is None:
        assert ours[at] == theirs[at], cell
    else:
        assert ours[at] != theirs[at], "no difference any more: take it out of the table:\n" + cell


def test_every_row_of_the_table_is_used():
    every = [cell for cells in GROUPS.values() for cell in cells]
    unused = [start for start in INTENDED if not any(cell.startswith(start) for cell in every)]
    assert not unused, unused
