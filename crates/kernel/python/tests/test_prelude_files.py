"""Helpers on files and directories: effect and status of each. B:E-41, B:E-44."""

import json
import os

import pytest
from test_prelude import ns, session  # noqa: F401


def test_pwd_cd_ls(ns, session, tmp_path):
    assert ns.pwd() == tmp_path.resolve()
    assert session.last() == {"op": "pwd", "path": str(tmp_path.resolve())}
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.txt").touch()
    assert [p.name for p in ns.ls()] == ["b.txt", "sub"]
    assert session.last() == {"op": "ls", "path": ".", "count": 2, "items": ["b.txt", "sub/"]}
    assert ns.cd("sub") == (tmp_path / "sub").resolve()
    assert session.last() == {"op": "cd", "path": os.getcwd()}
    for number in range(25):
        open("f%02d" % number, "w").close()
    assert len(ns.ls(".")) == 25
    assert session.last()["count"] == 25 and len(session.last()["items"]) == 20
    with pytest.raises(FileNotFoundError):
        ns.cd("nowhere")


def test_home_is_expanded(ns, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    ns.write("~/x.txt", "1")
    assert (tmp_path / "x.txt").read_text() == "1"
    assert ns.cd("~") == tmp_path.resolve()


def test_stat(ns, session, tmp_path):
    (tmp_path / "a").write_text("abc")
    info = ns.stat("a")
    assert info["size"] == 3 and info["is_file"] and not info["is_dir"]
    assert info["mode"].startswith("0o100")
    assert session.last() == {
        "op": "stat", "path": "a", "size": 3, "is_dir": False, "mtime": info["mtime"],
    }  # fmt: skip


def test_tree(ns, session, tmp_path):
    for name in ("b/c/d/e.txt", "a.txt", "Z.txt", ".hid", "node_modules/x", "skip.log"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / ".gitignore").write_text("*.log\n")
    os.symlink("b", tmp_path / "link")
    assert ns.tree() == "\n".join(
        ["./", "├── b/", "│   └── c/", "│       └── d/", "├── link/", "├── a.txt", "└── Z.txt"]
    )
    assert session.last()["op"] == "tree" and session.last()["path"] == "."
    assert session.last()["entries"] == 6
    assert ns.tree(".", max_depth=1, show_hidden=True).count("\n") == 6
    for number in range(200):
        (tmp_path / ("long-name-%d" % number)).touch()
    text = ns.tree()
    assert session.last()["preview"] == text[:1000] and len(text) > 1000
    with pytest.raises(NotADirectoryError):
        ns.tree("a.txt")


def test_read(ns, session, tmp_path):
    (tmp_path / "a").write_text("1\n2\x0c2\n3\n4")
    assert ns.read("a") == "1\n2\x0c2\n3\n4"
    assert session.last() == {"op": "read", "path": "a", "chars": 9, "preview": "1\n2\x0c2\n3\n4"}
    assert ns.read("a", 2) == "2\x0c2\n3\n4"
    assert ns.read("a", offset=2, limit=2) == "2\x0c2\n3\n"
    assert ns.read("a", limit=0) == ""
    assert ns.read("a", 9) == ""
    (tmp_path / "long").write_text("x" * 900)
    ns.read("long")
    assert session.last()["chars"] == 900 and len(session.last()["preview"]) == 500


def test_write_append_cat_touch(ns, session, tmp_path):
    assert ns.write("d/e/a.txt", "one\r\n").read_bytes() == b"one\r\n"
    assert session.last() == {"op": "write", "path": "d/e/a.txt", "chars": 5}
    ns.append("d/e/a.txt", "two")
    assert session.last() == {"op": "append", "path": "d/e/a.txt", "chars": 3}
    assert ns.append("n/new", "é").read_text(encoding="utf-8") == "é"
    assert ns.cat("d/e/a.txt", "n/new") == "one\ntwo\né"
    assert session.last() == {"op": "cat", "files": 2, "chars": 9, "preview": "one\ntwo\né"}
    assert ns.cat("n/new", "n/new", separator="--") == "é--é"
    assert ns.touch("t/x").exists()
    assert session.last() == {"op": "touch", "path": "t/x"}
    with pytest.raises(TypeError, match="content must be str, not bytes"):
        ns.write("no", b"x")
    assert not (tmp_path / "no").exists()


def test_scheme_paths(ns, session, tmp_path, monkeypatch):
    root = tmp_path / "root"
    monkeypatch.setenv("PI_EVAL_LOCAL_ROOTS", json.dumps({"local": str(root)}))
    assert ns.write("local://a/b%20c.txt", "x") == root / "a" / "b c.txt"
    assert ns.read("LOCAL://a/b c.txt") == "x"
    assert session.last()["path"] == str(root / "a" / "b c.txt")
    for bad in ("local:///etc/passwd", "local://../x", "local://a/%2e%2e/../x", "local://C:/x",
                "local://a\\..\\..\\x"):  # fmt: skip
        with pytest.raises(ValueError, match="must be relative"):
            ns.read(bad)
    with pytest.raises(ValueError, match="other:// has no directory.*known: local://"):
        ns.write("other://x", "1")
    monkeypatch.setenv("PI_EVAL_LOCAL_ROOTS", "no json")
    with pytest.raises(ValueError, match="known: none"):
        ns.read("local://x")
    other = tmp_path / "ours"
    monkeypatch.setenv("INKCELL_EVAL_LOCAL_ROOTS", json.dumps({"local": str(other)}))
    assert ns.write("local://x", "1") == other / "x"


def test_mkdir_rm(ns, session, tmp_path):
    ns.mkdir("a/b")
    assert session.last() == {"op": "mkdir", "path": "a/b"}
    ns.mkdir("a/b")
    assert ns.rm("a") is None
    assert session.last() == {"op": "rm", "path": "a", "error": "directory, use recursive=True"}
    os.symlink("a", "link")
    ns.rm("link")
    assert session.last() == {"op": "rm", "path": "link"}
    assert (tmp_path / "a" / "b").is_dir()
    ns.rm("a", recursive=True)
    assert session.last() == {"op": "rm", "path": "a", "recursive": True}
    ns.rm("a")
    assert session.last() == {"op": "rm", "path": "a", "error": "missing"}
    os.symlink("gone", "dangling")
    ns.rm("dangling")
    assert not os.path.lexists("dangling")
    ns.write("f", "")
    ns.rm("f/x")
    assert "error" in session.last()


def test_mv_cp(ns, session, tmp_path):
    ns.write("a", "1")
    ns.mv("a", "d/b")
    assert session.last() == {"op": "mv", "src": "a", "dst": "d/b"}
    ns.write("c", "2")
    assert ns.mv("c", "d").read_text() == "2"
    ns.cp("d", "e/f")
    assert session.last() == {"op": "cp", "src": "d", "dst": "e/f"}
    assert sorted(p.name for p in (tmp_path / "e" / "f").iterdir()) == ["b", "c"]
    assert ns.cp("d/b", "e").read_text() == "1"
    with pytest.raises(FileNotFoundError):
        ns.cp("none", "x")


def test_replace_and_sed_keep_what_they_do_not_name(ns, session, tmp_path):
    file = tmp_path / "a"
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo one\r\n\xff\n")
    assert ns.replace("a", "one", "1") == 2
    assert session.last() == {"op": "replace", "path": "a", "count": 2}
    assert file.read_bytes() == b"\xef\xbb\xbf1\r\ntwo 1\r\n\xff\n"
    assert ns.replace("a", r"t(w)o", r"\1", regex=True) == 1
    assert ns.sed("a", "^W", "v", flags=10) == 1
    assert session.last() == {"op": "sed", "path": "a", "count": 1}
    assert file.read_bytes() == b"\xef\xbb\xbf1\r\nv 1\r\n\xff\n"
    os.utime(file, (1, 1))
    assert ns.sed("a", "absent", "") == 0
    assert file.stat().st_mtime == 1
    with pytest.raises(ValueError, match="pattern is empty"):
        ns.replace("a", "", "x")


def test_rsed(ns, session, tmp_path):
    for number in range(12):
        ns.write("s/%02d.py" % number, "x = x\n")
    ns.write("s/other.txt", "x")
    ns.write("s/.hid.py", "x")
    ns.write("s/ignored.py", "x")
    ns.write(".gitignore", "ignored.py")
    (tmp_path / "s" / "bin.py").write_bytes(b"x\0x")
    assert ns.rsed("x", "y", "s", glob_pattern="*.py") == 25
    ns.write("s/.gitignore", "ignored.py")
    event = session.events[-2]
    assert (event["op"], event["path"], event["count"], event["files"]) == ("rsed", "s", 25, 13)
    assert event["changed"][0] == {"file": os.path.join("s", "00.py"), "count": 2}
    assert len(event["changed"]) == 10
    assert ns.read("s/other.txt") == "x" and ns.read("s/.hid.py") == "x"
    assert (tmp_path / "s" / "bin.py").read_bytes() == b"x\0x"
    assert ns.rsed("x", "z", hidden=True, glob_pattern=".hid*") == 1


def test_lines(ns, session, tmp_path):
    (tmp_path / "a").write_text("1\n2\n3\n4\n")
    assert ns.lines("a", 2, 3) == "2\n3"
    assert session.last() == {
        "op": "lines", "path": "a", "start": 2, "end": 3, "count": 2, "preview": "2\n3",
    }  # fmt: skip
    assert ns.lines("a") == "1\n2\n3\n4"
    assert ns.lines("a", 3, 99) == "3\n4"
    assert ns.lines("a", 9) == ""


def test_delete_lines(ns, session, tmp_path):
    file = tmp_path / "a"
    file.write_bytes(b"1\r\n2\n3\n4")
    assert ns.delete_lines("a", 2) == 1
    assert session.last() == {"op": "delete_lines", "path": "a", "start": 2, "end": 2, "count": 1}
    assert file.read_bytes() == b"1\r\n3\n4"
    assert ns.delete_lines("a", 2, 9) == 2
    assert file.read_bytes() == b"1\r\n"
    assert ns.delete_lines("a", 5, 6) == 0
    assert file.read_bytes() == b"1\r\n"


def test_delete_matching(ns, session, tmp_path):
    file = tmp_path / "a"
    file.write_bytes(b"a.b\r\naxb\nc")
    assert ns.delete_matching("a", "a.b", regex=False) == 1
    assert session.last() == {"op": "delete_matching", "path": "a", "pattern": "a.b", "count": 1}
    assert ns.delete_matching("a", "b$") == 1
    assert file.read_bytes() == b"c"


@pytest.mark.parametrize(
    "before, line, after, want, at",
    [
        (b"1\n2\n", 1, True, b"1\nx\ny\n2\n", 1),
        (b"1\n2\n", 1, False, b"x\ny\n1\n2\n", 1),
        (b"1\n2\n", 0, True, b"x\ny\n1\n2\n", 0),
        (b"1\n2\n", 0, False, b"x\ny\n1\n2\n", 1),
        (b"1\n2", 2, True, b"1\n2\nx\ny\n", 2),
        (b"1\n2\n", 99, True, b"1\n2\nx\ny\n", 2),
        (b"1\n2\n", 99, False, b"1\n2\nx\ny\n", 3),
        (b"1\r\n2\r\n", 1, True, b"1\r\nx\r\ny\r\n2\r\n", 1),
        (b"", 1, True, b"x\ny\n", 0),
    ],
)
def test_insert_at(ns, session, tmp_path, before, line, after, want, at):
    file = tmp_path / "a"
    file.write_bytes(before)
    ns.insert_at("a", line, "x\ny", after=after)
    assert file.read_bytes() == want
    assert session.last() == {
        "op": "insert_at", "path": "a", "line": at, "lines_inserted": 2,
        "position": "after" if after else "before",
    }  # fmt: skip


def test_diff(ns, session, tmp_path):
    ns.write("a", "1\n2\n")
    ns.write("b", "1\n3")
    text = ns.diff("a", "b")
    assert text == (
        "--- a\n+++ b\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n\\ No newline at end of file\n"
    )
    assert session.last() == {
        "op": "diff", "file_a": "a", "file_b": "b", "identical": False, "preview": text,
    }  # fmt: skip
    assert ns.diff("a", "a") == "" and session.last()["identical"] is True
