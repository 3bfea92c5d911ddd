use super::*;

fn env(vars: &[(&str, &str)]) -> BTreeMap<String, String> {
    vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn spec(json: &str) -> Kernelspec {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("kernel.json"), json).unwrap();
    let read = Kernelspec::read("some", dir.path()).unwrap();
    Kernelspec { resource_dir: PathBuf::from("/specs/some"), ..read }
}

fn install(root: &Path, name: &str, json: &str) {
    let dir = root.join("kernels").join(name);
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("kernel.json"), json).unwrap();
}

/// Issue 7, 1: user, environment, system, and folders in variables, in Jupyter's order.
#[test]
fn folders_are_those_of_jupyter() {
    let prefix = |kind| Some(PythonPrefix { folder: PathBuf::from("/py"), kind });
    let system: Vec<PathBuf> = KernelspecSearch::SYSTEM.iter().map(PathBuf::from).collect();
    let check = |vars: &[(&str, &str)], kind, wanted: &[&str]| {
        let search = KernelspecSearch {
            env: ParentEnv::from(env(vars)),
            home: Some(PathBuf::from("/home/me")),
            prefix: prefix(kind),
            system: system.clone(),
        };
        let mut all: Vec<PathBuf> = wanted.iter().map(PathBuf::from).collect();
        all.extend(
            ["/usr/local/share/jupyter/kernels", "/usr/share/jupyter/kernels"].map(PathBuf::from),
        );
        all.push(PathBuf::from("/home/me/.ipython/kernels"));
        assert_eq!(search.folders(), all, "{vars:?}");
    };
    let (alone, made) = (PrefixKind::Installation, PrefixKind::Environment);
    let user = if cfg!(target_os = "macos") {
        "/home/me/Library/Jupyter/kernels"
    } else {
        "/home/me/.local/share/jupyter/kernels"
    };
    let own = "/py/share/jupyter/kernels";
    check(&[], alone, &[user, own]);
    check(&[], made, &[own, user]);
    check(&[("JUPYTER_PREFER_ENV_PATH", "1")], alone, &[own, user]);
    check(&[("JUPYTER_PREFER_ENV_PATH", "no")], made, &[user, own]);
    check(&[("JUPYTER_DATA_DIR", "/d")], alone, &["/d/kernels", own]);
    check(&[("JUPYTER_PATH", "/a::/b")], alone, &["/a/kernels", "/b/kernels", user, own]);
    check(&[("JUPYTER_PATH", "/py/share/jupyter")], alone, &[own, user]);
    if !cfg!(target_os = "macos") {
        check(&[("XDG_DATA_HOME", "/x")], alone, &["/x/jupyter/kernels", own]);
    }
}

