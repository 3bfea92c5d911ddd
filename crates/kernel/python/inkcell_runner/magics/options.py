"""Options of magics.

Owns the splitting of a magic's line, in two ways: code after options must keep its exact text, and plain
arguments may stand before or after the options.
"""

import shlex

from ..shell import UsageError


def leading(line, flags="", valued="", long_flags=()):
    """Options before code: a dict of them, and the rest of the line unchanged."""
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
            # An unknown option is the beginning of the code: `%timeit -x`.
            break
        found.update(taken)
        rest = after.lstrip()
    return found, rest


def words(line):
    """The words of a line, without quotes; a lone quote is not an error."""
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def anywhere(line, flags="", valued=""):
    """Options among arguments: a dict of them, and the other words.

    Blanks separate the option names, short and long ones alike; a bar joins the spellings of one name:
    `a|append`. The first spelling is the key.
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
    """The line without its trailing comment, for lines whose arguments never contain a hash."""
    return line.partition("#")[0].strip()
