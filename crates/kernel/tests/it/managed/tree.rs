//! A state folder, tools and packages for one test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use inkcell_kernel::{
    EnvSetup, Existing, ManagedEnv, ParentEnv, Search, SetupError, SetupEvent, set_up_environment,
};
use tokio_util::sync::CancellationToken;

/// Far longer than any step takes.
pub(crate) const LONG: Duration = Duration::from_secs(300);

/// Makes a wheel with one module and one program, for `--find-links`. Arguments: the folder and the name.
const MAKE_WHEEL: &str = r#"
import sys, zipfile
folder, name = sys.argv[1:]
info = name + "-1.0.dist-info/"
with zipfile.ZipFile("%s/%s-1.0-py3-none-any.whl" % (folder, name), "w") as wheel:
    wheel.writestr(name + ".py", "def main():\n    print('%s speaks')\n" % name)
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: %s\nVersion: 1.0\n" % name)
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(info + "entry_points.txt", "[console_scripts]\n%s = %s:main\n" % (name, name))
    wheel.writestr(info + "RECORD", "".join(
        line + ",,\n" for line in [name + ".py", *(info + f for f in
        ("METADATA", "WHEEL", "entry_points.txt", "RECORD"))]))
"#;

/// A `uv` that records its arguments, makes environments with a real Python, and installs nothing.
pub(crate) const UV: &str = "#!/bin/sh\necho \"$@\" >> ROOT/uv.log\ncase \"$1\" in\n\
    venv) for last; do :; done; exec REAL -I -m venv --without-pip \"$last\";;\n\
    esac\necho installed\n";

pub(crate) struct Tree {
    temp: tempfile::TempDir,
    pub(crate) real: PathBuf,
    pub(crate) setup: EnvSetup,
    pub(crate) cancel: CancellationToken,
}

pub(crate) type Ended = (Result<ManagedEnv, SetupError>, Vec<SetupEvent>);

impl Tree {
    /// Makes a tree that uses nothing of this machine but the base interpreter.
    pub(crate) fn new() -> Tree {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        for folder in ["bin", "home", "wheels", "tmp"] {
            fs::create_dir(root.join(folder)).unwrap();
        }
        let below = |name: &str| root.join(name).display().to_string();
        let env = [
            ("PATH", below("bin")),
            ("HOME", below("home")),
            ("TMPDIR", below("tmp")),
            ("PIP_NO_INDEX", "1".to_owned()),
            ("PIP_FIND_LINKS", below("wheels")),
            ("PIP_CONFIG_FILE", "/dev/null".to_owned()),
            // These would lead tools astray if the setup passed them on.
            ("PIP_TARGET", below("astray")),
            ("PIP_USER", "1".to_owned()),
            ("PYTHONHOME", below("astray")),
            ("VIRTUAL_ENV", below("astray")),
        ];
        let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
        let question = ["-Ic", "import sys; print(sys.executable)"];
        let real = PathBuf::from(output(Command::new(python).args(question)).trim());
        let setup = EnvSetup {
            state: root.join("state"),
            base: real.clone(),
            packages: Vec::new(),
            existing: Existing::Keep,
            env: env.map(|(name, value)| (name.to_owned(), value)).into_iter().collect(),
            step_timeout: LONG,
        };
        Tree { temp, real, setup, cancel: CancellationToken::new() }
    }

    /// As [`Tree::new`], with a `uv` that makes environments quickly.
    pub(crate) fn with_uv() -> Tree {
        let tree = Tree::new();
        tree.program("bin/uv", UV);
        tree
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.temp.path().canonicalize().unwrap().join(name)
    }

    /// Writes a program. In its text, `ROOT` and `REAL` stand for this tree and the interpreter.
    pub(crate) fn program(&self, name: &str, text: &str) -> PathBuf {
        let (path, root) = (self.path(name), self.path("").display().to_string());
        let text = text.replace("ROOT/", &root).replace("REAL", &self.real.display().to_string());
        // Another process writes the file. A child started by a parallel test could inherit a descriptor that
        // is open for writing here, and then the system would refuse to run the program.
        let made = Command::new("/bin/sh")
            .args(["-c", "printf '%s' \"$1\" > \"$2\" && chmod 755 \"$2\"", "sh", &text])
            .arg(&path)
            .status();
        assert!(made.unwrap().success());
        path
    }

    /// Makes a package that pip can install.
    pub(crate) fn wheel(&self, name: &str) {
        let folder = self.path("wheels");
        output(Command::new(&self.real).args(["-Ic", MAKE_WHEEL]).arg(folder).arg(name));
    }

    pub(crate) fn ask(&mut self, packages: &[&str]) {
        self.setup.packages = packages.iter().map(|&package| package.to_owned()).collect();
    }

    pub(crate) async fn set_up(&self) -> Ended {
        let mut events = Vec::new();
        let mut report = |event| events.push(event);
        let ended = set_up_environment(&self.setup, &self.cancel, &mut report).await;
        (ended, events)
    }

    pub(crate) fn search(&self) -> Search {
        Search {
            setting: None,
            cwd: self.path("tmp"),
            home: Some(self.path("home")),
            state: Some(self.path("state")),
            env: ParentEnv::from(BTreeMap::from([(
                "PATH".to_owned(),
                self.path("bin").display().to_string(),
            )])),
            program: None,
        }
    }

    /// The folder that the link leads to, relative to the state folder.
    pub(crate) fn behind_the_name(&self) -> Option<PathBuf> {
        let folder = fs::canonicalize(self.path("state/python-env")).ok()?;
        Some(folder.strip_prefix(self.path("state")).unwrap().to_owned())
    }

    /// The names of all entries of a folder, sorted.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let listed = fs::read_dir(self.path(folder)).unwrap();
        let mut names: Vec<_> =
            listed.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Checks that a failed setup left nothing behind.
    pub(crate) fn assert_nothing_made(&self) {
        assert_eq!(self.behind_the_name(), None);
        assert_eq!(self.names("state"), ["python-env.lock", "python-envs"]);
        assert_eq!(self.names("state/python-envs"), [""; 0]);
        assert!(!self.path("astray").exists());
    }
}

/// Runs a command that must succeed, and returns its output.
pub(crate) fn output(command: &mut Command) -> String {
    let out = command.output().unwrap();
    assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// The steps that began, with the end of each, without the lines between.
pub(crate) fn steps(events: &[SetupEvent]) -> Vec<String> {
    let mut steps = Vec::new();
    for event in events {
        match event {
            SetupEvent::Began(_) | SetupEvent::Line(_) => {}
            SetupEvent::Done(step) => steps.push(format!("{step}: done")),
            SetupEvent::Failed(step) => steps.push(format!("{step}: failed")),
        }
    }
    let begun = events.iter().filter(|event| matches!(event, SetupEvent::Began(_))).count();
    assert_eq!(begun, steps.len(), "every step has a beginning and an end: {events:?}");
    steps
}

pub(crate) fn works(python: &Path) -> bool {
    Command::new(python).args(["-Ic", ""]).status().is_ok_and(|status| status.success())
}
