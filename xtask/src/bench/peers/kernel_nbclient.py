"""nbclient running one cell that prints much: told "go", takes one sample. The task comes as JSON."""

import hashlib
import json
import sys
import time

import nbformat
from nbclient import NotebookClient


def say(value):
    print(json.dumps(value), flush=True)


def check(outputs, task, is_hashed):
    text = "".join(output["text"] for output in outputs if output["output_type"] == "stream").encode()
    size = task["count"] * task["width"]
    if len(text) != size:
        raise ValueError(f"{len(text)} bytes arrived of {size}")
    if is_hashed:
        digits = task["width"] - 1
        expected = hashlib.sha256()
        for number in range(task["count"]):
            expected.update(b"%0*d\n" % (digits, number))
        if hashlib.sha256(text).digest() != expected.digest():
            raise ValueError(f"{size} bytes arrived, but not those that were written")


def main():
    task = json.loads(sys.argv[1])
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")])
    client = NotebookClient(notebook, timeout=None, resources={"metadata": {"path": task["cwd"]}})
    samples = 0
    with client.setup_kernel():
        client.execute_cell(notebook.cells[0], 0)
        say({"ready": True})
        for _ in sys.stdin:
            samples += 1
            cell = notebook.cells[0] = nbformat.v4.new_code_cell(task["code"])
            try:
                begin = time.perf_counter()
                client.execute_cell(cell, 0)
                took = time.perf_counter() - begin
                check(cell.outputs, task, samples == 1 or task["hashing"] == "always")
                say({"ms": took * 1e3, "mb_s": task["count"] * task["width"] / 1e6 / took})
            except Exception as problem:
                say({"error": f"{type(problem).__name__}: {problem}"})


main()
