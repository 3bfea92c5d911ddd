"""Line breaking as IPython's printer does it.

Owns groups, breakables and indentation: the half of the printer that knows nothing about Python values.

Runs are compared with stored notebooks, so the layout follows IPython exactly, oddities included. Where a line
breaks depends on the order in which the printer breaks groups, so this module keeps that order too.
"""

WIDTH = 79
MAX_SEQ_LENGTH = 1000


class _Group:
    """A run of text that stays on one line or breaks at each of its breakables."""

    __slots__ = ("depth", "pending", "want_break")

    def __init__(self, depth):
        self.depth = depth
        # The number of its breakables that are still undecided in the buffer.
        self.pending = 0
        self.want_break = False


class _Span:
    """The context manager behind ``with p.group(...)`` and ``with p.indent(...)``."""

    __slots__ = ("leave",)

    def __init__(self, leave):
        self.leave = leave

    def __enter__(self):
        return None

    def __exit__(self, *_):
        self.leave()
        return False


class Layout:
    """Breaks lines: the half of the printer that knows nothing about Python values.

    The layout buffers text only after the first breakable that might still become a line end.  When the
    buffered text no longer fits, the layout breaks the outermost group that still has undecided breakables and
    writes all its text.
    """

    def __init__(self, output, max_width=WIDTH, newline="\n", max_seq_length=MAX_SEQ_LENGTH):
        self.output = output
        self.max_width = max_width
        self.newline = newline
        self.max_seq_length = max_seq_length
        self.indentation = 0
        self.output_width = 0
        self.buffer_width = 0
        # Entries are [text, width, group, indentation]; group is None for plain text.  `_head` is the first
        # undecided entry, so taking from the front costs nothing.
        self._buffer = []
        self._head = 0
        root = _Group(0)
        self._open = [root]
        self._by_depth = [[root]]

    # Methods that `_repr_pretty_` methods call.

    def text(self, obj):
        """Adds text that never breaks."""
        width = len(obj)
        if self._head == len(self._buffer):
            self.output.write(obj)
            self.output_width += width
            return
        last = self._buffer[-1]
        if last[2] is None:
            last[0] += obj
            last[1] += width
        else:
            self._buffer.append([obj, width, None, 0])
        self.buffer_width += width
        self._make_room()

    def breakable(self, sep=" "):
        """Adds `sep`, which turns into a line end when its group breaks."""
        group = self._open[-1]
        if group.want_break:
            self.flush()
            self._new_line(self.indentation)
            self.buffer_width = 0
        else:
            width = len(sep)
            self._buffer.append([sep, width, group, self.indentation])
            group.pending += 1
            self.buffer_width += width
            self._make_room()

    def break_(self):
        """Ends the line here, even if more would fit."""
        group = self._next_to_break()
        if group is not None:
            self._break(group)
        self.flush()
        self._new_line(self.indentation)
        self.buffer_width = 0

    def begin_group(self, indent=0, open=""):
        if open:
            self.text(open)
        group = _Group(self._open[-1].depth + 1)
        self._open.append(group)
        while len(self._by_depth) <= group.depth:
            self._by_depth.append([])
        self._by_depth[group.depth].append(group)
        self.indentation += indent

    def end_group(self, dedent=0, close=""):
        self.indentation -= dedent
        group = self._open.pop()
        if not group.pending:
            self._forget(group)
        if close:
            self.text(close)

    def group(self, indent=0, open="", close=""):
        self.begin_group(indent, open)
        return _Span(lambda: self.end_group(indent, close))

    def indent(self, indent):
        self.indentation += indent

        def leave():
            self.indentation -= indent

        return _Span(leave)

    def flush(self):
        """Writes all buffered text without further line breaks."""
        while self._head < len(self._buffer):
            self._emit()
        self._drop_emitted()
        self.buffer_width = 0

    def _enumerate(self, seq):
        """Numbers the items and cuts a sequence that is too long with dots."""
        for index, item in enumerate(seq):
            if self.max_seq_length and index >= self.max_seq_length:
                self.text(",")
                self.breakable()
                self.text("...")
                return
            yield index, item

    # Methods that decide where lines break.

    def _new_line(self, indentation):
        self.output.write(self.newline)
        self.output.write(" " * indentation)
        self.output_width = indentation

    def _emit(self):
        """Writes the first buffered entry."""
        text, width, group, indentation = self._buffer[self._head]
        self._head += 1
        self.buffer_width -= width
        if group is not None:
            group.pending -= 1
            if group.want_break:
                self._new_line(indentation)
                return
            if not group.pending:
                self._forget(group)
        self.output.write(text)
        self.output_width += width

    def _drop_emitted(self):
        del self._buffer[: self._head]
        self._head = 0

    def _break(self, group):
        while group.pending:
            self._emit()
        buffer = self._buffer
        while self._head < len(buffer) and buffer[self._head][2] is None:
            self._emit()
        self._drop_emitted()

    def _make_room(self):
        while self.max_width < self.output_width + self.buffer_width:
            group = self._next_to_break()
            if group is None:
                return
            self._break(group)

    def _next_to_break(self):
        """Takes the outermost group with undecided breakables, newest first.

        Groups passed on the way have no undecided breakables yet.  They are marked as broken too, so their
        later breakables break at once.
        """
        for level in self._by_depth:
            for index in range(len(level)):
                group = level[-1 - index]
                if group.pending:
                    # IPython counts from the end to find the group and from the start to remove it, so with
                    # siblings it removes the wrong one.  This changes where text breaks, so the code keeps it.
                    del level[index]
                    group.want_break = True
                    return group
            for group in level:
                group.want_break = True
            del level[:]
        return None

    def _forget(self, group):
        level = self._by_depth[group.depth]
        if group in level:
            level.remove(group)
