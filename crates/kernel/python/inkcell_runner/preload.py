"""Work done before a runner is needed: imports, and a rehearsal of typical first cells.

Owns the list of modules that every runner needs.  A fork server does this work once for its copies, which share its
memory until they write to it.  So everything that each copy would do for itself is completed here.  A copy must not see
a trace of it: no thread, no name, no line of source, no warning that was already given.
"""

import gc
import os
import sys

# Modules that every runner imports sooner or later.
_USUAL = (
    "fcntl",
    "json",
    "linecache",
    "warnings",
    "inkcell_runner.__main__",
    "inkcell_runner.session",
    "inkcell_runner.imports",
    "inkcell_runner.formatting",
    "inkcell_runner.layout",
    "inkcell_runner.pretty",
    "inkcell_runner.mime",
    "inkcell_runner.displays",
    "inkcell_runner.names",
    "inkcell_runner.shell",
    "inkcell_runner.tracebacks",
    "inkcell_runner.excerpts",
    "inkcell_runner.ending",
    "inkcell_runner.prelude",
)

# More modules, by shell.
_SHELLS = {"lite": (), "ipython": ("inkcell_runner.ipython_preload",)}

# First cells of every kernel, and of kernels with a library.
_CELLS = (
    (None, "1 + 1"),
    (None, "print('a')\n[1, 'b', {2.5: None}]"),
    (None, "1 / 0"),
    ("numpy", "import numpy as np\nnumbers = np.arange(12.0)\nfloat(numbers.sum()), numbers"),
    (
        "pandas",
        "import numpy as np, pandas as pd\nframe = pd.DataFrame({'a': np.arange(2.0), 'b': ['c', 'd']})\n"
        "print(frame, float(frame['a'].sum()))\nframe",
    ),
    ("matplotlib.pyplot", "import matplotlib.pyplot as plt\nlen(plt.get_fignums())"),
)

# A figure. Drawing the first one loads fonts and the modules that draw and encode pictures. The default style is used
# because the user's settings might start LaTeX, use up a warning about a missing font, or take too long.
_FIGURE = (
    "import matplotlib.pyplot as plt\nwith plt.style.context('default'):\n    figure, axes = plt.subplots()\n"
    "    axes.plot([1, 2])\n    axes.set_title('a')\n    plt.show()\ndel figure, axes"
)

# Python specializes code only after several runs. One figure runs its code often enough.
_TIMES = 12


def warm_up(shell, preload, note=None):
    """Imports the modules that every runner needs and those of `preload`. Returns the modules of `preload` that failed,
    with reasons. Calls `note` with each name after its import."""
    failed = {}
    for name in _USUAL + _SHELLS[shell]:
        # The runner reports a missing shell: a kernel cannot start without it.
        _import(name, note)
    if preload:
        from .__main__ import add_paths

        add_paths([entry for entry in os.environ.get("PYTHONPATH", "").split(":") if entry])
    for name in preload:
        problem = _import(name, note)
        if problem is not None:
            failed[name] = "%s: %s" % (type(problem).__name__, problem)
    if "numpy" in sys.modules:
        __import__("numpy.random")
    if shell == "lite" and "matplotlib.pyplot" in sys.modules:
        # Every copy would do this before its first cell.
        from .figures import use_inline

        os.environ.setdefault("MPLBACKEND", "Agg")
        use_inline()
    return failed


def _import(name, note):
    """Returns the exception of a failed import, or None."""
    try:
        __import__(name)
        return None
    except BaseException as problem:
        return problem
    finally:
        if note is not None:
            note(name)


def settle(shell, seeds):
    """Makes the session that all copies use, and puts this process's memory in order."""
    from .__main__ import prepare
    from .channel import Channel
    from .session import Session

    gc.collect()
    if sys.version_info < (3, 12):
        # Each slot of the attribute cache holds a reference to a name. A lookup that replaces it writes to the old
        # name, which may be on any page.
        sys._clear_type_cache()
    for _ in range(_TIMES):
        seeds.renew()
    if shell == "lite":
        _rehearse()
    # The user's `__main__` must not contain the names of this process.
    main = sys.modules["__main__"] = type(sys)("__main__")
    session = Session(Channel(-1), main.__dict__)
    session.environment = dict(os.environ)
    if shell == "lite":
        prepare(session)
        session.set_prelude("full")
    gc.collect()
    session.ballast = _fill_pools()
    # The collector then leaves the present objects alone, so that copies share their pages.
    gc.freeze()
    return session


