"""Finds where in unfinished code a cursor is: in a string, in a comment, in the brackets of which call.

Owns reading code up to the cursor. It must not know what any name means.
"""

_OPEN = {"(": ")", "[": "]", "{": "}"}


class Place:
    """The surroundings of the cursor."""

    def __init__(self, text):
        # Where the text of the string around the cursor begins; below, its quotes and its prefix letters.
        self.string = None
        self.quote = ""
        self.prefix = ""
        self.in_comment = False
        # Open brackets as (bracket, position), the innermost last.
        self.brackets = []
        self._read(text)

    def _read(self, text):
        at = 0
        while at < len(text):
            letter = text[at]
            if letter == "#":
                end = text.find("\n", at)
                if end < 0:
                    self.in_comment = True
                    return
                at = end
            elif letter in "\"'":
                at = self._skip_string(text, at)
                if at is None:
                    return
            elif letter in _OPEN:
                self.brackets.append((letter, at))
            elif letter in ")]}" and self.brackets:
                self.brackets.pop()
            at += 1

    def _skip_string(self, text, at):
        """Returns the last position of the string that begins here. None if the text ends inside it."""
        quote = text[at] * 3 if text.startswith(text[at] * 3, at) else text[at]
        if len(quote) == 1 and text.startswith(quote * 2, at) and not text.startswith(quote * 3, at):
            return at + 1
        begin = at + len(quote)
        here = begin
        while here < len(text):
            if text[here] == "\\":
                here += 2
                continue
            if text.startswith(quote, here):
                return here + len(quote) - 1
            if text[here] == "\n" and len(quote) == 1:
                # The string is never closed. The next line is code again.
                return here
            here += 1
        self.string, self.quote = begin, quote
        first = at
        while first > 0 and text[first - 1] in "rbfuRBFU" and at - first < 2:
            first -= 1
        self.prefix = text[first:at].lower()
        return None
