"""Batch: `diff`, `batch`, `parallel`, `pipeline`.

Owns comparing two files and running one function over many items. Must not know the effect of the function.
"""

import concurrent.futures
import concurrent.futures.thread  # Otherwise the first use loads it, which is too late.
import contextvars
import difflib
import os

from .paths import keep_lines, read_text, resolve
from .report import preview, status


def diff(a, b):
    """Unified diff of two files; empty if they are the same."""
    first, second = resolve(a), resolve(b)
    rows = difflib.unified_diff(
        keep_lines(read_text(first)),
        keep_lines(read_text(second)),
        fromfile=str(first),
        tofile=str(second),
    )
    # A last line without a line end would run into the next row of the diff.
    text = "".join(
        row if row.endswith("\n") else row + "\n\\ No newline at end of file\n" for row in rows
    )
    status(
        "diff",
        file_a=str(first),
        file_b=str(second),
        identical=not text,
        preview=preview(text),
    )
    return text


def batch(paths, fn):
    """Results of fn(Path) for each path, in order."""
    targets = [resolve(path) for path in paths]
    results = [fn(target) for target in targets]
    status("batch", files=len(targets))
    return results


def parallel(thunks, workers=None):
    """Call functions without arguments at the same time in threads; results in order."""
    thunks = list(thunks)
    for thunk in thunks:
        if not callable(thunk):
            raise TypeError(
                "parallel() takes functions without arguments, not %s" % type(thunk).__name__
            )
    results = _in_threads(lambda thunk: thunk(), thunks, workers)
    status("parallel", count=len(results))
    return results


def pipeline(items, *stages, workers=None):
    """Send items through one-argument stages, each stage over all items in threads."""
    results = list(items)
    for stage in stages:
        if not callable(stage):
            raise TypeError(
                "pipeline() stages take one argument and are callable, not %s"
                % type(stage).__name__
            )
    for stage in stages:
        results = _in_threads(stage, results, workers)
    status("pipeline", count=len(results), stages=len(stages))
    return results


def _in_threads(function, items, workers):
    """Results in the order of the items; raises the error of the first failed item."""
    if not items:
        return []
    width = workers or min(32, (os.cpu_count() or 1) + 4)
    pool = concurrent.futures.ThreadPoolExecutor(min(width, len(items)), "inkcell-parallel")
    try:
        # Each call gets the context of this cell, so that its output belongs to the cell.
        futures = [
            pool.submit(contextvars.copy_context().run, function, item) for item in items
        ]
        concurrent.futures.wait(futures)
    except BaseException:
        # An interrupt must not wait for calls that have not begun.
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
    return [future.result() for future in futures]
