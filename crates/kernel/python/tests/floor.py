"""The features of Python code that need more than CPython 3.9: a reader of syntax trees and a table of newer names.

Owns the table. It lists features that are easily used by accident, not all new features; running the tests
under 3.9 itself finds the others.
"""

import ast

FLOOR = (3, 9)

#: Modules by the version that added them.
MODULES = {
    "tomllib": (3, 11), "annotationlib": (3, 14), "compression": (3, 14), "string.templatelib": (3, 14),
    "concurrent.interpreters": (3, 14), "pathlib.types": (3, 14), "asyncio.taskgroups": (3, 11),
}

#: Names of modules (and built-in names) by the version that added them.
NAMES = {
    "builtins": {
        "aiter": (3, 10), "anext": (3, 10), "EncodingWarning": (3, 10), "ExceptionGroup": (3, 11),
        "BaseExceptionGroup": (3, 11), "PythonFinalizationError": (3, 13),
    },
    "asyncio": {
        "Runner": (3, 11), "TaskGroup": (3, 11), "timeout": (3, 11), "timeout_at": (3, 11), "Barrier": (3, 11),
        "eager_task_factory": (3, 12), "QueueShutDown": (3, 13), "EventLoop": (3, 13), "print_call_graph": (3, 14),
    },
    "ast": {"TryStar": (3, 11), "TypeAlias": (3, 12), "Match": (3, 10), "compare": (3, 14)},
    "contextlib": {"aclosing": (3, 10), "chdir": (3, 11)},
    "copy": {"replace": (3, 13)},
    "dataclasses": {"KW_ONLY": (3, 10)},
    "datetime": {"UTC": (3, 11)},
    "enum": {
        "StrEnum": (3, 11), "ReprEnum": (3, 11), "verify": (3, 11), "member": (3, 11), "nonmember": (3, 11),
        "property": (3, 11), "global_enum": (3, 11), "show_flag_values": (3, 11),
    },
    "functools": {"Placeholder": (3, 14)},
    "glob": {"translate": (3, 13)},
    "hashlib": {"file_digest": (3, 11)},
    "importlib.metadata": {"packages_distributions": (3, 10)},
    "inspect": {
        "get_annotations": (3, 10), "getmembers_static": (3, 11), "markcoroutinefunction": (3, 12),
        "BufferFlags": (3, 12), "getasyncgenstate": (3, 12),
    },
    "io": {"text_encoding": (3, 10), "Reader": (3, 14), "Writer": (3, 14)},
    "itertools": {"pairwise": (3, 10), "batched": (3, 12)},
    "linecache": {"_register_code": (3, 13)},
    "logging": {"getLevelNamesMapping": (3, 11), "getHandlerByName": (3, 12)},
    "math": {"cbrt": (3, 11), "exp2": (3, 11), "sumprod": (3, 12), "fma": (3, 13)},
    "operator": {"call": (3, 11), "is_none": (3, 14)},
    "os": {
        "eventfd": (3, 10), "splice": (3, 10), "login_tty": (3, 11), "unshare": (3, 12), "setns": (3, 12),
        "PIDFD_NONBLOCK": (3, 12), "process_cpu_count": (3, 13), "timerfd_create": (3, 13), "grantpt": (3, 13),
        "reload_environ": (3, 14), "readinto": (3, 14),
    },
    "os.path": {"isjunction": (3, 12), "splitroot": (3, 12), "ALLOW_MISSING": (3, 14)},
    "queue": {"ShutDown": (3, 13)},
    "random": {"binomialvariate": (3, 12)},
    "re": {"NOFLAG": (3, 11), "PatternError": (3, 13)},
    "sys": {
        "orig_argv": (3, 10), "stdlib_module_names": (3, 10), "exception": (3, 11), "monitoring": (3, 12),
        "activate_stack_trampoline": (3, 12), "_is_gil_enabled": (3, 13), "_is_interned": (3, 13),
        "remote_exec": (3, 14),
    },
    "threading": {"gettrace": (3, 10), "getprofile": (3, 10), "settrace_all_threads": (3, 12)},
    "types": {
        "NoneType": (3, 10), "EllipsisType": (3, 10), "NotImplementedType": (3, 10), "UnionType": (3, 10),
        "get_original_bases": (3, 12), "CapsuleType": (3, 13),
    },
    "typing": {
        "ParamSpec": (3, 10), "Concatenate": (3, 10), "TypeAlias": (3, 10), "TypeGuard": (3, 10), "is_typeddict": (3, 10),
        "Self": (3, 11), "LiteralString": (3, 11), "Never": (3, 11), "Required": (3, 11), "NotRequired": (3, 11),
        "TypeVarTuple": (3, 11), "Unpack": (3, 11), "assert_never": (3, 11), "assert_type": (3, 11),
        "reveal_type": (3, 11), "dataclass_transform": (3, 11), "override": (3, 12), "TypeAliasType": (3, 12),
        "TypeIs": (3, 13), "ReadOnly": (3, 13),
    },
    "warnings": {"deprecated": (3, 13)},
}

