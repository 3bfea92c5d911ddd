"""Configuration of the tests: the paths of the runner, of the host that drives it, and a library with threads."""

import collections
import os
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


@pytest.fixture
def host():
    from host import Host

    one = Host()
    yield one
    one.close()


OPENMP = """
#include <omp.h>
int add(int n) {
    int sum = 0;
    #pragma omp parallel for num_threads(4) reduction(+ : sum)
    for (int i = 1; i <= n; i++) sum += i;
    return sum;
}
"""


@pytest.fixture
def openmp(tmp_path):
    """A folder with a library that computes on four threads."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc: whether OpenMP works in copies is NOT tried")
    (tmp_path / "add.c").write_text(OPENMP)
    build = ["gcc", "-shared", "-fPIC", "-fopenmp", "-o", "libadd.so", "add.c"]
    subprocess.run(build, cwd=tmp_path, check=True, timeout=60)
    return tmp_path


def pytest_collection_modifyitems(config, items):
    """Keeps a sample, `every/from`, of the tests that another interpreter runs whole."""
    sample = os.environ.get("INKCELL_TEST_SAMPLE")
    if sample:
        every, first = map(int, sample.split("/"))
        config.hook.pytest_deselected(items=[item for at, item in enumerate(items) if at % every != first])
        items[:] = items[first::every]


def pytest_terminal_summary(terminalreporter):
    """Lists skipped tests for the test command, which repeats the list at its end."""
    path = os.environ.get("INKCELL_TEST_SKIPPED")
    if not path or hasattr(terminalreporter.config, "workerinput"):
        return
    reasons = collections.Counter(report.longrepr[2] for report in terminalreporter.getreports("skipped"))
    with open(path, "a") as file:
        for reason, count in sorted(reasons.items()):
            reason = reason[9:] if reason.startswith("Skipped: ") else reason
            file.write("%d of the runner's tests: %s\n" % (count, reason))
