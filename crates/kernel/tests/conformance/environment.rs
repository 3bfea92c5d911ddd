//! The environment of a kernel: its variables, its folder, its streams, and the changes of a request.

use inkcell_kernel::CodeRequest;

use crate::bench::{Bench, Start};

fn set(name: &str, value: Option<&str>) -> (String, Option<String>) {
    (name.to_owned(), value.map(str::to_owned))
}

/// B:E-30 B:R-37: managed variables are set before every cell, and removed once they have no value.
async fn managed_variables_are_reapplied_before_every_cell(start: Start) {
    let mut bench = Bench::start(start).await;
    let look = "import os\n[os.environ.get(n) for n in ('PI_SESSION_FILE', 'PI_ARTIFACTS_DIR')]";
    let run = [
        (
            vec![set("PI_SESSION_FILE", Some("/a")), set("PI_ARTIFACTS_DIR", Some("/b"))],
            "['/a', '/b']",
        ),
        (vec![set("PI_SESSION_FILE", Some("/c")), set("PI_ARTIFACTS_DIR", None)], "['/c', None]"),
        (vec![], "['/c', None]"),
        (vec![set("PI_SESSION_FILE", None), set("PI_ARTIFACTS_DIR", None)], "[None, None]"),
        (
            vec![set("PI_SESSION_FILE", Some("")), set("PI_ARTIFACTS_DIR", Some("é =\n"))],
            "['', 'é =\\n']",
        ),
    ];
    for (env, wanted) in run {
        let request = CodeRequest { env, ..bench.request(look) };
        assert_eq!(bench.run_request(request).await.ok().result().as_deref(), Some(wanted));
    }
    // If a cell changes one, the next cell and its children see the managed value again.
    bench.run("os.environ['PI_SESSION_FILE'] = 'mine'").await.ok();
    let env = vec![set("PI_SESSION_FILE", Some("/theirs"))];
    let code = "os.system('echo $PI_SESSION_FILE');";
    let request = CodeRequest { env, ..bench.request(code) };
    assert_eq!(bench.run_request(request).await.ok().stdout(), "/theirs\n");
}

/// B:R-37: a request that names a folder runs there, and imports from there first.
async fn a_request_says_where_it_runs(start: Start) {
    let mut bench = Bench::start(start).await;
    let folder = bench.cwd().join("other");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::write(folder.join("beside.py"), "value = 42\n").expect("a file");
    let request = CodeRequest {
        cwd: Some(folder.clone()),
        ..bench.request("import beside, os\nbeside.value")
    };
    assert_eq!(bench.run_request(request).await.ok().result().as_deref(), Some("42"));
    let wanted = format!("'{}'", folder.canonicalize().expect("a path").display());
    assert_eq!(bench.value("os.getcwd()").await, wanted, "it stays there");
    assert_eq!(bench.value("__import__('sys').path[0]").await, wanted);
    // Only the cell notices a missing folder; the kernel lives.
    std::fs::remove_dir_all(&folder).expect("removed");
    let request = CodeRequest { cwd: Some(folder), ..bench.request("'still here'") };
    assert_eq!(bench.run_request(request).await.ok().result().as_deref(), Some("'still here'"));
}

