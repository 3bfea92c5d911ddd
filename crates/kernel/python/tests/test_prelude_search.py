"""Searching, and git's ignore rules compared with git itself. B:E-41, B:W-23."""

import os
import shutil
import subprocess

import pytest
from test_prelude import ns, session  # noqa: F401

from inkcell_runner.prelude.ignore import Rules
from inkcell_runner.prelude.walk import walk

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

PATHS = """
a.txt b.log build/out.txt build/keep.txt src/build src/main.py src/deep/x.log src/deep/y.txt
src/deep/er/z.tmp docs/a.md docs/sub/b.md docs/sub/deep/c.md foo/bar foo/x/bar foo/x/y/bar
foo/bar.txt foobar/a x/foo/bar/z abc/d.o #hash !bang lead\\slash a[1].txt ab.txt a/b/c/d
a/b/x.txt logs/debug.log logs/keep/debug.log important/logs/a.log UPPER.LOG t.c t.h t1 t2 t_
.hidden/x .dot trail with\x20space tab\tname é.txt nested/in/file.tmp nested/in/file.keep
""".split()
PATHS += ["a b.txt", "end ", "q?x", "star*x"]

IGNORES = [
    "*.log\n!important/logs/*.log\n",
    "build/\n",
    "/build\n",
    "build\n!build/keep.txt\n",
    "build/*\n!build/keep.txt\n",
    "src/**/x.log\n",
    "**/bar\n",
    "foo/**\n",
    "foo/**/bar\n",
    "/foo/*/bar\n",
    "foo/*\n",
    "docs/**/*.md\n!docs/sub/**\n",
    "**/sub/\n",
    "**\n!*/\n!*.md\n",
    "*\n!*.txt\n!*/\n",
    "a**b\n",
    "foo**bar\n",
    "foo/**bar\n",
    "/*\n!/src\n",
    "t[0-9]\n",
    "t[!0-9]\n",
    "t[^0-9]\n",
    "t.[ch]\n",
    "t[[:digit:]]\n",
    "t[[:bogus:]]\n",
    "t[]_]\n",
    "t[0-\n",
    "[[:upper:]]*.LOG\n",
    "a\\[1\\].txt\n",
    "a[[]1].txt\n",
    "\\#hash\n#b.log\n",
    "\\!bang\n",
    "lead\\\\slash\n",
    "a.txt\\\n",
    "end\\ \n",
    "end   \n",
    "a.txt   \n",
    "a.txt\t\n",
    "a.txt\r\nb.log\r\n",
    "\ufeffa.txt\n",
    "a?txt\n",
    "a?b\n",
    "q\\?x\nstar\\*x\n",
    "a/b\n",
    "a/b/\n",
    "a/**/d\n",
    "a/**/\n",
    "b/x.txt\n",
    "/\n",
    "//\n",
    "!\n",
    "\n   \n",
    ".*\n",
    "*.tmp\n",
    "nested/in/*\n!nested/in/file.keep\n",
    "e*\n!end \n",
    "é.txt\n",
    "?.txt\n",
    "logs\n!logs/keep\n",
    "logs/**/debug.log\n",
    "*.txt\n!a.txt\na.*\n",
    "src/build/\n",
    "***/bar\n",
    "foo/***\n",
    "*/x.txt\n",
    "[a-\\c]b.txt\n",
    "[z-a]b.txt\n",
    "[!a]b.txt\n",
    "[a-[^b-]*\n",
    "f**/bar\n",
    "foo[/]bar\n",
    "foo/\\bar\n",
    "foo\\/bar\n",
    "**/\n",
    "x/foo\n!x/foo/bar\n",
]


def git(where, *args, **options):
    return subprocess.run(
        ["git", "-c", "core.excludesFile=", *args], cwd=where, check=True, **options
    )


def make_tree(root):
    for name in PATHS:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    git(root, "init", "-q", ".")


def ask_git(root, names):
    done = subprocess.run(
        ["git", "-c", "core.excludesFile=", "check-ignore", "-z", "--stdin", "--no-index"],
        cwd=root,
        input="\0".join(names).encode() + b"\0",
        stdout=subprocess.PIPE,
    )
    assert done.returncode in (0, 1)
    return {name for name in done.stdout.decode().split("\0") if name}


def everything(root):
    found = set()
    for here, dirs, files in os.walk(root):
        dirs[:] = [name for name in dirs if name != ".git"]
        for name in dirs + files:
            found.add(os.path.relpath(os.path.join(here, name), root))
    return found


