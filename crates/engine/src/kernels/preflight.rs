//! Checks whether code can run, before tools that run code are offered.
//!
//! Owns the check. The frontends decide which tools to offer; the interpreter of a call is chosen again for the
//! call's own folder.

use inkcell_kernel::{
    Finder, GatewayBackend, GatewayError, LaunchError, LocalConfig, Search, Sharing, Workspace,
};

use crate::error::EngineError;
use crate::kernels::backends::GatewayChoice;

/// Whether to check at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Check {
    /// Look for the requirements before code is sent.
    Look,
    /// Assume that code can run (B:C-05).
    Skip,
}

/// The default backend, with its requirements.
#[derive(Clone, Debug)]
pub enum BackendNeeds {
    /// The runner: a Python.
    Runner,
    /// Jupyter kernels on this machine: a Python with `ipykernel`.
    Zmq,
    /// A gateway: a server that answers and accepts us, or a Python that can start one.
    Gateway(GatewayChoice),
}

impl BackendNeeds {
    /// Checks the requirements; the error names the one that is missing. Nothing from the workspace is run. The
    /// finder remembers its findings, so the first call does not ask again.
    pub async fn check(
        &self,
        finder: &Finder,
        search: &Search,
        workspace: &Workspace,
    ) -> Result<(), EngineError> {
        let modules: &[&str] = match self {
            BackendNeeds::Runner => &[],
            BackendNeeds::Zmq => &["ipykernel"],
            BackendNeeds::Gateway(GatewayChoice::Local(LocalConfig {
                sharing: Sharing::Refused,
                ..
            })) => return Err(LaunchError::no_local_gateway().into()),
            BackendNeeds::Gateway(GatewayChoice::Local(_)) => &["kernel_gateway", "ipykernel"],
            // The kernels run elsewhere, and so does their Python.
            BackendNeeds::Gateway(GatewayChoice::External(config)) => {
                let gateway = GatewayBackend::new(config.as_ref().clone());
                return Ok(gateway.check().await.map_err(LaunchError::from)?);
            }
        };
        let python = finder.find_unasked(search, workspace).await?;
        if modules.is_empty() || finder.lacking(&python, modules, search).await.is_empty() {
            return Ok(());
        }
        Err(match self {
            BackendNeeds::Gateway(_) => LaunchError::from(GatewayError::not_installed()).into(),
            BackendNeeds::Runner | BackendNeeds::Zmq => {
                LaunchError::without_ipykernel(&python.path().display().to_string()).into()
            }
        })
    }
}

/// The result of a preflight check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Preflight {
    /// Code can run, as far as the check can tell.
    Ready,
    /// Code cannot run, for this reason.
    Failed(String),
    /// The caller wanted no check, so nothing is known.
    Skipped,
}

impl Preflight {
    /// Checks the requirements, unless the check is skipped. An error in the settings that choose the backend
    /// counts as a failure.
    pub async fn check(
        check: Check,
        needed: Result<BackendNeeds, EngineError>,
        finder: &Finder,
        search: &Search,
        workspace: &Workspace,
    ) -> Preflight {
        if check == Check::Skip {
            return Preflight::Skipped;
        }
        let checked = match needed {
            Ok(needed) => needed.check(finder, search, workspace).await,
            Err(problem) => Err(problem),
        };
        checked.map_or_else(|reason| Preflight::Failed(reason.to_string()), |()| Preflight::Ready)
    }

