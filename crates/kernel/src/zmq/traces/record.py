"""Records what ipykernel sends for some cells, as the texts beside this file. Run by hand, with a Python that has
ipykernel and matplotlib, when there is a kernel that says other things: `python record.py`. The events at the end of
each text are not recorded: the test says what it finds, and whoever records looks whether that is right.
"""

import json
import pathlib
import queue
import re

import ipykernel
from jupyter_client.manager import start_new_kernel

CELLS = {
    "streams": "import sys\nprint('one')\nprint('two', file=sys.stderr)\nsys.stdout.flush()\nprint('thr\\u00e9e \\U0001f600')\n6 * 7",
    "displays": "h = display({'text/plain': 'first', 'text/html': '<b>first</b>'}, raw=True, display_id='d')\n"
    "display('between')\nh.update({'text/plain': 'second'}, raw=True)",
    "clear_output": "from IPython.display import clear_output\nfor n in range(3):\n    clear_output(wait=True)\n    print(n)\n"
    "clear_output()",
    "error": "print('before')\ndef f(): return 1 / 0\nf()",
    "widget": "from comm import create_comm\nc = create_comm(target_name='jupyter.widget', data={'state': {}})\n"
    "c.send({'method': 'update'})\ndisplay({'text/plain': 'Slider()', 'application/vnd.jupyter.widget-view+json': "
    "{'model_id': c.comm_id, 'version_major': 2}}, raw=True)",
    "input": "name = input('name? ')\nprint('hello', name)",
    "nested": "class Inner:\n    def _repr_html_(self):\n        display('inside')\n        return '<i>outer</i>'\n"
    "    def __repr__(self): return 'Outer()'\ndisplay(Inner())\nprint('after')\nInner()",
    "picture": "%matplotlib inline\n%config InlineBackend.print_figure_kwargs = {'metadata': {'Software': None}}\nimport matplotlib.pyplot as plt\nplt.figure(figsize=(0.5, 0.4), dpi=20)\n"
    "plt.axis('off')\nplt.plot([1, 2])\nplt.show()",
    "interrupted": "import time\nprint('go', flush=True)\nwhile True: time.sleep(0.01)",
    "thread": "import threading, time\ndef late():\n    time.sleep(0.5)\n    print('late')\n"
    "threading.Thread(target=late).start()\nprint('in time')",
    "magic": "%%capture held\nprint('held back')\ndisplay(1)",
    "failed_syntax": "print('never'\n",
}


def line(channel, request, message):
    parent = message["parent_header"].get("msg_id")
    name = {request: "r", None: "-"}.get(parent, "other")
    content = json.dumps(message["content"])
    content = re.sub(r"ipykernel_\d+/\d+\.py", "ipykernel_1/1.py", content)
    content = re.sub(r'"comm_id": "\w+"', '"comm_id": "c"', content)
    content = re.sub(r'"model_id": "\w+"', '"model_id": "c"', content)
    return f"{channel} {message['header']['msg_type']} {name} {content}"


def record(manager, client, name, code):
    request = client.execute(code, allow_stdin=True)
    lines, wait = [], 30
    while True:
        try:
            message = client.get_iopub_msg(timeout=wait)
        except queue.Empty:
            break
        lines.append(line("iopub", request, message))
        text = message["content"].get("text", "")
        if name == "interrupted" and text.startswith("go"):
            manager.interrupt_kernel()
        if name == "input" and message["header"]["msg_type"] == "execute_input":
            lines.append(line("stdin", request, client.get_stdin_msg(timeout=30)))
            client.input("you")
        if message["content"].get("execution_state") == "idle":
            wait = 1
    reply = client.get_shell_msg(timeout=30)
    while reply["parent_header"].get("msg_id") != request:
        # Answers to the questions of the start.
        reply = client.get_shell_msg(timeout=30)
    lines.append(line("shell", request, reply))
    head = [f"# ipykernel {ipykernel.__version__}", f"cell {json.dumps(code)}"]
    path = pathlib.Path(__file__).with_name(name + ".txt")
    path.write_text("\n".join(head + lines + ["events", ""]))


for name, code in CELLS.items():
    manager, client = start_new_kernel()
    try:
        record(manager, client, name, code)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
