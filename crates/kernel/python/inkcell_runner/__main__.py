"""The start of a runner, and its loop: read a command, run it, read the next.

Owns the life of the process. The process ends when the host asks, and at once when the host is gone.
"""

import _signal
import _thread
import fcntl
import os
import select
import sys


def _move_high(fd):
    """Moves a descriptor to a high number, out of the way of code that writes to low numbers. Children do not get
    it."""
    # If the limit of descriptors is low, a lower number is better than no kernel.
    for least in (200 + os.getpid() % 50, 40 + os.getpid() % 10, 10):
        try:
            high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, least)
        except OSError:
            continue
        os.close(fd)
        return high
    os.set_inheritable(fd, False)
    return fd


def close_others(*keep):
    """Closes the descriptors that an ancestor left open. Cells must not get them."""
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


def bind(lifeline, group):
    """Makes the system kill a group when the host's end of the lifeline closes. A thread of the runner could not do
    that while a cell holds the interpreter, nor after the runner was killed."""
    try:
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -group)
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, 9)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    except (AttributeError, OSError):
        # Only Linux can do this. Elsewhere the watching thread ends the group.
        return False
    return True


def _forget_parent():
    """Removes the death signal of the parent, which is not needed any more. It would end the runner alone, a moment
    before the lifeline ends the whole group, and the rest of the group would stay."""
    try:
        import _ctypes

        prctl = _ctypes.dlsym(_ctypes.dlopen(None, 2), "prctl")
        _ctypes.call_function(prctl, (1, 0))  # PR_SET_PDEATHSIG, none.
    except (ImportError, OSError, AttributeError):
        # On failure, processes that cells started may outlive a killed host.
        pass


def _close(*fds):
    for fd in fds:
        try:
            os.close(fd)
        except OSError:
            # The cell closed it.
            pass


def _pipe_for_signals():
    """Returns both ends of a pipe that receives signals as they arrive; none if no descriptor is left."""
    try:
        ends = tuple(map(_move_high, os.pipe()))
    except OSError:
        return ()
    for end in ends:
        os.set_blocking(end, False)
    return ends


def _leave_wires(session):
    """In a child that a cell forks: closes the channel and the lifeline. Otherwise the child would hide the runner's
    end from the host, and could write in its place."""
    try:
        session.interrupt.forget()
    finally:
        _close(*session.wires)


def _watch(lifeline, host):
    """Ends the process when the host is gone: the host's end of the lifeline is closed, or the process of the host has
    ended although another process still holds that end."""
    poll = select.poll()
    poll.register(lifeline, select.POLLIN | select.POLLHUP)
    poll.register(host, select.POLLIN)
    while not poll.poll():
        pass
    # End the whole group: children of cells must not outlive the host either. Shell helpers run their children in
    # groups of their own, to pass interrupts on, and list these groups.
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
    """Makes held-back output visible soon, although it is buffered for speed. Repeats interrupts that were missed."""
    session.flusher = _thread.get_native_id()
    while True:
        session.streams.wait()
        session.interrupt.remind()
        alone = session.running is None and _thread._count() <= session.own_threads
        with session.writing:
            session.streams.flush()
            session.channel.release()
            session.streams.adapt()
        if alone:
            # No other thread can write now. The next cell lets this thread continue.
            session.idle.acquire()
            session.idle.release()


def start_thread(work, *args):
    """Starts a thread of the runner. Signals go to the main thread and end its waiting."""
    # Block the signal before the thread starts. A thread that starts without the block may take a signal that was sent
    # to an idle runner, and handle it when the next cell runs.
    before = _signal.pthread_sigmask(_signal.SIG_BLOCK, (_signal.SIGINT,))
    try:
        _thread.start_new_thread(work, args)
    finally:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, before)


