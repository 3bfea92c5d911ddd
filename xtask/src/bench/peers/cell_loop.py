"""The least that a kernel in Python does for a cell: tell its start, run it, tell its value and its end.

No streams, no errors, no interrupts, no history, no figures, no displays. Commands and reports are lines of JSON.
"""

import ast
import json
import os

names = {"__name__": "__main__"}
number = 0
while command := os.read(0, 65536):
    code = json.loads(command)["code"]
    os.write(1, b'{"started":true}\n')
    number += 1
    name = f"<cell {number}>"
    tree = compile(code, name, "exec", ast.PyCF_ONLY_AST)
    last = tree.body.pop()
    if tree.body:
        exec(compile(tree, name, "exec"), names)
    value = eval(compile(ast.Expression(last.value), name, "eval"), names)
    os.write(1, f'{{"done":"{value!r}"}}\n'.encode())
