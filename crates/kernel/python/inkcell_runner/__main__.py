"""The start of a runner, and its loop: read a command, run it, read the next.

Owns the life of the process. It ends when the host says so, and at once when the host is gone.
"""

import os
import sys


def _move_high(fd):
    """A descriptor out of the way of code that writes to low numbers, and closed in children."""
    import fcntl

    high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 200 + os.getpid() % 50)
    os.close(fd)
    return high


def close_others(*keep):
    """Closes what came from further up: a descriptor that some ancestor left open is not for cells."""
    try:
        names = os.listdir("/proc/self/fd")
    except OSError:
        return
    for name in names:
        if int(name) > 2 and int(name) not in keep:
            try:
                os.close(int(name))
            except OSError:
                pass


def _watch(lifeline):
    """Ends the process when the other end of the lifeline, which only the host holds, is closed."""
    try:
        os.read(lifeline, 1)
    except OSError:
        pass
    # The whole group: children of cells must not outlive the host either. Shell helpers run theirs in
    # groups of their own, so that an interrupt can be passed on; they are known by name.
    helpers = sys.modules.get("inkcell_runner.prelude.process")
    for group in list(getattr(helpers, "GROUPS", ())):
        try:
            os.killpg(group, 9)
        except OSError:
            pass
    try:
        os.killpg(0, 9)
    finally:
        os._exit(70)


def _keep_flushing(session):
    """Makes held-back output visible soon, although it is buffered for speed."""
    import time
    from _thread import _count

    # This thread and the watcher are always there.
    others = 2
    while True:
        time.sleep(0.05)
        alone = session.running is None and _count() <= others
        session.streams.flush()
        if alone:
            # Nobody is left who could write; the next cell lets this thread go on.
            session.idle.acquire()
            session.idle.release()


def main(control, lifeline):
    import _thread

    from . import _set_current
    from .session import make

    control, lifeline = _move_high(control), _move_high(lifeline)
    session = make(control)
    session.idle = _thread.allocate_lock()
    _set_current(session)
    _thread.start_new_thread(_watch, (lifeline,))
    hello = session.channel.receive()
    if hello is None:
        return
    _begin(session, hello)
    session.idle.acquire()
    _thread.start_new_thread(_keep_flushing, (session,))
    while True:
        command = session.channel.receive()
        if command is None or command["t"] == "exit":
            break
        if command["t"] == "run":
            session.idle.release()
            try:
                session.run_cell(command)
            finally:
                session.idle.acquire()
    session.flush()
    _run_exit_functions()
    os._exit(0)


def _run_exit_functions():
    import atexit

    try:
        atexit._run_exitfuncs()
    except BaseException:
        # They have said what they had to say on standard error.
        pass


def _add_user_site():
    """What `pip install --user` installed; the isolated start leaves it out."""
    if sys.prefix != sys.base_prefix:
        return
    import site

    folder = site.getusersitepackages()
    if os.path.isdir(folder):
        site.addsitedir(folder)


def _begin(session, hello):
    from . import imports
    from .channel import to_json

    session.channel.nonce = hello["nonce"]
    os.environ.setdefault("MPLBACKEND", "Agg")
    path = hello.get("path") or []
    for entry in reversed(path):
        if entry not in sys.path:
            sys.path.insert(0, entry)
    _add_user_site()
    session.set_cwd(hello["cwd"])
    sys.path.append(os.path.join(os.path.dirname(__file__), "standin"))
    sys.argv = [""]
    session.streams.install()
    imports.install(session)
    session.prelude_level = hello.get("prelude", "off")
    session.install_prelude()
    if hello.get("modules"):
        from .modules import load

        load(session, hello["modules"])
    version = "%d.%d.%d" % sys.version_info[:3]
    session.channel.send(
        "ready", '"version":%s,"executable":%s,"pid":%d' % (to_json(version), to_json(sys.executable), os.getpid())
    )


def start(control, lifeline):
    """A runner that was started by itself."""
    close_others(control, lifeline)
    main(control, lifeline)