def visited(root):
    return {"/".join(parts) for parts, _, _ in walk(root, hidden=True)}


def compare(root):
    names = everything(root)
    ignored = ask_git(root, sorted(names))
    assert names - visited(root) == ignored


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("tree")
    make_tree(root)
    return root


@needs_git
@pytest.mark.parametrize("text", IGNORES)
def test_one_file_of_rules_as_git(tree, text):
    (tree / ".gitignore").write_bytes(text.encode())
    compare(tree)


@needs_git
def test_nested_files_and_the_exclude_file_as_git(tmp_path):
    make_tree(tmp_path)
    (tmp_path / ".gitignore").write_text("*.tmp\n*.md\n/src/deep\n!src/deep\n")
    (tmp_path / "nested/in/.gitignore").write_text("!file.tmp\n/file.keep\n")
    (tmp_path / "docs/.gitignore").write_text("!*.md\n/sub/deep\n")
    (tmp_path / "foo/.gitignore").write_text("x/\n")
    (tmp_path / "src/.gitignore").write_text("/deep/er\ndeep/y.txt\nbuild\n")
    (tmp_path / ".git/info").mkdir(exist_ok=True)
    (tmp_path / ".git/info/exclude").write_text("a.txt\n*.log\n!docs/a.md\n")
    os.symlink("foo", tmp_path / "link")
    compare(tmp_path)
    with open(tmp_path / ".gitignore", "a") as file:
        file.write("link/\nfoo/bar\n")
    compare(tmp_path)


@needs_git
def test_rules_above_the_start_count_up_to_the_repository(tmp_path, ns):
    (tmp_path / ".gitignore").write_text("*\n")
    repo = tmp_path / "repo"
    make_tree(repo)
    (repo / ".gitignore").write_text("/src/deep/*.log\n/y.txt\n")
    names = [str(path.relative_to(repo)) for path in ns.find("*", repo / "src" / "deep")]
    assert names == ["src/deep/er/z.tmp", "src/deep/y.txt"]


def test_without_a_repository_only_files_from_here_down_count(tmp_path, ns):
    (tmp_path / ".gitignore").write_text("*.txt\n")
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "a.txt").touch()
    (tmp_path / "d" / "e" / "b.txt").touch()
    (tmp_path / "d" / "e" / ".gitignore").write_text("b.*\n")
    assert [p.name for p in ns.find("*", "d")] == ["a.txt"]
    assert ns.find("*.txt") == []


