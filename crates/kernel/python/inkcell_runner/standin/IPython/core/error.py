"""The exceptions that magics raise and catch."""


class IPythonCoreError(Exception):
    pass


class TryNext(IPythonCoreError):
    pass


class UsageError(IPythonCoreError):
    """Shown as its message alone."""


class StdinNotImplementedError(IPythonCoreError, NotImplementedError):
    pass
