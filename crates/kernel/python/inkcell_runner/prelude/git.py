"""Git: `git_status`, `git_diff`, `git_log`, `git_show`, `git_file_at`, `git_branch`, `git_has_changes`.

Owns reading a repository through the git command. Must not change one. On failure the status event has the
reason, and the helper returns an empty value.
"""

import os
import subprocess

from .paths import resolve, split_lines
from .report import HITS, NAMES, preview, status


class _Failure(Exception):
    """Git failed; the text is git's message."""


def _git(cwd, *args):
    environment = dict(os.environ, GIT_OPTIONAL_LOCKS="0", GIT_TERMINAL_PROMPT="0")
    try:
        done = subprocess.run(
            ["git", "--no-pager", "-c", "core.quotepath=off", "-c", "color.ui=false", *args],
            cwd=None if cwd is None else str(resolve(cwd)),
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
    except OSError as error:
        raise _Failure("git could not be started: %s" % (error.strerror or error))
    if done.returncode:
        text = done.stderr.decode("utf-8", "replace").strip()
        raise _Failure(text or "git ended with code %d" % done.returncode)
    return done.stdout.decode("utf-8", "replace")


def _checked(ref):
    # Git would read a name that begins with a dash as an option.
    if ref.startswith("-"):
        raise _Failure("ref %r begins with a dash" % ref)
    return ref


def git_status(cwd=None):
    """Branch, staged, modified, untracked and conflicted paths, ahead and behind as a dict."""
    try:
        text = _git(cwd, "status", "--porcelain=v2", "--branch", "-z")
    except _Failure as failure:
        status("git_status", error=str(failure))
        return {}
    answer = _read_status(text)
    files = answer["staged"] + answer["modified"] + answer["untracked"]
    status(
        "git_status",
        branch=answer["branch"],
        staged=len(answer["staged"]),
        modified=len(answer["modified"]),
        untracked=len(answer["untracked"]),
        clean=not files,
        files=list(dict.fromkeys(files))[:NAMES],
    )
    return answer


def _read_status(text):
    answer = {
        "branch": None,
        "staged": [],
        "modified": [],
        "untracked": [],
        "conflicted": [],
        "ahead": 0,
        "behind": 0,
    }
    records = iter(text.split("\0"))
    for record in records:
        kind = record[:1]
        if record.startswith("# branch.head "):
            answer["branch"] = record[len("# branch.head ") :]
        elif record.startswith("# branch.ab "):
            ahead, behind = record.split(" ")[2:4]
            answer["ahead"], answer["behind"] = int(ahead), -int(behind)
        elif kind in ("1", "2"):
            # The path is the last field; the number of fields before it varies.
            fields = record.split(" ", 8 if kind == "1" else 9)
            if fields[1][0] != ".":
                answer["staged"].append(fields[-1])
            if fields[1][1] != ".":
                answer["modified"].append(fields[-1])
            if kind == "2":
                # The old path of a rename follows as its own record.
                next(records, None)
        elif kind == "u":
            path = record.split(" ", 10)[-1]
            answer["modified"].append(path)
            answer["conflicted"].append(path)
        elif kind == "?":
            answer["untracked"].append(record[2:])
    return answer


def git_diff(*paths, staged=False, ref=None, stat=False, cwd=None):
    """Diff of the work tree, of the index with staged=True, or against a ref."""
    args = ["diff"] + ["--stat"] * bool(stat) + ["--cached"] * bool(staged)
    try:
        args += [_checked(ref)] if ref else []
        text = _git(cwd, *args, "--", *map(str, paths))
    except _Failure as failure:
        status("git_diff", error=str(failure))
        return ""
    lines = len(split_lines(text))
    status("git_diff", staged=staged, ref=ref, lines=lines, preview=preview(text))
    return text


def git_log(n=10, oneline=True, ref_range=None, paths=None, cwd=None):
    """Last n commits as dicts of sha, subject, author and date; oneline shortens the sha."""
    form = "--format=%s%%x00%%s%%x00%%an%%x00%%aI" % ("%h" if oneline else "%H")
    try:
        args = [_checked(ref_range)] if ref_range else []
        text = _git(cwd, "log", "-n", str(int(n)), form, *args, "--", *map(str, paths or ()))
    except _Failure as failure:
        status("git_log", error=str(failure))
        return []
    keys = ("sha", "subject", "author", "date")
    commits = [dict(zip(keys, line.split("\0"))) for line in text.split("\n") if line]
    entries = [
        {"sha": commit["sha"][:8], "subject": commit["subject"][:_SUBJECT]}
        for commit in commits[:HITS]
    ]
    status("git_log", commits=len(commits), entries=entries)
    return commits


_SUBJECT = 60


def git_show(ref="HEAD", stat=True, cwd=None):
    """One commit as a dict of sha, subject, author, date, body and the files it changed."""
    try:
        # With this suffix, git shows the commit of a tag instead of the tag's own text.
        commit = _checked(ref) + "^{commit}"
        form = "--format=%H%x00%s%x00%an%x00%aI%x00%b"
        text = _git(cwd, "show", "--no-patch", form, commit, "--")
        files = []
        if stat:
            args = ("show", "-m", "--first-parent", "--name-only", "-z", "--format=")
            files = [name for name in _git(cwd, *args, commit, "--").split("\0") if name]
    except _Failure as failure:
        status("git_show", ref=ref, error=str(failure))
        return {}
    answer = dict(zip(("sha", "subject", "author", "date", "body"), text.split("\0")))
    answer["body"] = answer["body"].strip()
    answer["files"] = [name.strip("\n") for name in files]
    status(
        "git_show",
        ref=ref,
        sha=answer["sha"][:12],
        subject=answer["subject"][:_SUBJECT],
        files=len(answer["files"]),
    )
    return answer


def git_file_at(ref, path, lines=None, cwd=None):
    """Text of a file at a ref; lines=(start, end) picks lines (from 1, both included)."""
    path = str(path)
    try:
        text = _git(cwd, "show", "%s:%s" % (_checked(ref), path))
    except _Failure as failure:
        status("git_file_at", ref=ref, path=path, error=str(failure))
        return ""
    if lines is None:
        status("git_file_at", ref=ref, path=path, chars=len(text))
        return text
    rows = split_lines(text)
    start, end = max(1, lines[0]), min(len(rows), lines[1])
    chosen = rows[start - 1 : end]
    status("git_file_at", ref=ref, path=path, start=start, end=end, lines=len(chosen))
    return "\n".join(chosen)


def git_branch(cwd=None):
    """Current branch, local and remote branches as a dict."""
    answer = {"current": None, "local": [], "remote": []}
    try:
        # Only the full name tells the kind of a branch.
        form = "--format=%(refname)%00%(symref)"
        text = _git(cwd, "for-each-ref", form, "refs/heads", "refs/remotes")
    except _Failure as failure:
        status("git_branch", error=str(failure))
        return answer
    for line in text.split("\n"):
        name, _, target = line.partition("\0")
        if name.startswith("refs/heads/"):
            answer["local"].append(name[len("refs/heads/") :])
        elif name.startswith("refs/remotes/") and not target:
            answer["remote"].append(name[len("refs/remotes/") :])
    try:
        answer["current"] = _git(cwd, "symbolic-ref", "--short", "-q", "HEAD").strip()
    except _Failure:
        # Detached: no branch is the current one.
        pass
    status(
        "git_branch",
        current=answer["current"],
        local=len(answer["local"]),
        remote=len(answer["remote"]),
        branches=answer["local"][:NAMES],
    )
    return answer


def git_has_changes(cwd=None):
    """Whether the repository has changed, staged or untracked files."""
    try:
        changed = bool(_git(cwd, "status", "--porcelain", "-z"))
    except _Failure as failure:
        status("git_has_changes", error=str(failure))
        return False
    status("git_has_changes", has_changes=changed)
    return changed
