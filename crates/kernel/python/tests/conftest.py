"""Where the tests find the runner, and the host they drive it with."""

import os
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