# Facts about Python's allocator: it keeps objects up to the largest size in pools, each for objects of one size.
_POOL_BYTES = (1 << 14 if sys.version_info >= (3, 10) else 1 << 12) - 64
_LARGEST_BYTES = 512
# Filling more holes of one size than this does not pay.
_MOST_BYTES = 1 << 18


def _fill_pools():
    """Fills the holes that imports have left between objects. A copy would put its own objects into them, on many
    different pages. Without holes it puts them side by side."""
    filling, empty = [], sys.getsizeof(b"")
    for size in range(empty // 16 * 16 + 16, _LARGEST_BYTES + 1, 16):
        row, last = 0, None
        # A row of neighbours as long as a pool fills an empty pool, so no pool with holes is left.
        for _ in range(_MOST_BYTES // size):
            one = bytes(size - empty)
            filling.append(one)
            row = row + 1 if last is not None and id(one) == id(last) + size else 0
            last = one
            if row >= _POOL_BYTES // size * 9 // 10:
                break
    return filling


def _rehearse():
    """Starts sessions without output, and runs typical first cells in the last one."""
    import linecache
    import warnings

    from . import _set_current

    names = ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")
    streams = [(name, getattr(sys, name)) for name in names]
    known = set(linecache.cache)
    null = os.open(os.devnull, os.O_RDWR)
    try:
        with warnings.catch_warnings():
            # Python does not mark an ignored warning as given.
            warnings.simplefilter("ignore")
            for _ in range(_TIMES):
                session = _rehearse_start(null)
            _set_current(session)
            session.connect(null)
            cells = [code for module, code in _CELLS if module is None or module in sys.modules]
            if any(module in sys.modules for module, _ in _CELLS):
                # The runner alone is too small for this to pay.
                _move_together(lambda: _run(session, cells, 2))
            _run(session, cells, _TIMES)
            if _can_draw():
                _run(session, [_FIGURE], 1)
                sys.modules["matplotlib.pyplot"].close("all")
                # Copies must not share an open file. Matplotlib also forgets its fonts in a copy.
                sys.modules["matplotlib.font_manager"]._get_font.cache_clear()
            session.descriptors.close()
    finally:
        _set_current(None)
        os.close(null)
        for name, stream in streams:
            setattr(sys, name, stream)
        for name in set(linecache.cache) - known:
            del linecache.cache[name]


def _can_draw():
    """Whether this process can draw a figure without a trace in copies. Backends other than Agg open windows or start
    programs. The fonts of a figure are open files, which must be closed again."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if not getattr(pyplot, "_inkcell", False):
        return False
    is_agg = str(dict.get(pyplot.rcParams, "backend")).lower() == "agg"
    fonts = getattr(sys.modules.get("matplotlib.font_manager"), "_get_font", None)
    return is_agg and hasattr(fonts, "cache_clear")


def _run(session, cells, times):
    for code in cells:
        for number in range(times):
            session.run_cell({"id": number, "code": code})


def _move_together(run):
    """Moves the code that runs side by side. Running code counts references to it. Between the other code of its
    module, nearly every function would cost a copy a page."""
    ran = {}

    def note(frame, event, _):
        if event == "call":
            ran[id(frame.f_code)] = frame.f_code

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    kind = type(_run)
    functions = [one for one in gc.get_objects() if type(one) is kind and id(one.__code__) in ran]
    moved = {key: code.replace() for key, code in ran.items()}
    for function in functions:
        function.__code__ = moved[id(function.__code__)]


def _rehearse_start(null):
    from .__main__ import set_environment
    from .channel import Channel
    from .session import Session

    session = Session(Channel(null), {})
    session.connect(null)
    session.descriptors.close()
    session.streams.install()
    session.set_prelude("full")
    set_environment(dict(os.environ), dict(os.environ))
    return session
