"""Peer: one line for each cell with the standard library alone. Argument: FILE."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    notebook = json.load(file)
for index, cell in enumerate(notebook["cells"]):
    lines = cell["source"]
    kinds = [output["output_type"] for output in cell.get("outputs", [])]
    print(index, cell["id"], cell["cell_type"], cell.get("execution_count"), len(lines), lines[:1], kinds)
