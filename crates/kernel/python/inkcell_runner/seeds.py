"""Numbers drawn at random: a copy of the fork server must not draw those that another one draws.

Owns giving a copy a state of its own, of `random` and of numpy.  Numpy's own ways to do that run so much of
its code that they would cost a copy more memory than all the rest of its start; where numpy tells the place
of its state, that is filled instead.
"""

import os
import sys

# The words of a Mersenne Twister's state, which stand before its position.
_KEY_BYTES = 624 * 4


class Seeds:
    """Made in the fork server when everything is imported."""

    def __init__(self):
        # Asked for by attribute it would be imported, in every copy.
        self._numpy = sys.modules.get("numpy.random")
        self._key = None if self._numpy is None else _numpy_key(self._numpy)

    def renew(self):
        """In a copy."""
        if "random" in sys.modules:
            sys.modules["random"].seed()
        if self._key is not None:
            self._key[:] = os.urandom(_KEY_BYTES)
        elif self._numpy is not None:
            self._numpy.seed()


def _numpy_key(numbers):
    """The place of the state of `numpy.random`, or None where this numpy keeps another kind of state."""
    try:
        import ctypes

        # Whole, and with nothing left over from an earlier draw.
        numbers.seed()
        name, key, position = numbers.get_state()[:3]
        address = numbers.mtrand._rand._bit_generator.ctypes.state_address
        place = memoryview((ctypes.c_char * (_KEY_BYTES + 4)).from_address(address)).cast("B")
        wanted = key.tobytes() + int(position).to_bytes(4, sys.byteorder)
        return place[:_KEY_BYTES] if name == "MT19937" and place == wanted else None
    except Exception:
        return None
