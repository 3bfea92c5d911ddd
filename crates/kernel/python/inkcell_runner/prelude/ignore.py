"""Git's ignore rules: one pattern, one file of patterns, the rules in force in a directory.

Owns the meaning of `.gitignore` and `.git/info/exclude` as gitignore(5) defines it. Must not know the walk that
asks. It ignores the user's global excludes file, so that an answer depends on the tree alone.
"""

import os
import re
from functools import lru_cache

_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "\\x21-\\x7e",
    "lower": "a-z",
    "print": "\\x20-\\x7e",
    "punct": "!-/:-@\\[-`{-~",
    "space": " \\t\\n\\r\\f\\v",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}

_NEVER = "(?!)"
_PLAIN = re.compile(r"[^*?\[\\]*")


@lru_cache(maxsize=4096)
def wildcard(pattern, slashes=True, start=0):
    """Compile a pattern of git's wildmatch; with `slashes` only `**` crosses a `/`.

    A `**` at `start` counts as one at the beginning of a path component.
    """
    star, one = ("[^/]*", "[^/]") if slashes else (".*", ".")
    parts, at, size = [], 0, len(pattern)
    while at < size:
        char = pattern[at]
        if char == "*":
            end = at
            while end < size and pattern[end] == "*":
                end += 1
            opens = at in (0, start) or pattern[at - 1] == "/"
            closes = end == size or pattern[end] == "/" or pattern[end : end + 2] == "\\/"
            if slashes and end - at > 1 and opens and closes:
                if end < size and pattern[end] == "/":
                    # `**/` stands for any number of directories, including none.
                    parts.append("(?:.*/)?")
                    end += 1
                else:
                    parts.append(".*")
            else:
                parts.append(star)
            at = end
        elif char == "?":
            parts.append(one)
            at += 1
        elif char == "[":
            text, at = _bracket(pattern, at, slashes)
            parts.append(text)
        elif char == "\\":
            # A backslash at the very end escapes nothing and can match nothing.
            parts.append(re.escape(pattern[at + 1]) if at + 1 < size else _NEVER)
            at += 2
        else:
            parts.append(re.escape(char))
            at += 1
    return re.compile("".join(parts), re.DOTALL)


def _bracket(pattern, at, slashes):
    """Translate the bracket expression at `at`; return its text and its end."""
    at += 1
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    members, first = [], True
    while True:
        char = pattern[at : at + 1]
        if not char:
            # An unclosed bracket makes the whole pattern match nothing.
            return _NEVER, len(pattern)
        if char == "]" and not first:
            at += 1
            break
        first = False
        if char == "[" and pattern[at + 1 : at + 2] == ":":
            close = pattern.find("]", at + 2)
            if close < 0:
                return _NEVER, len(pattern)
            if pattern[close - 1] == ":" and close - 1 >= at + 2:
                name = pattern[at + 2 : close - 1]
                if name not in _CLASSES:
                    return _NEVER, len(pattern)
                members.append(_CLASSES[name])
                at = close + 1
                continue
        low, at = _member(pattern, at)
        if low is None:
            return _NEVER, len(pattern)
        if pattern[at : at + 1] == "-" and pattern[at + 1 : at + 2] not in ("]", ""):
            high, at = _member(pattern, at + 1)
            if high is None:
                return _NEVER, len(pattern)
            # The first character counts even if the range is empty.
            members.append(_literal(low))
            if low < high:
                members.append("%s-%s" % (_literal(low), _literal(high)))
        else:
            members.append(_literal(low))
    return _class(members, negated, slashes), at


def _member(pattern, at):
    """One character of a bracket, with backslash as escape; None if it is missing."""
    if pattern[at] == "\\":
        at += 1
    return (pattern[at], at + 1) if at < len(pattern) else (None, at)


def _literal(char):
    return "\\x%02x" % ord(char) if ord(char) < 128 else char


def _class(members, negated, slashes):
    body = "".join(members)
    if not body:
        return ("[^/]" if slashes else ".") if negated else _NEVER
    guard = "(?!/)" if slashes else ""
    return "%s[%s%s]" % (guard, "^" if negated else "", body)


