"""Options of magics.

Owns the splitting of a magic's line. Two ways are needed: code after options
must keep its exact text, and plain arguments may stand before or after them.
"""

import shlex

from ..shell import UsageError


def leading(line, flags="", valued="", long_flags=()):
    """Options before code: a dict of them, and the rest of the line as typed."""
    found = {}
    rest = line.lstrip()
    while rest.startswith("-"):
        word, _, after = rest.partition(" ")
        if word == "--":
            return found, after.lstrip()
        if word.startswith("--"):
            if word[2:] not in long_flags:
                # It may be code: `--x` is Python.
                break
            found[word[2:]] = True
            rest = after.lstrip()
            continue
        letters = word[1:]
        taken = {}
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter in flags:
                taken[letter] = True
            elif letter in valued:
                if not letters:
                    letters, _, after = after.lstrip().partition(" ")
                taken[letter] = letters
                letters = ""
            else:
                taken = None
                break
        if not taken:
            # Not ours, so it is the beginning of the code: `%timeit -x`.
            break
        found.update(taken)
        rest = after.lstrip()
    return found, rest


def words(line):
    """The words of a line, quotes removed; a lone quote is no error."""
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def anywhere(line, flags="", valued=""):
    """Options among arguments: a dict of them, and the other words.

    Names are given separated by blanks, letters and long ones alike; other
    spellings of one name are joined with a bar: `a|append`. The first
    spelling is the key.
    """
    keys = {}
    for names, takes in ((flags, False), (valued, True)):
        for entry in names.split():
            spellings = entry.split("|")
            for spelling in spellings:
                keys[spelling] = (spellings[0], takes)
    found, others = {}, []
    pending = iter(words(line))
    for word in pending:
        if word == "--":
            others.extend(pending)
        elif word.startswith("-") and len(word) > 1 and not word[1:2].isdigit():
            name, given, value = word.lstrip("-").partition("=")
            if name not in keys:
                raise UsageError("unrecognized arguments: %s" % word)
            key, takes = keys[name]
            if takes and not given:
                value = next(pending, None)
                if value is None:
                    raise UsageError("argument %s: expected one argument" % word)
            found[key] = value if takes else True
        else:
            others.append(word)
    return found, others


def without_comment(line):
    """A line whose arguments never hold a hash, without the comment after them."""
    return line.partition("#")[0].strip()
