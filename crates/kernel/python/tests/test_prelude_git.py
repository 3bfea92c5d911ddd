"""Git helpers, in repositories made for the test. B:E-41, B:W-23."""

import shutil
import subprocess

import pytest
from test_prelude import ns, session  # noqa: F401

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(*args):
    done = subprocess.run(["git", *args], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repo(session, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    git("init", "-q", ".")
    git("symbolic-ref", "HEAD", "refs/heads/main")
    git("config", "user.name", "test")
    git("config", "user.email", "test@example.com")
    (tmp_path / "a.txt").write_text("1\n2\n3\n")
    (tmp_path / "é b.txt").write_text("x\n")
    git("add", ".")
    git("commit", "-q", "-m", "first", "-m", "with a body")
    return tmp_path


def test_status(ns, session, repo):
    assert ns.git_status() == {
        "branch": "main", "staged": [], "modified": [], "untracked": [], "conflicted": [],
        "ahead": 0, "behind": 0,
    }  # fmt: skip
    assert session.last() == {
        "op": "git_status", "branch": "main", "staged": 0, "modified": 0, "untracked": 0,
        "clean": True, "files": [],
    }  # fmt: skip
    git("mv", "é b.txt", "new name.txt")
    (repo / "a.txt").write_text("1\n")
    (repo / "u v").touch()
    answer = ns.git_status(cwd=".")
    assert answer["staged"] == ["new name.txt"] and answer["modified"] == ["a.txt"]
    assert answer["untracked"] == ["u v"]
    event = session.last()
    assert (event["staged"], event["modified"], event["untracked"]) == (1, 1, 1)
    assert event["clean"] is False and event["files"] == ["new name.txt", "a.txt", "u v"]


def test_status_of_a_conflict_and_ahead(ns, repo):
    git("checkout", "-q", "-b", "side")
    (repo / "a.txt").write_text("side\n")
    git("commit", "-qam", "side")
    git("checkout", "-q", "main")
    git("branch", "--set-upstream-to=side")
    (repo / "a.txt").write_text("main\n")
    git("commit", "-qam", "main")
    assert (ns.git_status()["ahead"], ns.git_status()["behind"]) == (1, 1)
    subprocess.run(["git", "merge", "side"], capture_output=True)
    assert ns.git_status()["conflicted"] == ["a.txt"]


def test_diff(ns, session, repo):
    assert ns.git_diff() == ""
    (repo / "a.txt").write_text("1\n2\n4\n")
    text = ns.git_diff()
    assert "-3\n+4\n" in text
    assert session.last() == {
        "op": "git_diff", "staged": False, "ref": None, "lines": len(text.splitlines()),
        "preview": text[:500],
    }  # fmt: skip
    assert ns.git_diff("é b.txt") == ""
    git("add", ".")
    assert ns.git_diff() == "" and "+4" in ns.git_diff(staged=True)
    assert "+4" in ns.git_diff("a.txt", ref="HEAD") and session.last()["ref"] == "HEAD"
    assert "1 file changed" in ns.git_diff(staged=True, stat=True)
    assert ns.git_diff(ref="nonsense") == "" and "nonsense" in session.last()["error"]
    assert ns.git_diff(ref="--output=evil") == "" and "dash" in session.last()["error"]
    assert not (repo / "evil").exists()


def test_log_and_show(ns, session, repo):
    (repo / "b").touch()
    git("add", ".")
    git("commit", "-qm", "second " + "x" * 100)
    commits = ns.git_log()
    assert [commit["subject"][:6] for commit in commits] == ["second", "first"]
    assert set(commits[0]) == {"sha", "subject", "author", "date"}
    assert commits[0]["author"] == "test"
    event = session.last()
    assert event["commits"] == 2 and set(event["entries"][0]) == {"sha", "subject"}
    assert len(event["entries"][0]["subject"]) == 60
    full = ns.git_log(1, oneline=False)
    assert len(full) == 1 and full[0]["sha"] == git("rev-parse", "HEAD")
    assert len(ns.git_log(paths=["a.txt"])) == 1
    assert len(ns.git_log(ref_range="HEAD~1..HEAD")) == 1
    assert ns.git_log(ref_range="none") == [] and session.last()["error"]

    git("tag", "-a", "v1", "-m", "tag text", "HEAD~1")
    shown = ns.git_show("v1")
    assert shown["sha"] == git("rev-parse", "HEAD~1") and shown["subject"] == "first"
    assert shown["body"] == "with a body" and shown["author"] == "test"
    assert shown["files"] == ["a.txt", "é b.txt"]
    assert session.last() == {
        "op": "git_show", "ref": "v1", "sha": shown["sha"][:12], "subject": "first", "files": 2,
    }  # fmt: skip
    assert ns.git_show(stat=False)["files"] == []
    assert ns.git_show("none") == {} and session.last()["error"]
    assert session.last()["ref"] == "none"


def test_show_of_a_merge(ns, repo):
    git("checkout", "-q", "-b", "side")
    (repo / "s").touch()
    git("add", ".")
    git("commit", "-qm", "side")
    git("checkout", "-q", "main")
    git("merge", "-q", "--no-ff", "-m", "merge", "side")
    assert ns.git_show()["files"] == ["s"]


def test_log_of_ten_entries(ns, session, repo):
    for number in range(12):
        git("commit", "-q", "--allow-empty", "-m", "c%d" % number)
    assert len(ns.git_log(20)) == 13
    assert session.last()["commits"] == 13 and len(session.last()["entries"]) == 10


def test_file_at(ns, session, repo):
    (repo / "a.txt").write_text("changed")
    assert ns.git_file_at("HEAD", "a.txt") == "1\n2\n3\n"
    assert session.last() == {"op": "git_file_at", "ref": "HEAD", "path": "a.txt", "chars": 6}
    assert ns.git_file_at("HEAD", "a.txt", lines=(2, 9)) == "2\n3"
    assert session.last() == {
        "op": "git_file_at", "ref": "HEAD", "path": "a.txt", "start": 2, "end": 3, "lines": 2,
    }  # fmt: skip
    assert ns.git_file_at("HEAD", "none") == "" and session.last()["error"]


def test_branches_are_told_apart_by_their_full_names(ns, session, repo):
    git("branch", "team/topic")
    git("branch", "feature/x")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    git("update-ref", "refs/remotes/origin/feature/y", "HEAD")
    git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    assert ns.git_branch() == {
        "current": "main",
        "local": ["feature/x", "main", "team/topic"],
        "remote": ["origin/feature/y", "origin/main"],
    }
    assert session.last() == {
        "op": "git_branch", "current": "main", "local": 3, "remote": 2,
        "branches": ["feature/x", "main", "team/topic"],
    }  # fmt: skip
    git("checkout", "-q", "--detach")
    assert ns.git_branch()["current"] is None


def test_has_changes(ns, session, repo):
    assert ns.git_has_changes() is False
    assert session.last() == {"op": "git_has_changes", "has_changes": False}
    (repo / "new").touch()
    assert ns.git_has_changes() is True


def test_outside_a_repository(ns, session, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    empty = {"current": None, "local": [], "remote": []}
    for call, want in [
        (ns.git_status, {}), (ns.git_diff, ""), (ns.git_log, []), (ns.git_show, {}),
        (ns.git_branch, empty), (ns.git_has_changes, False),
        (lambda: ns.git_file_at("HEAD", "x"), ""),
    ]:  # fmt: skip
        assert call() == want
        assert session.last()["error"], session.last()


def test_without_git(ns, session, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert ns.git_status() == {}
    assert "could not be started" in session.last()["error"]