    /// The reason why code cannot run, if it cannot.
    pub fn failure(&self) -> Option<&str> {
        match self {
            Preflight::Failed(reason) => Some(reason),
            Preflight::Ready | Preflight::Skipped => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    use inkcell_kernel::{FindError, ParentEnv};

    use super::*;

    /// A search in the folder `work` below this one, with only its folder `bin` on `PATH`.
    fn search(dir: &Path, setting: Option<&Path>) -> Search {
        let path = ("PATH".into(), dir.join("bin").into_os_string());
        std::fs::create_dir_all(dir.join("work")).unwrap();
        Search {
            setting: setting.map(|path| path.display().to_string()),
            cwd: dir.join("work"),
            home: None,
            state: None,
            env: ParentEnv::from_os([path]),
            program: None,
        }
    }

    async fn check(needed: BackendNeeds, search: &Search) -> Preflight {
        let workspace = Workspace::around(&search.cwd);
        Preflight::check(Check::Look, Ok(needed), &Finder::default(), search, &workspace).await
    }

    fn program(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    fn test_python() -> PathBuf {
        std::env::var_os("INKCELL_TEST_PYTHON").map_or_else(|| "python3".into(), PathBuf::from)
    }

    fn local() -> LocalConfig {
        let nowhere = PathBuf::from("/nowhere");
        LocalConfig {
            state_dir: nowhere.clone(),
            runtime_dir: nowhere,
            sharing: Sharing::Allowed,
            idle_stop: None,
        }
    }

    /// B:C-03
    #[tokio::test]
    async fn a_python_that_is_not_there_or_does_not_work_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let none = search(dir.path(), None);
        let nothing = Preflight::Failed(FindError::NoneFound.to_string());
        assert_eq!(check(BackendNeeds::Runner, &none).await, nothing);
        let broken = dir.path().join("bin/python3");
        program(&broken, "#!/bin/sh\nexit 3\n");
        let looked = check(BackendNeeds::Runner, &none).await;
        let reason = looked.failure().unwrap();
        assert!(reason.contains(broken.to_str().unwrap()), "{reason}");
    }

    /// B:C-05: a skipped check starts no program.
    #[tokio::test]
    async fn a_look_can_be_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let mark = dir.path().join("asked");
        program(&dir.path().join("bin/python3"), &format!("#!/bin/sh\n: > '{}'\n", mark.display()));
        let search = search(dir.path(), None);
        let (finder, workspace) = (Finder::default(), Workspace::none());
        let needed = || Ok(BackendNeeds::Runner);
        let looked = Preflight::check(Check::Skip, needed(), &finder, &search, &workspace).await;
        assert_eq!((looked.failure(), &looked), (None, &Preflight::Skipped));
        assert!(!mark.exists());
        Preflight::check(Check::Look, needed(), &finder, &search, &workspace).await;
        assert!(mark.exists(), "the program would have noticed");
    }

    /// B:C-03
    #[tokio::test]
    async fn a_python_that_works_is_ready() {
        let dir = tempfile::tempdir().unwrap();
        let search = Search {
            env: ParentEnv::from_os(std::env::vars_os()),
            ..search(dir.path(), Some(&test_python()))
        };
        assert_eq!(check(BackendNeeds::Runner, &search).await, Preflight::Ready);
    }

    /// B:C-03: the modules of a backend are checked, both in a Python that may be run and in one that may not.
    #[tokio::test]
    async fn what_a_backend_needs_is_looked_for() {
        let dir = tempfile::tempdir().unwrap();
        for place in ["elsewhere", "work/.venv"] {
            let (folder, packages) = (dir.path().join(place), "lib/python3.12/site-packages");
            let python = folder.join("bin/python");
            // A fake Python without modules, which leaves a mark when it is run.
            program(
                &python,
                "#!/bin/sh\ntouch \"$0.ran\"\n\
                 case \"$1\" in -E) printf 'inkcell-python lacks'; shift 4\n\
                 for name; do [ -d \"${0%/bin/python}/lib/python3.12/site-packages/$name\" ] || printf ' %s' $name; done\n\
                 echo;; *) printf 'inkcell-python 1\\n3 12 1\\ncpython\\n2f\\n2f\\n2f\\ninkcell-python end\\n';; esac\n",
            );
            std::fs::write(folder.join("pyvenv.cfg"), "home = /usr/bin\nversion = 3.12.1\n")
                .unwrap();
            std::fs::create_dir_all(folder.join(packages)).unwrap();
            let search = Search {
                env: ParentEnv::from_os([("PATH".into(), "/usr/bin:/bin".into())]),
                ..search(dir.path(), Some(&python))
            };
            let gateway = || BackendNeeds::Gateway(GatewayChoice::Local(local()));
            assert_eq!(check(BackendNeeds::Runner, &search).await, Preflight::Ready, "{place}");
            let looked = check(BackendNeeds::Zmq, &search).await;
            let wanted = format!("ipykernel is not installed in {}: ", python.display());
            assert!(looked.failure().unwrap().starts_with(&wanted), "{looked:?}");
            std::fs::create_dir(folder.join(packages).join("ipykernel")).unwrap();
            assert_eq!(check(BackendNeeds::Zmq, &search).await, Preflight::Ready, "{place}");
            let looked = check(gateway(), &search).await;
            assert!(looked.failure().unwrap().contains("kernel_gateway"), "{looked:?}");
            std::fs::create_dir(folder.join(packages).join("kernel_gateway")).unwrap();
            assert_eq!(check(gateway(), &search).await, Preflight::Ready, "{place}");
            let is_ours = place != "elsewhere";
            assert_eq!(folder.join("bin/python.ran").exists(), !is_ours, "{place}");
        }
        let refused = LocalConfig { sharing: Sharing::Refused, ..local() };
        let refused = BackendNeeds::Gateway(GatewayChoice::Local(refused));
        let looked = check(refused, &search(dir.path(), None)).await;
        assert!(looked.failure().unwrap().contains("local gateways are disabled"), "{looked:?}");
    }
}
