"""Reports the ends of copies to the host.

Owns reading their exit statuses. `zygote` and `copies` make the copies.
"""

import os


def reap(wake, say):
    os.read(wake, 4096)
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        say(b"exit", b'"pid":%d,"status":%d' % (pid, status))