def as_bytes(text):
    """The text with one character per byte, because git matches bytes: `?` is half an `é`."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


class Rule:
    """One line of an ignore file."""

    __slots__ = ("negated", "only_dirs", "by_name", "expression")

    def __init__(self, line):
        self.negated = line.startswith("!")
        pattern = line[1:] if self.negated else line
        self.only_dirs = pattern.endswith("/")
        if self.only_dirs:
            pattern = pattern[:-1]
        # A slash that is not the last character ties the pattern to the
        # directory of its file; without one it names an entry at any depth.
        self.by_name = "/" not in pattern
        if pattern.startswith("/"):
            pattern = pattern[1:]
        pattern = as_bytes(pattern)
        # Git compares the part before the first special character separately and matches the rest as if the
        # pattern began there, so `a**/b` crosses slashes.
        plain = len(_PLAIN.match(pattern).group())
        self.expression = wildcard(pattern, not self.by_name, plain)

    def matches(self, relative, name, is_dir):
        if self.only_dirs and not is_dir:
            return False
        text = as_bytes(name if self.by_name else relative)
        return self.expression.fullmatch(text) is not None


def parse(text):
    """The rules of an ignore file's text, the last one first."""
    rules = []
    for line in text.lstrip("\ufeff").split("\n"):
        if line.endswith("\r"):
            line = line[:-1]
        if line.startswith("#"):
            continue
        line = _without_trailing_spaces(line)
        if line and line != "!":
            rules.append(Rule(line))
    rules.reverse()
    return rules


def _without_trailing_spaces(line):
    stripped = line.rstrip(" ")
    if stripped == line:
        return line
    slashes = len(stripped) - len(stripped.rstrip("\\"))
    # An odd number of backslashes escapes the first of the trailing spaces.
    return stripped + " " if slashes % 2 else stripped


def _rules_of(path):
    # Git does not follow a link for this file, and reads only regular files.
    try:
        if os.path.islink(path) or not os.path.isfile(path):
            return []
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            return parse(file.read())
    except OSError:
        return []


def _is_repository(directory):
    return os.path.lexists(os.path.join(directory, ".git"))


class Rules:
    """The rules in force for the entries of one directory."""

    __slots__ = ("directory", "_layers")

    def __init__(self, directory, layers):
        self.directory = directory
        # Each layer is a directory and the rules that start there. The deepest comes first, because the deepest
        # file with a matching rule decides.
        self._layers = layers

    @classmethod
    def at(cls, directory):
        """The rules for a directory, from its repository's root down to itself.

        Outside a repository only the files from here down count. Otherwise a stray file far above, which git
        would never read, could hide entries.
        """
        directory = os.path.realpath(directory)
        chain = [directory]
        while not _is_repository(chain[-1]):
            parent = os.path.dirname(chain[-1])
            if parent == chain[-1]:
                chain = [directory]
                break
            chain.append(parent)
        rules = cls._root(chain.pop())
        while chain:
            rules = rules.below(os.path.basename(chain.pop()))
        return rules

    @classmethod
    def _root(cls, directory):
        layers = []
        exclude = os.path.join(directory, ".git", "info", "exclude")
        for path in (os.path.join(directory, ".gitignore"), exclude):
            rules = _rules_of(path)
            if rules:
                layers.append((directory, rules))
        return cls(directory, layers)

    def below(self, name):
        """The rules for the directory `name` in this one."""
        directory = os.path.join(self.directory, name)
        if _is_repository(directory):
            # A repository inside another uses only its own rules.
            return self._root(directory)
        rules = _rules_of(os.path.join(directory, ".gitignore"))
        layers = [(directory, rules)] + self._layers if rules else self._layers
        return Rules(directory, layers)

    def ignores(self, name, is_dir):
        """Whether the entry `name` of this directory is ignored."""
        for directory, rules in self._layers:
            inner = self.directory[len(directory) :].lstrip(os.sep).replace(os.sep, "/")
            relative = inner + "/" + name if inner else name
            for rule in rules:
                if rule.matches(relative, name, is_dir):
                    return not rule.negated
        return False