#: Methods recognized by their name alone, on any object.
METHODS = {
    "bit_count": (3, 10), "hardlink_to": (3, 10), "add_note": (3, 11), "uncancel": (3, 11),
    "is_junction": (3, 12), "with_segments": (3, 12), "full_match": (3, 13), "from_uri": (3, 13), "copy_into": (3, 14),
    "move_into": (3, 14),
}

#: Keyword arguments of functions and classes, by the last part of their name.
KEYWORDS = {
    "zip": {"strict": (3, 10)},
    "map": {"strict": (3, 14)},
    "dataclass": {"slots": (3, 10), "kw_only": (3, 10), "match_args": (3, 10), "weakref_slot": (3, 11)},
    "field": {"kw_only": (3, 10)},
    "glob": {"root_dir": (3, 10), "dir_fd": (3, 10), "include_hidden": (3, 11), "case_sensitive": (3, 12)},
    "iglob": {"root_dir": (3, 10), "dir_fd": (3, 10), "include_hidden": (3, 11)},
    "rglob": {"case_sensitive": (3, 12), "recurse_symlinks": (3, 13)},
    "rmtree": {"dir_fd": (3, 11), "onexc": (3, 12)},
    "TemporaryDirectory": {"ignore_cleanup_errors": (3, 10), "delete": (3, 12)},
    "NamedTemporaryFile": {"delete_on_close": (3, 12)},
    "signature": {"eval_str": (3, 10), "globals": (3, 10), "locals": (3, 10), "annotation_format": (3, 14)},
    "write_text": {"newline": (3, 10)},
    "read_text": {"newline": (3, 13)},
    "exists": {"follow_symlinks": (3, 12)},
    "is_dir": {"follow_symlinks": (3, 13)},
    "is_file": {"follow_symlinks": (3, 13)},
    "match": {"case_sensitive": (3, 12)},
    "Popen": {"pipesize": (3, 10), "process_group": (3, 11)},
    "run": {"pipesize": (3, 10), "process_group": (3, 11)},
    "check_output": {"pipesize": (3, 10), "process_group": (3, 11)},
    "create_task": {"context": (3, 11), "eager_start": (3, 14)},
    "Thread": {"context": (3, 14)},
    "dump": {"show_empty": (3, 13)},
    "replace": {"count": (3, 13)},
    "warn": {"skip_file_prefixes": (3, 12)},
    "catch_warnings": {"action": (3, 11), "category": (3, 11)},
    "entry_points": {"group": (3, 10), "name": (3, 10)},
    "bisect": {"key": (3, 10)}, "bisect_left": {"key": (3, 10)}, "bisect_right": {"key": (3, 10)},
    "insort": {"key": (3, 10)}, "insort_left": {"key": (3, 10)}, "insort_right": {"key": (3, 10)},
}

#: Calls that need at least this many positional arguments on older versions.
ARGUMENTS = {
    "format_exception": (3, (3, 10)), "print_exception": (3, (3, 10)), "format_exception_only": (2, (3, 10)),
    "to_bytes": (2, (3, 11)), "from_bytes": (2, (3, 11)),
}

# Code inside a matching `try`, or after a check, may use something missing.
_CAUGHT = {"ImportError", "ModuleNotFoundError", "AttributeError", "NameError", "TypeError", "Exception"}
_ASKED = {"version_info", "hexversion", "hasattr"}


def newer(source, filename="<source>"):
    """Uses in `source` beyond the floor: (line, what, version) of each use without a guard."""
    tree = ast.parse(source, filename, feature_version=FLOOR)
    reader = _Reader(tree)
    reader.visit(tree)
    return reader.found