/// Issue 7, 1: the first kernelspec of a name counts, and an unusable one says why.
#[test]
fn the_first_of_a_name_counts() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    install(one.path(), "Both", r#"{"argv": ["first"], "display_name": "First", "language": "x"}"#);
    install(two.path(), "both", r#"{"argv": ["second"]}"#);
    install(two.path(), "other", "\u{feff}{\"argv\": [\"o\"], \"metadata\": {\"debugger\": true}}");
    install(two.path(), "empty", r#"{"argv": []}"#);
    install(two.path(), "an odd näme", r#"{"argv": ["x"]}"#);
    install(two.path(), "cut", r#"{"argv": ["#);
    fs::create_dir_all(two.path().join("kernels/nothing")).unwrap();
    let path = format!("{}:{}", one.path().display(), two.path().display());
    let search = KernelspecSearch {
        env: ParentEnv::from(env(&[("JUPYTER_PATH", &path)])),
        ..KernelspecSearch::default()
    };
    let specs = search.find();
    let names: Vec<&str> = specs.found.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["an odd näme", "both", "other"], "Jupyter lists them all");
    assert_eq!(specs.found[1].argv, ["first"]);
    assert_eq!(
        (specs.found[1].display_name.as_str(), specs.found[1].language.as_str()),
        ("First", "x")
    );
    assert_eq!(
        (specs.found[2].display_name.as_str(), specs.found[2].metadata.as_str()),
        ("other", r#"{"debugger": true}"#)
    );
    assert_eq!(specs.broken.len(), 2, "{:?}", specs.broken);
    assert_eq!(search.find().take("BOTH").unwrap().argv, ["first"]);
    let said = |name: &str| search.find().take(name).unwrap_err().to_string();
    assert!(said("cut").contains("cut/kernel.json: not a kernelspec: EOF"), "{}", said("cut"));
    assert!(said("empty").ends_with("argv is empty, so the kernel has no command"));
    assert_eq!(said("R"), "no kernel named \"R\"; installed: an odd näme, both, other");
    let none = KernelspecSearch::default().find().take("R").unwrap_err().to_string();
    assert!(none.contains("pip install ipykernel"), "{none}");
}

/// Trap 9: placeholders anywhere in an argument, each filled in once.
#[test]
fn commands_are_filled_in() {
    let spec = spec(
        r#"{"argv": ["python3.11", "-f={connection_file}", "{resource_dir}/run", "{prefix}", "{else}", "{", "a{connection_file}b{resource_dir}"]}"#,
    );
    let command = spec.command(Path::new("/venv/bin/python"), Path::new("/tmp/{prefix}.json"));
    let wanted = [
        "/venv/bin/python",
        "-f=/tmp/{prefix}.json",
        "/specs/some/run",
        "/venv",
        "{else}",
        "{",
        "a/tmp/{prefix}.jsonb/specs/some",
    ];
    assert_eq!(command, wanted);
    // Issue 21, 17: the history of the user's IPython stays unchanged.
    for (argv, added) in [
        (r#"["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"]"#, true),
        (r#"["python", "-m", "ipykernel", "--HistoryManager.enabled=False"]"#, false),
        (r#"["/venv/bin/ipython3", "kernel", "-f", "{connection_file}"]"#, true),
        (r#"["bash", "-f"]"#, false),
    ] {
        let spec = self::spec(&format!(r#"{{"argv": {argv}}}"#));
        let command = spec.command(Path::new("/venv/bin/python"), Path::new("/c.json"));
        assert_eq!(command.last().is_some_and(|last| last == MEMORY_HISTORY), added, "{argv}");
    }
    let check = |program: &str, is_python: bool| {
        assert_eq!(is_plain_python(program), is_python, "{program}");
    };
    for (program, is_python) in [
        ("python", true),
        ("python3", true),
        ("python3.13", true),
        ("pythonw", false),
        ("/usr/bin/python3", false),
        ("R", false),
    ] {
        check(program, is_python);
    }
}

/// Issue 7, 1: variables of the spec join those of the environment and may refer to them.
#[test]
fn variables_are_filled_in() {
    let spec = spec(
        r#"{"argv": ["x"], "env": {"A": "${HOME}/x:$PATH", "B": "$$5 $MISSING ${MISSING} ${HOME", "HOME": "$HOME/sub", "C": "$HOME_2 $"}}"#,
    );
    let given = env(&[("HOME", "/me"), ("PATH", "/bin"), ("KEPT", "1")]);
    let wanted = env(&[
        ("A", "/me/x:/bin"),
        ("B", "$5 $MISSING ${MISSING} ${HOME"),
        ("C", "$HOME_2 $"),
        ("HOME", "/me/sub"),
        ("KEPT", "1"),
        ("PATH", "/bin"),
    ]);
    assert_eq!(spec.environment(&given), wanted);
}

/// B:Z-13
#[test]
fn a_kernel_says_how_it_is_interrupted() {
    assert_eq!(spec(r#"{"argv": ["x"]}"#).interrupt_mode, InterruptMode::Signal);
    let message = spec(r#"{"argv": ["x"], "interrupt_mode": "message"}"#);
    assert_eq!(message.interrupt_mode, InterruptMode::Message);
}

/// A connection file is a path, or the name of one that Jupyter keeps, as `--existing` of Jupyter's
/// own programs has it.
#[test]
fn a_connection_file_is_found_by_its_name() {
    let temp = tempfile::tempdir().unwrap();
    let (cwd, home) = (temp.path().join("work"), temp.path().join("home"));
    let (runtime, other) = (home.join(".local/share/jupyter/runtime"), temp.path().join("runtime"));
    for folder in [&cwd, &runtime, &other] {
        fs::create_dir_all(folder).unwrap();
    }
    for file in [runtime.join("kernel-1.json"), runtime.join("both.json"), cwd.join("both.json")] {
        fs::write(file, "{}").unwrap();
    }
    fs::write(other.join("kernel-2.json"), "{}").unwrap();
    let search = |variables: &[(&str, &str)]| KernelspecSearch {
        env: ParentEnv::from(env(variables)),
        home: Some(home.clone()),
        ..KernelspecSearch::default()
    };
    let find = |given: &str| search(&[]).connection_file(Path::new(given), &cwd);
    assert_eq!(find("kernel-1.json"), runtime.join("kernel-1.json"));
    assert_eq!(find("both.json"), cwd.join("both.json"), "what is here comes first");
    assert_eq!(find("gone.json"), cwd.join("gone.json"));
    assert_eq!(find("./kernel-1.json"), cwd.join("./kernel-1.json"), "a path is a path");
    assert_eq!(find("sub/kernel-1.json"), cwd.join("sub/kernel-1.json"));
    let set = search(&[("JUPYTER_RUNTIME_DIR", other.to_str().unwrap())]);
    assert_eq!(set.connection_file(Path::new("kernel-2.json"), &cwd), other.join("kernel-2.json"));
}
