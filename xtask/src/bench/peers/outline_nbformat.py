"""Peer: one line for each cell with the reference library. Argument: FILE."""

import sys

import nbformat

notebook = nbformat.read(sys.argv[1], as_version=4)
for index, cell in enumerate(notebook.cells):
    lines = cell.source.splitlines()
    kinds = [output.output_type for output in cell.get("outputs", [])]
    print(index, cell.id, cell.cell_type, cell.get("execution_count"), len(lines), lines[:1], kinds)