def main(control, lifeline, host, session=None, copied=None):
    """Runs to the end of the process. A fork server has made `session`. A kernel that was copied has also begun it, and
    `copied` names the variable that the copy gets anew."""
    from . import _set_current
    from .session import make

    control, lifeline, host = _move_high(control), _move_high(lifeline), _move_high(host)
    bind(lifeline, os.getpgrp())
    session = session or make(control)
    session.connect(control)
    signals = _pipe_for_signals()
    if signals:
        session.interrupt.watch(*signals)
    session.wires = (control, lifeline, host, *signals)
    if copied is None:
        os.register_at_fork(after_in_child=lambda: _leave_wires(session))
    session.lifeline = lifeline
    # The runner always has two threads: one watches the host, one flushes output. In a copy, Python still counts the
    # threads of the original, although a fork copies none of them.
    session.own_threads = 2 if copied is None else 2 + _thread._count()
    session.has_copies = False
    session.idle = _thread.allocate_lock()
    # Held while output is flushed. A copy made during a flush would have locks that no thread releases.
    session.writing = _thread.allocate_lock()
    _set_current(session)
    start_thread(_watch, lifeline, host)
    hello = session.channel.receive()
    if hello is None:
        return
    if copied is None:
        _begin(session, hello)
    else:
        _go_on(session, hello, copied)
    session.idle.acquire()
    start_thread(_keep_flushing, session)
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
        elif command["t"] == "ask":
            from .questions import reply

            reply(session, command)
        elif command["t"] == "copies":
            from .copies import serve

            serve(session, command)
    # Let the output of threads go out while the runner waits for them.
    session.idle.release()
    try:
        session.flush()
        session.channel.release()
        if not session.has_copies:
            from .ending import end

            end(session)
    except BaseException:
        # For example, imports may fail by now.
        pass
    if os.getpgrp() == os.getpid():
        # Processes that cells left running end with the runner, even if the host is killed at this moment.
        os.killpg(0, 9)
    os._exit(0)


def set_path(path):
    """Restores `PYTHONPATH`. Python is started without it, so that it does not affect what the runner imports."""
    if path:
        os.environ["PYTHONPATH"] = path


def add_paths(path):
    """Adds the folders that the start leaves out: those of `PYTHONPATH`, and that of `pip install --user`."""
    for entry in reversed(path):
        if entry not in sys.path:
            sys.path.insert(0, entry)
    if sys.prefix != sys.base_prefix or os.environ.get("PYTHONNOUSERSITE"):
        return
    import site

    folder = site.getusersitepackages()
    if folder not in sys.path and os.path.isdir(folder):
        site.addsitedir(folder)


def set_environment(env, current):
    """Replaces the environment. A copy of a fork server, or a spare, was started with another one."""
    for name in current:
        if name not in env:
            del os.environ[name]
    for name, value in env.items():
        if current.get(name) != value:
            os.environ[name] = value
    if env.get("TZ") != current.get("TZ"):
        import time

        time.tzset()


def prepare(session):
    """Prepares a session of the runner's own shell. A fork server does this once for its copies."""
    from . import imports

    sys.path.append(os.path.join(os.path.dirname(__file__), "standin"))
    sys.argv = [""]
    session.streams.install()
    imports.install(session)
    session.is_prepared = True


def _begin(session, hello):
    from . import imports
    from .channel import to_json

    session.channel.sign(hello["nonce"])
    set_environment(hello["env"], session.environment or dict(os.environ))
    is_hosted = hello.get("shell") == "ipython"
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline" if is_hosted else "Agg")
    add_paths(hello.get("path") or [])
    if is_hosted:
        from .ipython_session import host, require

        require(session)
    session.set_cwd(hello["cwd"])
    if is_hosted:
        sys.argv = [""]
        session.streams.install()
        host(session)
        imports.install(session, imports.AFTER_IN_IPYTHON)
    elif not session.is_prepared:
        prepare(session)
    session.set_prelude(hello.get("prelude", "off"))
    if hello.get("modules"):
        from .modules import ModuleLoadError, load

        try:
            load(session, hello["modules"])
        except ModuleLoadError as error:
            session.channel.send("failed", '"reason":%s' % to_json(str(error)))
            os._exit(1)
    # `%who` and questions do not count the names that exist at the start as the user's.
    session.hidden = dict(session.namespace)
    if is_hosted:
        session.hosted.hide_names()
    session.is_ready = True
    _say_ready(session)
    if is_hosted:
        session.hosted.after_ready()


def _go_on(session, hello, variable):
    """A copy of a kernel is what that one has become; only what tells the two apart is its own."""
    session.channel.sign(hello["nonce"])
    os.environ[variable] = hello["env"][variable]
    _say_ready(session)


def _say_ready(session):
    from .channel import to_json

    version = "%d.%d.%d" % sys.version_info[:3]
    session.channel.send(
        "ready", '"version":%s,"executable":%s,"pid":%d' % (to_json(version), to_json(sys.executable), os.getpid())
    )


def start(control, lifeline, host, shell, path="", *preload):
    """A runner that was started by itself; its arguments are words of a command line."""
    wires = (int(control), int(lifeline), int(host))
    close_others(*wires)
    set_path(path)
    if bind(wires[1], os.getpgrp()):
        _forget_parent()
    if preload:
        # It is a spare: there is time until it is needed.
        from .preload import warm_up

        warm_up(shell, preload)
    elif shell == "ipython":
        # While the host makes up its mind. Where it lies may be known only later.
        try:
            from . import ipython_shell  # noqa: F401
        except ImportError:
            pass
    main(*wires)