def test_a_repository_inside_has_its_own_rules(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("*.txt\n")
    inner = tmp_path / "inner"
    (inner / ".git").mkdir(parents=True)
    (inner / "a.txt").touch()
    assert visited(tmp_path) == {".gitignore", "inner", "inner/a.txt"}
    assert not Rules.at(inner).ignores("a.txt", False)


def names(paths):
    return [path.name for path in paths]


@pytest.fixture
def files(tmp_path):
    for name in ("a.py", "b.txt", "d/c.py", "d/e/f.py", ".h/g.py", ".env", "d/.x.py",
                 "node_modules/n.py", ".git/hooks/k.py", "skip/s.py"):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("import os\nprint(os)\n")
    (tmp_path / ".gitignore").write_text("skip/\n")
    return tmp_path


def test_find(ns, session, files):
    found = ns.find("*.py")
    root = files.resolve()
    assert found == [root / "a.py", root / "d/c.py", root / "d/e/f.py"]
    assert session.last() == {
        "op": "find", "pattern": "*.py", "path": str(root), "count": 3,
        "matches": [str(path) for path in found],
    }  # fmt: skip
    assert names(ns.find("*", type="dir")) == ["d", "e"]
    assert names(ns.find("d*", type="any")) == ["d"]
    assert names(ns.find("*.py", limit=2)) == ["a.py", "c.py"]
    assert names(ns.find("*.py", hidden=True)) == ["g.py", "a.py", ".x.py", "c.py", "f.py"]
    assert names(ns.find(".env")) == [".env"]
    assert names(ns.find("**/*.py", "d")) == ["c.py", "f.py"]
    assert names(ns.find("e/*.py")) == ["f.py"]
    assert names(ns.find("d/**/*.py")) == ["c.py", "f.py"]
    assert names(ns.find("*.py", maxdepth=1)) == ["a.py"]
    assert names(ns.find("*.py", mindepth=2, maxdepth=2)) == ["c.py"]
    assert ns.find("*.py", "skip") != []
    with pytest.raises(ValueError, match="'file', 'dir', 'any'"):
        ns.find("*", type="f")
    with pytest.raises(ValueError, match="relative to path"):
        ns.find("/etc/*")
    with pytest.raises(FileNotFoundError):
        ns.find("*", "none")


def test_find_newest(ns, session, files):
    for age, name in enumerate(("a.py", "d/c.py", "d/e/f.py")):
        os.utime(files / name, (1000 - age, 1000 - age))
    os.utime(files / "b.txt", (2000, 2000))
    assert names(ns.find("*", sort_by_mtime=True, limit=2)) == ["b.txt", "a.py"]


def test_find_lists_at_most_twenty(ns, session, tmp_path):
    for number in range(30):
        (tmp_path / ("f%02d" % number)).touch()
    assert len(ns.find("f*")) == 30
    assert session.last()["count"] == 30 and len(session.last()["matches"]) == 20


def test_links_are_not_entered(ns, files):
    os.symlink(".", files / "loop")
    os.symlink("a.py", files / "l.py")
    os.symlink("gone", files / "dangling.py")
    assert names(ns.find("*.py", maxdepth=1)) == ["a.py", "dangling.py", "l.py"]
    assert "loop" in names(ns.find("*", type="dir"))
    assert len(ns.rgrep("import")) == 5


def test_glob_files(ns, session, files):
    found = ns.glob_files("*")
    assert [str(path) for path in found] == ["a.py", "b.txt", "d"]
    assert session.last() == {
        "op": "glob", "pattern": "*", "path": ".", "count": 3, "matches": ["a.py", "b.txt", "d"],
    }  # fmt: skip
    assert [str(path) for path in ns.glob_files("d/*.py")] == ["d/c.py"]
    assert [str(path) for path in ns.glob_files("*.py", "d", hidden=True)] == ["d/.x.py", "d/c.py"]
    assert names(ns.glob_files(".*")) == [".env", ".gitignore", ".h"]
    assert names(ns.glob_files("**/f.py")) == ["f.py"]


def test_grep(ns, session, tmp_path):
    (tmp_path / "a").write_bytes(b"one\nTwo.\n\x0cthree two\xff\nfour\n")
    assert ns.grep("two", "a") == [(3, "\x0cthree two\ufffd")]
    assert session.last() == {
        "op": "grep", "pattern": "two", "path": "a", "count": 1,
        "hits": [{"line": 3, "text": "\x0cthree two\ufffd"}],
    }  # fmt: skip
    assert [n for n, _ in ns.grep("t.o", "a", ignore_case=True)] == [2, 3]
    assert ns.grep("o.", "a", literal=True) == [(2, "Two.")]
    assert ns.grep("O.", "a", literal=True, ignore_case=True) == [(2, "Two.")]
    assert [n for n, _ in ns.grep("one", "a", context=1)] == [1, 2]
    assert session.last()["count"] == 1 and len(session.last()["hits"]) == 2
    (tmp_path / "many").write_text(("x" * 300 + "\n") * 30)
    assert len(ns.grep("x", "many")) == 30
    assert len(session.last()["hits"]) == 10
    assert len(session.last()["hits"][0]["text"]) == 100


def test_rgrep(ns, session, files):
    (files / "bin.py").write_bytes(b"\0import")
    hits = ns.rgrep("import", glob_pattern="*.py")
    assert [(str(path), line) for path, line, _ in hits] == [
        ("a.py", 1), ("d/c.py", 1), ("d/e/f.py", 1),
    ]  # fmt: skip
    assert session.last() == {
        "op": "rgrep", "pattern": "import", "path": ".", "count": 3,
        "hits": [{"file": str(p), "line": line, "text": text} for p, line, text in hits],
    }  # fmt: skip
    assert len(ns.rgrep("os", limit=3)) == 3
    assert len(ns.rgrep("import", hidden=True)) == 7
    assert len(ns.rgrep("IMPORT", ignore_case=True, glob_pattern="d/*.py")) == 1
    assert ns.rgrep("print(os)", "a.py", literal=True)[0][1:] == (2, "print(os)")


def test_a_pipe_is_not_read(ns, files):
    os.mkfifo(files / "pipe")
    assert len(ns.rgrep("import")) == 4
