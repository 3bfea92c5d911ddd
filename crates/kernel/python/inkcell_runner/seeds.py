"""Seeds of random numbers: a copy of the fork server must not draw the numbers that another copy draws.

Owns giving each copy its own state of `random` and of numpy.  Numpy's own functions for this run so much of its
code that they would cost a copy more memory than the rest of its start; if numpy reveals the address of its
state, the copy writes the state there instead.
"""

import os
import sys

# The words of a Mersenne Twister's state, which stand before its position.
_KEY_BYTES = 624 * 4


class Seeds:
    """Sources of random numbers; the fork server makes this after all imports."""

    def __init__(self):
        # Taking it as an attribute of numpy would import it, in every copy.
        self._numpy = sys.modules.get("numpy.random")
        self._key = None if self._numpy is None else _numpy_key(self._numpy)

    def renew(self):
        """Gives this copy new random numbers."""
        if "random" in sys.modules:
            sys.modules["random"].seed()
        if self._key is not None:
            self._key[:] = os.urandom(_KEY_BYTES)
        elif self._numpy is not None:
            self._numpy.seed()


def _numpy_key(numbers):
    """The memory of the state of `numpy.random`, or None if this numpy keeps another kind of state."""
    try:
        import ctypes

        # Seeding fills the whole state and drops the leftovers of earlier draws.
        numbers.seed()
        name, key, position = numbers.get_state()[:3]
        address = numbers.mtrand._rand._bit_generator.ctypes.state_address
        place = memoryview((ctypes.c_char * (_KEY_BYTES + 4)).from_address(address)).cast("B")
        wanted = key.tobytes() + int(position).to_bytes(4, sys.byteorder)
        return place[:_KEY_BYTES] if name == "MT19937" and place == wanted else None
    except Exception:
        return None