/// B:R-01 B:E-20: the kernel has exactly the given environment and folder, and nothing of the host's.
async fn a_kernel_starts_with_what_it_was_given(start: Start) {
    let mut bench = Bench::start(start).await;
    let given: Vec<String> = bench.spec.env.keys().cloned().collect();
    let code = "import os, sys\nsorted(os.environ)";
    let found = bench.value(code).await.replace(",\n ", ", ");
    let found: Vec<String> = found
        .trim_matches(['[', ']'])
        .split(", ")
        .map(|s| s.trim_matches('\'').to_owned())
        .collect();
    let added: Vec<&String> = found.iter().filter(|name| !given.contains(name)).collect();
    assert_eq!(added, ["INKCELL_KERNEL", "MPLBACKEND"], "only what the kernel needs is added");
    assert!(given.iter().all(|name| found.contains(name)), "{found:?}");
    let cwd = format!("'{}'", bench.cwd().canonicalize().expect("a path").display());
    assert_eq!(bench.value("os.getcwd()").await, cwd);
    assert_eq!(bench.value("sys.path[0]").await, cwd);
    assert_eq!(bench.value("sys.argv").await, "['']");
    assert_eq!(bench.value("__name__").await, "'__main__'");
    let names = "sorted(name for name in globals() if not name.startswith('_'))";
    assert_eq!(bench.value(names).await, "['In', 'Out', 'os', 'sys']");
    // Inkcell's switches for Python itself must not reach code that starts another Python.
    let code = "[name for name in os.environ if name.startswith('PYTHON')]";
    assert_eq!(bench.value(code).await, "[]");
    assert_eq!(bench.value("(os.getsid(0), os.getpgrp()) == (os.getpid(),) * 2").await, "True");
}

/// Issue 21, 14: Python's own variables hold in a kernel as in a Python started by hand, and `PYTHONPATH` comes after
/// the working folder of the kernel. None of them affects the runner's own files.
async fn pythons_own_variables_hold(start: Start) {
    let mut bench = Bench::empty(start);
    std::fs::create_dir(bench.cwd().join("lib")).expect("a folder");
    for name in ["json", "sitecustomize", "lib/beside"] {
        let file = bench.cwd().join(format!("{name}.py"));
        std::fs::write(file, "value = 42\n").expect("a file");
    }
    let set = [
        ("PYTHONHASHSEED", "7"),
        ("PYTHONWARNINGS", "error::UserWarning"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
        ("PYTHONOPTIMIZE", "1"),
        ("PYTHONPATH", "lib"),
    ];
    let set = set.map(|(name, value)| (name.to_owned(), value.to_owned()));
    bench.spec.env.extend(set);
    bench.begin(start).await;
    let mut by_hand = std::process::Command::new(&bench.spec.python);
    by_hand.args(["-c", "print(hash('inkcell'))"]).envs(&bench.spec.env);
    let wanted = by_hand.output().expect("a Python").stdout;
    let wanted = String::from_utf8(wanted).expect("text");
    assert_eq!(bench.value("hash('inkcell')").await, wanted.trim());
    let warned = bench.run("import warnings\nwarnings.warn('told')").await;
    assert_eq!(warned.error().name, "UserWarning");
    assert_eq!(bench.value("assert False\n__debug__").await, "False");
    assert_eq!(bench.value("import beside\nbeside.value").await, "42");
    assert_eq!(bench.value("import os\nos.path.exists('lib/__pycache__')").await, "False");
    assert_eq!(bench.value("os.environ['PYTHONPATH']").await, "'lib'");
}

/// Issue 21, 17: a server that inkcell did not start gives its kernels the history file of its user. Cells are not
/// written there.
async fn the_history_of_the_user_is_left_alone(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("secret = 1").await.ok();
    let code = "import sqlite3\nmanager = get_ipython().history_manager\nmanager.writeout_cache()\n\
                with sqlite3.connect(manager.hist_file) as file:\n    \
                found = file.execute('select source from history').fetchall()\nfound";
    assert_eq!(bench.value(code).await, "[]");
}

crate::on_gateways!(
    managed_variables_are_reapplied_before_every_cell,
    a_request_says_where_it_runs,
    the_history_of_the_user_is_left_alone,
);

crate::on_every_backend!(
    managed_variables_are_reapplied_before_every_cell,
    a_request_says_where_it_runs,
    a_kernel_starts_with_what_it_was_given,
    pythons_own_variables_hold,
);

crate::on_spares!(
    managed_variables_are_reapplied_before_every_cell,
    a_kernel_starts_with_what_it_was_given,
    pythons_own_variables_hold,
);

crate::on_ipc!(managed_variables_are_reapplied_before_every_cell, a_request_says_where_it_runs,);

crate::on_pooled!(managed_variables_are_reapplied_before_every_cell, a_request_says_where_it_runs,);
