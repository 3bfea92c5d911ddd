//! Every helper of the prelude on every backend: one call each.

use inkcell_kernel::Prelude;

use crate::bench::{Bench, Start};

/// A helper, a call of it, and its output. A test of the runner compares the names with those of the prelude.
const CALLS: &[(&str, &str, &str)] = &[
    ("write", r"write('a.txt', 'b\na\na\n').name", "'a.txt'"),
    ("read", "read('a.txt')", r"'b\na\na\n'"),
    ("append", r"append('a.txt', 'c\n').name", "'a.txt'"),
    ("cat", "cat('a.txt') == read('a.txt')", "True"),
    ("touch", "touch('t').exists()", "True"),
    ("pwd", "pwd().is_dir()", "True"),
    ("cd", "cd('.') == pwd()", "True"),
    ("ls", "'a.txt' in [path.name for path in ls()]", "True"),
    ("tree", "'a.txt' in tree()", "True"),
    ("stat", "type(stat('a.txt'))", "dict"),
    ("mkdir", "mkdir('d/e').is_dir()", "True"),
    ("cp", "cp('a.txt', 'd').exists()", "True"),
    ("mv", "mv('t', 'u').exists()", "True"),
    ("rm", "(rm('u'), 'u' in [path.name for path in ls()])[1]", "False"),
    ("find", "len(find('a.txt')) > 0", "True"),
    ("glob_files", "[path.name for path in glob_files('a.*')]", "['a.txt']"),
    ("grep", "grep('b', 'a.txt')", "[(1, 'b')]"),
    ("rgrep", "len(rgrep('b')) > 0", "True"),
    ("head", r"head('1\n2', 1).strip()", "'1'"),
    ("tail", r"tail('1\n2', 1).strip()", "'2'"),
    ("wc", "type(wc('a b'))", "dict"),
    ("sort_lines", r"sort_lines('b\na').split()", "['a', 'b']"),
    ("sort", r"sort('b\na').split()", "['a', 'b']"),
    ("uniq", r"uniq('a\na\nb').split()", "['a', 'b']"),
    ("cols", "cols('a b', 1).strip()", "'b'"),
    ("counter", "counter(['x', 'x', 'y'])", "[(2, 'x'), (1, 'y')]"),
    ("replace", "replace('a.txt', 'c', 'd')", "1"),
    ("sed", "sed('a.txt', 'd', 'c')", "1"),
    ("rsed", "(rsed('^c$', 'e', glob_pattern='a.txt', flags=8), 'e' in read('a.txt'))[1]", "True"),
    ("lines", "'b' in str(lines('a.txt', 1, 1))", "True"),
    ("insert_at", "insert_at('a.txt', 1, 'n').name", "'a.txt'"),
    ("delete_matching", "delete_matching('a.txt', '^n$')", "1"),
    ("delete_lines", "delete_lines('a.txt', 1)", "1"),
    ("diff", "len(diff('a.txt', 'd/a.txt')) > 0", "True"),
    ("batch", "batch(['a.txt'], lambda path: path.name)", "['a.txt']"),
    ("parallel", "parallel([lambda: 1, lambda: 2])", "[1, 2]"),
    ("pipeline", "pipeline([1, 2], lambda n: n + 1)", "[2, 3]"),
    ("env", "env('HELPER', '5')", "'5'"),
    ("run", "run('echo hi')", "hi"),
    ("sh", "sh('echo hi').stdout[-3:]", r"'hi\n'"),
    ("bash", "bash('echo hi').code", "0"),
    ("git_status", "type(git_status())", "dict"),
    ("git_diff", "type(git_diff())", "str"),
    ("git_log", "len(git_log())", "1"),
    ("git_show", "git_show()['subject']", "'first'"),
    ("git_file_at", "git_file_at('HEAD', 'kept').strip()", "'x'"),
    ("git_branch", "type(git_branch())", "dict"),
    ("git_has_changes", "git_has_changes()", "True"),
    ("display", "display('shown') is None", "True"),
    ("log", "log('said') is None", "True"),
    ("phase", "phase('named') is None", "True"),
    ("output", "callable(output)", "True"),
    ("tool", "tool is not None", "True"),
];

/// A repository for the git helpers. Automatic maintenance is off, because it would outlive the test.
const REPOSITORY: &str = "import subprocess\nsubprocess.run(\"git init -q . && echo x > kept && git add kept && \
                          git -c maintenance.auto=false -c user.name=a -c user.email=a@example.com commit -q -m first\", shell=True, check=True)";

/// Issue 21, 5: on a gateway, too, where a kernel has no lifeline.
async fn every_helper_works(start: Start) {
    let mut bench = Bench::empty(start);
    bench.spec.startup.prelude = Prelude::Full;
    bench.relaunch().await;
    bench.run(REPOSITORY).await.ok();
    for (name, call, wanted) in CALLS {
        let ran = bench.run(call).await.ok();
        assert_eq!(ran.result().as_deref(), Some(*wanted), "{name}: {call}");
    }
}

crate::on_every_shell!(every_helper_works);

crate::on_ipc!(every_helper_works);

crate::on_gateways!(every_helper_works);