class _Reader(ast.NodeVisitor):
    def __init__(self, tree):
        self.found = []
        self._modules = {}
        self._own = set()
        self._late_annotations = False
        for node in ast.walk(tree):
            self._learn(node)

    def _learn(self, node):
        """Collects the names that stand for modules, and the file's own names."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    self._modules[alias.asname] = alias.name
                else:
                    top = alias.name.split(".")[0]
                    self._modules[top] = top
        elif isinstance(node, ast.ImportFrom):
            if node.module == "__future__":
                self._late_annotations |= any(alias.name == "annotations" for alias in node.names)
            for alias in node.names:
                self._own.add(alias.asname or alias.name)
                if node.module and not node.level:
                    self._modules[alias.asname or alias.name] = node.module + "." + alias.name
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._own.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            self._own.add(node.id)
        elif isinstance(node, ast.arg):
            self._own.add(node.arg)

    def _tell(self, node, what, version):
        if version is not None and version > FLOOR:
            self.found.append((node.lineno, what, version))

    # Guards.

    def visit_If(self, node):
        if not self._asks(node.test):
            self.generic_visit(node)

    visit_IfExp = visit_If

    @staticmethod
    def _asks(test):
        words = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
        words |= {node.attr for node in ast.walk(test) if isinstance(node, ast.Attribute)}
        return bool(words & _ASKED)

    def visit_Try(self, node):
        caught = set()
        for handler in node.handlers:
            kinds = ast.walk(handler.type) if handler.type is not None else ()
            caught |= {kind.id for kind in kinds if isinstance(kind, ast.Name)}
        parts = node.handlers + node.orelse + node.finalbody
        for part in parts if caught & _CAUGHT else node.body + parts:
            self.visit(part)

    # Uses.

    def visit_Import(self, node):
        for alias in node.names:
            self._tell(node, "import " + alias.name, MODULES.get(alias.name))

    def visit_ImportFrom(self, node):
        if node.level or not node.module:
            return
        self._tell(node, "import " + node.module, MODULES.get(node.module))
        for alias in node.names:
            full = node.module + "." + alias.name
            self._tell(node, full, MODULES.get(full) or NAMES.get(node.module, {}).get(alias.name))

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load) and node.id not in self._own:
            self._tell(node, node.id, NAMES["builtins"].get(node.id))

    def visit_Attribute(self, node):
        self._tell(node, "." + node.attr, METHODS.get(node.attr))
        module = self._dotted(node.value)
        if module is not None:
            self._tell(node, module + "." + node.attr, NAMES.get(module, {}).get(node.attr))
        self.generic_visit(node)

    def _dotted(self, node):
        """The module that an expression names, or None."""
        if isinstance(node, ast.Name):
            return self._modules.get(node.id)
        if isinstance(node, ast.Attribute):
            outer = self._dotted(node.value)
            return None if outer is None else outer + "." + node.attr
        return None

    def visit_Call(self, node):
        name = getattr(node.func, "attr", getattr(node.func, "id", None))
        for keyword in node.keywords:
            self._tell(node, "%s(%s=)" % (name, keyword.arg), KEYWORDS.get(name, {}).get(keyword.arg))
        least, version = ARGUMENTS.get(name, (0, None))
        given = len(node.args) + len(node.keywords)
        if given < least and not any(isinstance(arg, ast.Starred) for arg in node.args):
            self._tell(node, "%s() with %d arguments" % (name, given), version)
        if name in ("isinstance", "issubclass") and len(node.args) == 2 and self._is_union(node.args[1]):
            self._tell(node, "%s() with X | Y" % name, (3, 10))
        self.generic_visit(node)

    @staticmethod
    def _is_union(node):
        return isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)

    def _annotation(self, node):
        if node is not None and not self._late_annotations and any(map(self._is_union, ast.walk(node))):
            self._tell(node, "an annotation X | Y", (3, 10))

    def visit_AnnAssign(self, node):
        self._annotation(node.annotation)
        self.generic_visit(node)

    def visit_arg(self, node):
        self._annotation(node.annotation)
        self.generic_visit(node)

    def visit_FunctionDef(self, node):
        self._annotation(node.returns)
        self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef
