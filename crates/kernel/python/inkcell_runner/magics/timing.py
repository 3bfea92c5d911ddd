"""`%time`, `%timeit`, `%prun`: the time that code takes.

Owns measuring and IPython's wording of the results.
"""

import ast
import sys
import time as clock

from ..shell import UsageError
from .options import leading

_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_COROUTINE = 0x0080  # inspect.CO_COROUTINE, written as a number to avoid the import.
_SLOW = 0.1


def span(seconds, precision=3):
    """A duration in IPython's format: `1.23 ms`, `1min 2s`."""
    if seconds >= 60:
        parts = []
        left = seconds
        for unit, length in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
            whole = int(left / length)
            if whole:
                left %= length
                parts.append("%d%s" % (whole, unit))
            if left < 1:
                break
        return " ".join(parts)
    import math

    order = min(-int(math.floor(math.log10(seconds)) // 3), 3) if seconds > 0 else 3
    unit = ("s", "ms", "%ss" % _writable("\xb5", "u"), "ns")[order]
    return "%.*g %s" % (precision, seconds * 1000**order, unit)


def _writable(sign, plain):
    try:
        sign.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeError, LookupError):
        return plain
    return sign


def _remember(filename, source):
    """Lets tracebacks show the lines of code that is not in any file."""
    import linecache

    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)


def time(shell, line, cell=None, local_ns=None):
    """Time execution of a Python statement or expression.

    The CPU and wall clock times are printed, and the value of the expression
    (if any) is returned. As a cell magic it times the whole cell.
    """
    options, line = leading(line, long_flags=("no-raise-error",))
    if cell is not None and line.strip():
        raise UsageError("Can't use statement directly after '%%time'!")
    source = shell.transform_cell(line if cell is None else cell)
    filename = "<timed exec %d>" % shell.execution_count
    began = clock.perf_counter()
    tree = compile(source, filename, "exec", _AWAIT | ast.PyCF_ONLY_AST, True)
    parsed = clock.perf_counter()
    body = tree.body
    last = ast.Expression(body.pop().value) if body and isinstance(body[-1], ast.Expr) else None
    codes = []
    if body:
        codes.append(compile(tree, filename, "exec", _AWAIT, True))
    if last is not None:
        codes.append(compile(last, filename, "eval", _AWAIT, True))
    compiled = clock.perf_counter()
    _remember(filename, source)
    run = _plain_run(codes, shell.user_ns, None if local_ns is shell.user_ns else local_ns)
    if any(code.co_flags & _COROUTINE for code in codes):
        # Only the session has a loop that can await.
        run = lambda: shell.session.run_source(source, shows=False)  # noqa: E731
    wall, user, system, value, error = measured(run)
    if sys.platform == "win32":
        print("CPU times: total: %s" % span(user + system))
    else:
        print("CPU times: user %s, sys: %s, total: %s" % (span(user), span(system), span(user + system)))
    print("Wall time: %s" % span(wall))
    if compiled - parsed > _SLOW:
        print("Compiler : %s" % span(compiled - parsed))
    if parsed - began > _SLOW:
        print("Parser   : %s" % span(parsed - began))
    shell.session.status("time", wall_ms=round(wall * 1000, 3), cpu_ms=round((user + system) * 1000, 3))
    if error is not None:
        if not options.get("no-raise-error") or not isinstance(error, Exception):
            raise error
        try:
            raise error
        except Exception:
            shell.showtraceback()
    return None if source.rstrip().endswith(";") else value


def _plain_run(codes, names, local):
    def run():
        value = None
        for code in codes:
            value = eval(code, names) if local is None else eval(code, names, local)
        return value

    return run


def _cpu():
    """The user and system CPU seconds of this process."""
    try:
        import resource
    except ImportError:
        import os

        return os.times()[:2]
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime, used.ru_stime


def measured(run):
    """Runs the function: wall, user and system seconds, its value, and its exception."""
    value = error = None
    before = _cpu()
    began = clock.perf_counter()
    try:
        value = run()
    except BaseException as raised:
        # Failed and interrupted code gets its times printed too.
        error = raised
    wall = clock.perf_counter() - began
    after = _cpu()
    return wall, after[0] - before[0], after[1] - before[1], value, error


time.raw_line = True
time.local_names = True


class TimeitResult:
    """The result of `%timeit -o`."""

    def __init__(self, loops, repeat, all_runs, compile_time, precision):
        self.loops = loops
        self.repeat = repeat
        self.all_runs = all_runs
        self.best = min(all_runs) / loops
        self.worst = max(all_runs) / loops
        self.compile_time = compile_time
        self._precision = precision
        self.timings = [run / loops for run in all_runs]

    @property
    def average(self):
        import math

        return math.fsum(self.timings) / len(self.timings)

    @property
    def stdev(self):
        mean = self.average
        return (sum((one - mean) ** 2 for one in self.timings) / len(self.timings)) ** 0.5

    def __str__(self):
        sign = _writable("\xb1", "+-")
        return "%s %s %s per loop (mean %s std. dev. of %d run%s, %s loop%s each)" % (
            span(self.average, self._precision),
            sign,
            span(self.stdev, self._precision),
            sign,
            self.repeat,
            "" if self.repeat == 1 else "s",
            format(self.loops, ","),
            "" if self.loops == 1 else "s",
        )

    def __repr__(self):
        return "<TimeitResult : %s>" % self

    def _repr_pretty_(self, p, cycle):
        p.text(repr(self))


