//! Whether Python is there, asked before anything that needs it is offered.
//!
//! Owns the question. What is offered then is for the faces; which interpreter a call gets is decided anew for
//! its own folder.

use inkcell_kernel::{FindError, Finder, Search};

/// Whether to look at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Check {
    /// Look.
    Look,
    /// Take it to be there (B:C-05).
    Skip,
}

/// What a look has shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Preflight {
    /// There is a Python that works.
    Ready,
    /// There is none, and why.
    Failed(FindError),
    /// Nobody looked.
    Skipped,
}

impl Preflight {
    /// Looks for an interpreter. The runner needs nothing more; what is found is remembered by the finder, so
    /// that the first call does not ask again.
    pub async fn look(check: Check, finder: &Finder, search: &Search) -> Preflight {
        match check {
            Check::Skip => Preflight::Skipped,
            Check::Look => match finder.find(search).await {
                Ok(_) => Preflight::Ready,
                Err(reason) => Preflight::Failed(reason),
            },
        }
    }

    /// Why Python cannot be used, when it cannot.
    pub fn failure(&self) -> Option<&FindError> {
        match self {
            Preflight::Failed(reason) => Some(reason),
            Preflight::Ready | Preflight::Skipped => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use inkcell_kernel::ParentEnv;

    use super::*;

    /// A search in a folder of its own, where `PATH` has this folder only.
    fn search(dir: &Path, setting: Option<&Path>) -> Search {
        let path = ("PATH".into(), dir.join("bin").into_os_string());
        Search {
            setting: setting.map(|path| path.display().to_string()),
            cwd: dir.to_owned(),
            home: None,
            state: None,
            env: ParentEnv::from_os([path]),
        }
    }

    fn program(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// B:C-03
    #[tokio::test]
    async fn a_python_that_is_not_there_or_does_not_work_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let finder = Finder::default();
        let none = search(dir.path(), None);
        let looked = Preflight::look(Check::Look, &finder, &none).await;
        assert_eq!(looked, Preflight::Failed(FindError::NoneFound));
        let broken = dir.path().join("bin/python3");
        program(&broken, "#!/bin/sh\nexit 3\n");
        let looked = Preflight::look(Check::Look, &finder, &none).await;
        let reason = looked.failure().unwrap().to_string();
        assert!(reason.contains(broken.to_str().unwrap()), "{reason}");
    }

    /// B:C-05: nothing is started when nobody is to look.
    #[tokio::test]
    async fn a_look_can_be_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let mark = dir.path().join("asked");
        program(&dir.path().join("bin/python3"), &format!("#!/bin/sh\n: > '{}'\n", mark.display()));
        let search = search(dir.path(), None);
        let looked = Preflight::look(Check::Skip, &Finder::default(), &search).await;
        assert_eq!((looked.failure(), &looked), (None, &Preflight::Skipped));
        assert!(!mark.exists());
        Preflight::look(Check::Look, &Finder::default(), &search).await;
        assert!(mark.exists(), "the program would have noticed");
    }

    /// B:C-03
    #[tokio::test]
    async fn a_python_that_works_is_ready() {
        let dir = tempfile::tempdir().unwrap();
        let python = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let search = Search {
            env: ParentEnv::from_os(std::env::vars_os()),
            ..search(dir.path(), Some(Path::new(&python)))
        };
        let looked = Preflight::look(Check::Look, &Finder::default(), &search).await;
        assert_eq!(looked, Preflight::Ready);
    }
}
