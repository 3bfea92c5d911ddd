"""Peer: change one cell with the standard library alone. Arguments: FILE INDEX SOURCE."""

import json
import sys

path, index, source = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with open(path, encoding="utf-8") as file:
    notebook = json.load(file)
notebook["cells"][index]["source"] = source.splitlines(True)
with open(path, "w", encoding="utf-8") as file:
    json.dump(notebook, file, indent=1, ensure_ascii=False)
    file.write("\n")
