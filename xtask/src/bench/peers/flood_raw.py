"""The floor under cells of much output: a kernel whose sockets are read, with nothing done about what comes."""

import json
import sys

from jupyter_client import KernelManager

with open(sys.argv[1], encoding="utf-8") as file:
    cells = json.load(file)["cells"]
manager = KernelManager(kernel_name="python3")
manager.start_kernel(extra_arguments=["--HistoryManager.hist_file=:memory:"])
client = manager.client()
client.start_channels()
client.wait_for_ready(timeout=120)
published = client.iopub_channel.socket
for cell in cells:
    request = client.execute("".join(cell["source"])).encode()
    while True:
        # Signature, header, parent, metadata and content stand behind the mark.
        parts = published.recv_multipart()
        _, header, parent, _, content = parts[parts.index(b"<IDS|MSG>") + 1 :][:5]
        if b'"idle"' in content and b'"status"' in header and request in parent:
            break
    client.shell_channel.socket.recv_multipart()
client.stop_channels()
manager.shutdown_kernel(now=True)
