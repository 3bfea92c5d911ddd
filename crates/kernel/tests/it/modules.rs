//! Extension modules of the user and the project in a real kernel: found, loaded, and a start that fails
//! with them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use inkcell_kernel::{
    Backend, CodeRequest, ExecEvent, ExecId, ForkServer, History, InputMode, KernelEvent,
    KernelSpec, LaunchError, LaunchedKernel, MimeData, ModuleSearch, NamesWanted, Prelude,
    ProjectModules, RunnerBackend, RunnerConfig, Shell, Startup, find_modules,
};
use tokio_util::sync::CancellationToken;

const LIMIT: Duration = Duration::from_secs(180);

/// A user and a project with modules.
struct Place {
    temp: tempfile::TempDir,
    search: ModuleSearch,
    /// Outlives its kernels: they end with it.
    backend: RunnerBackend,
}

impl Place {
    fn new() -> Place {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let search = ModuleSearch {
            state: Some(root.join("state")),
            home: Some(root.join("home")),
            cwd: root.join("project"),
            project: ProjectModules::On,
        };
        fs::create_dir(&search.cwd).unwrap();
        let (state_dir, fork_server) = (root.join("state"), ForkServer::Off);
        inkcell_testkit::runner::share(&state_dir);
        let config = RunnerConfig { state_dir, fork_server, spares: 0 };
        Place { temp, search, backend: RunnerBackend::new(config).unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temp.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    async fn launch(&self) -> Result<LaunchedKernel, LaunchError> {
        self.launch_with(find_modules(&self.search).unwrap()).await
    }

    async fn launch_with(
        &self,
        modules: Vec<(String, PathBuf)>,
    ) -> Result<LaunchedKernel, LaunchError> {
        let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
        let path = std::env::var("PATH").unwrap();
        let prelude = Prelude::Full;
        let spec = KernelSpec {
            python: PathBuf::from(python),
            cwd: self.search.cwd.clone(),
            env: BTreeMap::from([("PATH".to_owned(), path)]),
            start_timeout: LIMIT,
            startup: Startup { shell: Shell::Lite, prelude, modules, preload: Vec::new() },
        };
        self.backend.launch(&spec, &CancellationToken::new()).await
    }
}

/// Runs code and collects all events up to its end: the plain text of its result, and every other event
/// with content.
async fn evaluate(launched: &mut LaunchedKernel, code: &str) -> (Option<String>, Vec<KernelEvent>) {
    let exec = ExecId(1);
    let (code, env) = (code.to_owned(), Vec::new());
    let (history, input) = (History::Store, InputMode::Refuse);
    let request =
        CodeRequest { exec, code, history, env, cwd: None, input, names: NamesWanted::No };
    launched.kernel.execute(request).unwrap();
    let (mut result, mut others) = (None, Vec::new());
    loop {
        let next = tokio::time::timeout(LIMIT, launched.events.next()).await;
        match next.expect("an event in time").expect("the stream ends with a death") {
            KernelEvent::Exec { event: ExecEvent::Finished(_), .. } => return (result, others),
            KernelEvent::Exec { event: ExecEvent::Result { data, .. }, .. } => {
                if let Some(MimeData::Text(text)) = data.get("text/plain") {
                    result = Some(text.clone());
                }
            }
            KernelEvent::Exec { event: ExecEvent::Started { .. }, .. } => {}
            other => others.push(other),
        }
    }
}

/// B:E-50 B:E-51 B:E-52: the project's file replaces the user's. Modules load in the order of names, after the
/// prelude, in the user's namespace, silently, and outside of the history.
#[tokio::test]
async fn modules_are_loaded_and_replace_each_other() {
    let mut place = Place::new();
    place.write("state/modules/b.py", "loaded = loaded + ['state b']\nprint('noise')\n");
    place.write("state/modules/c.py", "loaded = loaded + ['state c']\n");
    place.write("home/.omp/agent/modules/c.py", "raise AssertionError('the first one counts')\n");
    let first = "import sys\nloaded = ['a', read.__name__]\nprint('noise', file=sys.stderr)\n7\n";
    place.write("home/.omp/agent/modules/a.py", first);
    place.write("project/.omp/modules/b.py", "loaded = loaded + ['project b']\n");
    place.write("project/.pi/modules/b.py", "raise AssertionError('the first one counts')\n");
    let question = "loaded, len(In), __name__";
    for (project, b) in [(ProjectModules::On, "project b"), (ProjectModules::Off, "state b")] {
        place.search.project = project;
        let mut launched = place.launch().await.unwrap();
        let (result, others) = evaluate(&mut launched, question).await;
        let expected = format!("(['a', 'read', '{b}', 'state c'], 2, '__main__')");
        assert_eq!(result, Some(expected));
        assert_eq!(others, []);
        launched.kernel.shutdown(Duration::from_secs(5)).await;
    }
}

/// B:E-51: the first failure ends the start, with these words.
#[tokio::test]
async fn a_module_that_fails_is_the_end_of_the_start() {
    let place = Place::new();
    let noted = place.path("later-ran");
    let later = format!("open({:?}, 'w').close()\n", noted.display().to_string());
    place.write("state/modules/z.py", &later);
    let path = place.path("project/.inkcell/modules/m.py");
    let table = [
        ("import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("def f(:\n", "SyntaxError: "),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
    ];
    for (text, reason) in table {
        place.write("project/.inkcell/modules/m.py", text);
        let said = failure(place.launch().await);
        let expected = format!("Failed to load Python module {}: {reason}", path.display());
        assert!(said.contains(&expected), "{said}");
        assert!(!noted.exists(), "nothing is loaded after {text:?}");
    }
}

/// B:E-51: an unreadable module ends the start too, whether the host or only the kernel notices it.
#[tokio::test]
async fn a_module_that_cannot_be_read_is_the_end_of_the_start() {
    let place = Place::new();
    let gone = place.write("state/modules/gone.py", "");
    let found = find_modules(&place.search).unwrap();
    fs::remove_file(&gone).unwrap();
    let said = failure(place.launch_with(found).await);
    let expected = format!("{}: No such file or directory", cannot_read(&gone));
    assert!(said.contains(&expected), "{said}");
    symlink("gone.py", &gone).unwrap();
    let said = find_modules(&place.search).unwrap_err().to_string();
    assert!(said.starts_with(&cannot_read(&gone)), "{said}");
}

fn cannot_read(path: &Path) -> String {
    format!("Failed to read Python module {}", path.display())
}

fn failure(launched: Result<LaunchedKernel, LaunchError>) -> String {
    match launched {
        Ok(_) => panic!("the kernel started"),
        Err(error) => error.to_string(),
    }
}
