"""The ends of copies, told to whoever asked for them.

Owns taking their statuses.  Who makes copies, and of what, is for others.
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
