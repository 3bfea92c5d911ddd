"""Actions around a fork: copies of the fork server skip needless ones, copies made by cells get all of them."""

import os
import subprocess
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

SCRIPT = """
import os, sys, types
sys.path.insert(0, {root!r})
from inkcell_runner.forkhooks import ForkHooks

real = os.register_at_fork
hooks = ForkHooks()
said = []

def module(name):
    made = types.ModuleType(name)
    made.said = said
    exec('''if True:
        import os
        take = os.register_at_fork
        def note(word):
            return lambda: said.append(word + " " + __name__)
        take(before=note("before"), after_in_parent=note("parent"), after_in_child=note("child"))
    ''', made.__dict__)
    return made

def fork():
    # What was said on both sides of a fork.
    del said[:]
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, " | ".join(said).encode())
        os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    return os.read(read, 9999).decode(), " | ".join(said)

needless, other = module("threading"), module("library")
hooks.close()
assert os.register_at_fork is real
print(fork())
hooks.hand_over()
# One that keeps the function it got in the fork server.
needless.take(after_in_child=lambda: said.append("late"))
print(fork())
try:
    needless.take(before=1)
except TypeError:
    print("refused")
"""


def test_hooks_that_copies_do_not_need_wait_for_the_forks_of_cells():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT).format(root=ROOT)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    server, cells, refused = done.stdout.splitlines()
    assert server == "('before library | child library', 'before library | parent library')"
    assert cells == (
        "('before library | before threading | child threading | child library | late',"
        " 'before library | before threading | parent threading | parent library')"
    )
    assert refused == "refused"


def test_a_warning_about_threads_loses_no_child(monkeypatch):
    """Python 3.12 and newer warn in the parent, when the child already exists."""
    import warnings

    from inkcell_runner.forkhooks import quiet_fork

    def fork():
        warnings.warn("threads", DeprecationWarning)
        return 5

    monkeypatch.setattr(os, "fork", fork)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = list(warnings.filters)
        assert quiet_fork() == 5
        assert warnings.filters == kept