_TEMPLATE = """
def inner(_it, _timer):
    pass
    _t0 = _timer()
    for _i in _it: pass
    _t1 = _timer()
    return _t1 - _t0
"""


def _timed_function(setup, statement, filename):
    """A function that runs `setup` once and `statement` in a loop, with the user's own lines.

    It is built from trees, so that strings over several lines keep their text.
    """
    tree = ast.parse(_TEMPLATE)
    body = tree.body[0].body
    parsed = ast.parse(statement, filename).body
    body[2].body = parsed or body[2].body
    body[0:1] = ast.parse(setup, filename).body
    return compile(ast.fix_missing_locations(tree), filename, "exec", 0, True)


def timeit(shell, line, cell=None, local_ns=None):
    """Time execution of a Python statement or expression many times.

    ``%timeit [-n N] [-r R] [-t|-c] [-p P] [-q] [-o] statement``; as a cell
    magic the line is the setup and the body is timed.

    -n: loops in a run (chosen when not given). -r: runs (7). -p: digits shown.
    -t: wall clock, -c: processor time. -q: print nothing. -o: give the result.
    """
    options, statement = leading(line, flags="tcqov", valued="nrp")
    if not statement.strip() and cell is None:
        return None
    try:
        number = int(options.get("n", 0))
        repeat = int(options.get("r", 7))
        precision = int(options.get("p", 3))
    except ValueError as error:
        raise UsageError("%%timeit: %s" % error) from None
    timer = clock.process_time if "c" in options else clock.perf_counter
    setup = ""
    if cell is not None:
        setup, statement = shell.transform_cell(statement), cell
    statement = shell.transform_cell(statement)
    filename = "<magic-timeit %d>" % shell.execution_count
    began = clock.perf_counter()
    # Compile the statement alone first, so that an error points into the user's text.
    compile(statement, filename, "exec", 0, True)
    code = _timed_function(setup, statement, filename)
    compile_time = clock.perf_counter() - began
    _remember(filename, statement)
    names = shell.user_ns
    if local_ns is not None and local_ns is not names:
        # Inside a function, copy its locals, so that the code sees them.
        names = dict(names, **local_ns)
    made = {}
    exec(code, names, made)
    inner = made["inner"]
    if number == 0:
        for power in range(10):
            number = 10**power
            if _once(inner, number, timer) >= 0.2:
                break
    runs = [_once(inner, number, timer) for _ in range(max(1, repeat))]
    result = TimeitResult(number, max(1, repeat), runs, compile_time, precision)
    if "q" not in options:
        if result.worst > 4 * result.best > 0 and result.worst > 1e-6:
            print(
                "The slowest run took %0.2f times longer than the fastest. This could mean "
                "that an intermediate result is being cached." % (result.worst / result.best)
            )
        print(result)
        if compile_time > _SLOW:
            print("Compiler time: %.2f s" % compile_time)
    return result if "o" in options else None


timeit.raw_line = True
timeit.local_names = True


def _once(inner, number, timer):
    import gc
    import itertools

    # The module timeit does the same: a collection in the middle would count as time.
    enabled = gc.isenabled()
    gc.disable()
    try:
        return inner(itertools.repeat(None, number), timer)
    finally:
        if enabled:
            gc.enable()


def prun(shell, line, cell=None):
    """Run a statement through the Python code profiler.

    ``%prun [-l LIMIT] [-s KEY] [-T FILE] [-D FILE] [-q] [-r] statement``
    """
    import cProfile
    import io
    import pstats

    options, statement = leading(line, flags="qr", valued="lsTD")
    if cell is not None:
        statement = statement + "\n" + cell
    profile = cProfile.Profile()
    code = compile(shell.transform_cell(statement), "<string>", "exec", 0, True)
    note = ""
    try:
        profile.runctx(code, shell.user_ns, shell.user_ns)
    except SystemExit:
        note = "*** SystemExit exception caught in code being profiled."
    text = io.StringIO()
    stats = pstats.Stats(profile, stream=text).strip_dirs().sort_stats(options.get("s", "time"))
    limit = options.get("l")
    if limit is not None:
        try:
            limit = float(limit) if "." in limit else int(limit)
        except ValueError:
            pass
    stats.print_stats(*([] if limit is None else [limit]))
    if "D" in options:
        profile.dump_stats(options["D"])
        print("\n*** Profile stats marshalled to file %r.%s" % (options["D"], note))
    if "T" in options:
        with open(options["T"], "w", encoding="utf-8") as file:
            file.write(text.getvalue())
        print("\n*** Profile printout saved to text file %r.%s" % (options["T"], note))
    if "q" not in options:
        print(" " + text.getvalue().strip() + (("\n" + note) if note else ""))
    return stats if "r" in options else None


prun.raw_line = True

MAGICS = {"time": time, "timeit": timeit, "prun": prun}
