"""`IPython.lib.pretty`, backed by the runner's printer."""

import sys

from inkcell_runner import pretty as _ours

__all__ = ["pretty", "pprint", "PrettyPrinter", "RepresentationPrinter", "for_type", "for_type_by_name"]

MAX_SEQ_LENGTH = _ours.MAX_SEQ_LENGTH
PrettyPrinter = _ours.Layout
RepresentationPrinter = _ours.Printer


def pretty(obj, verbose=False, max_width=79, newline="\n", max_seq_length=MAX_SEQ_LENGTH):
    text = _ours.pretty(obj, max_width, max_seq_length)
    return text if newline == "\n" else text.replace("\n", newline)


def pprint(obj, verbose=False, max_width=79, newline="\n", max_seq_length=MAX_SEQ_LENGTH):
    sys.stdout.write(pretty(obj, verbose, max_width, newline, max_seq_length) + newline)
    sys.stdout.flush()


def for_type(typ, func):
    before = _ours.type_printers.get(typ)
    if func is not None:
        _ours.type_printers[typ] = func
    return before


def for_type_by_name(type_module, type_name, func):
    before = _ours.deferred_printers.get((type_module, type_name))
    if func is not None:
        _ours.deferred_printers[(type_module, type_name)] = func
    return before
