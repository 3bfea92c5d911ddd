"""Peer: change one cell with the reference library. Arguments: FILE INDEX SOURCE."""

import sys

import nbformat

path, index, source = sys.argv[1], int(sys.argv[2]), sys.argv[3]
notebook = nbformat.read(path, as_version=4)
notebook.cells[index].source = source
nbformat.write(notebook, path)
