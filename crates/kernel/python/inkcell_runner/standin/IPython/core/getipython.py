"""`get_ipython()`: the shell of the current session."""


def get_ipython():
    from inkcell_runner import current

    return current().shell
