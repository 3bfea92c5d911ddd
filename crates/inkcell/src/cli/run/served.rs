//! A notebook of a Jupyter server: fetched into a folder of ours, run, and written back after the run.
//!
//! Owns that folder, the leftovers of a killed run in it, and when the server's notebook is written. The kernel
//! crate reads and writes it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use inkcell_engine::kernel::{
    BackendKind, ContentsError, ContentsPath, GatewayBackend, GatewayConfig, GatewayUrl,
    LaunchError, Overwrite, ServerContents, ServerNotebook, make_private_folder,
};
use inkcell_engine::{EngineError, GatewayChoice, Kind, Notebooks, Version, system_random};
use serde::{Deserialize, Serialize};

use super::super::signals::Signals;
use crate::app::gateways::{choice_at, is_address};
use crate::args::Run;
use crate::exit::Failure;
use crate::output::Output;
use crate::settings::RuntimeFolder;
use crate::settings::{Profile, Settings};
use crate::words;
use crate::words::step::Audience;

/// The folder for such folders, in the state folder.
const FOLDERS: &str = "served";

/// The folder for notebooks that could not be written back and whose run is over.
const KEPT: &str = "kept";

/// Describes the content of a folder; it exists while the notebook beside it may be the only result of a run.
const ABOUT: &str = "about.json";

/// Locked while a process runs the notebook.
const LOCK: &str = "lock";

/// How long the server may take after the user asked us to end.
const LAST_WRITE: Duration = Duration::from_secs(10);

/// A notebook of a server.
#[derive(Clone, Debug)]
pub(super) struct Place {
    config: GatewayConfig,
    path: ContentsPath,
}

/// Its form on disk.
#[derive(Serialize, Deserialize)]
struct About {
    url: String,
    path: String,
    last_modified: String,
    file: String,
}

/// A notebook that was fetched.
pub(super) struct FetchedNotebook {
    contents: ServerContents,
    place: Place,
    folder: PathBuf,
    /// The copy that is run.
    pub(super) file: PathBuf,
    read: ServerNotebook,
    overwrite: Overwrite,
    goal: Goal,
    /// Held while the folder is ours.
    _lock: File,
}

/// The fate of the copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Goal {
    PutBack,
    /// The outputs are in another file, and the server's notebook stays as it is.
    Left,
}

/// A run whose outputs did not get to the server.
pub(in crate::cli) struct UnsavedRun {
    pub(in crate::cli) url: String,
    pub(in crate::cli) path: String,
    pub(in crate::cli) file: PathBuf,
}

impl Place {
    /// The named notebook, if it is on a server.
    pub(super) fn of(args: &Run, settings: &Settings) -> Result<Option<Place>, Failure> {
        let is_address = is_address(&args.path);
        if !args.on_server && !is_address {
            return Ok(None);
        }
        if args.python.cwd.is_some() {
            let problem = words::gateway::CODE_WORKS_THERE;
            return Err(Failure::argument("--cwd", problem));
        }
        let backend = args.kernel.which.backend.map(BackendKind::from);
        let is_here = backend.is_some_and(|backend| backend != BackendKind::Gateway);
        if is_here || args.kernel.which.existing.is_some() {
            let problem = words::gateway::KERNEL_OF_SERVER;
            let name = if is_here { "--backend" } else { "--existing" };
            return Err(Failure::argument(name, problem));
        }
        let given = if is_address {
            ContentsPath::of_page(&args.path)
        } else {
            ContentsPath::parse(&args.path)
        };
        let Some(path) = given else {
            return Err(Failure::argument("path", no_file(is_address)));
        };
        let page = is_address.then_some(args.path.as_str());
        let choice = choice_at(settings, Profile::CommandLine, page);
        let GatewayChoice::External(config) = choice(&RuntimeFolder::of(settings))? else {
            let problem = words::gateway::NO_SERVER;
            return Err(Failure::argument("--on-server", problem));
        };
        let config = GatewayConfig { beside: Some(path.clone()), ..*config };
        Ok(Some(Place { config, path }))
    }

    /// The gateway that runs the notebook.
    pub(super) fn choice(&self) -> GatewayChoice {
        GatewayChoice::External(Box::new(self.config.clone()))
    }

    fn url(&self) -> &GatewayUrl {
        &self.config.url
    }
}

fn no_file(is_address: bool) -> &'static str {
    if is_address { words::gateway::NOT_NOTEBOOK_ADDRESS } else { words::gateway::NOT_SERVER_PATH }
}

impl FetchedNotebook {
    /// Fetches the notebook. A notebook that must not be written is refused before anything is run.
    pub(super) async fn fetch(
        place: Place,
        args: &Run,
        settings: &Settings,
        output: &mut Output,
    ) -> Result<FetchedNotebook, Failure> {
        let goal = if args.output.is_some() { Goal::Left } else { Goal::PutBack };
        let overwrite = if args.force { Overwrite::Forced } else { Overwrite::Careful };
        let contents = GatewayBackend::new(place.config.clone()).contents();
        let refused = |problem: ContentsError| failure(&problem, None);
        let read = contents.read(&place.path).await.map_err(refused)?;
        if goal == Goal::PutBack {
            if !read.writable {
                let problem = words::gateway::read_only(&place.path);
                return Err(Failure::new(
                    Kind::Invalid,
                    problem,
                    Some(words::gateway::WRITE_HERE.to_owned()),
                ));
            }
            if overwrite == Overwrite::Careful {
                contents.must_be_closed(&place.path).await.map_err(refused)?;
            }
        }
        let failed = |error| Failure::Io(words::failure::KEEP_SERVED, error);
        let (folder, lock) = taken(&settings.state_dir, &place)?;
        let name = Path::new(place.path.as_str()).file_name().unwrap_or_default();
        let file = folder.join(name);
        let left = leftover(&folder);
        let is_resumed = args.resume
            && left.as_ref().is_some_and(|left| left.last_modified == read.last_modified);
        if !is_resumed {
            if left.is_some() {
                let kept = keep(&settings.notebooks, &settings.state_dir, &file).map_err(failed)?;
                output.aside(&words::gateway::earlier_outputs(&kept.display()));
            }
            let about = About {
                url: place.url().to_string(),
                path: place.path.to_string(),
                last_modified: read.last_modified.clone(),
                file: name.to_string_lossy().into_owned(),
            };
            put(&folder, &file, &read.content, &about).map_err(failed)?;
        }
        Ok(FetchedNotebook { contents, place, folder, file, read, overwrite, goal, _lock: lock })
    }

    /// The user's name for the notebook.
    pub(super) fn name(&self) -> &str {
        self.place.path.as_str()
    }

    /// The note about where the outputs are.
    pub(super) fn whereabouts(&self) -> Option<String> {
        let there = words::gateway::outputs_are_in(&self.place.path, &self.place.url());
        (self.goal == Goal::PutBack).then_some(there)
    }

    /// Writes the result of the run to the server. A result that the server refuses stays here.
    pub(super) async fn put_back(&self, signals: &Signals) -> Result<(), Failure> {
        let failed = |error| Failure::Io(words::failure::READ_NOTEBOOK, error);
        if self.goal == Goal::PutBack {
            let bytes = fs::read(&self.file).map_err(failed)?;
            if bytes != self.read.content {
                self.write(&bytes, signals).await?;
            }
        }
        self.remove();
        Ok(())
    }

    /// Removes the copy, which holds nothing that is not elsewhere.
    fn remove(&self) {
        let _ = fs::remove_file(self.folder.join(ABOUT));
        let _ = fs::remove_file(&self.file);
    }

    async fn write(&self, bytes: &[u8], signals: &Signals) -> Result<(), Failure> {
        let (path, read) = (&self.place.path, Some(&self.read));
        let kept = words::gateway::outputs_kept(&self.file.display());
        let in_haste = async {
            signals.asked(1).await;
            tokio::time::sleep(LAST_WRITE).await;
        };
        tokio::select! {
            written = self.contents.write(path, bytes, read, self.overwrite) => match written {
                Ok(_) => Ok(()),
                Err(problem) => Err(failure(&problem, Some(kept))),
            },
            () = in_haste => Err(Failure::new(
                Kind::Unavailable,
                words::gateway::not_in_time(path),
                Some(kept),
            )),
        }
    }
}

impl Drop for FetchedNotebook {
    fn drop(&mut self) {
        // A run that changed nothing leaves nothing.
        if fs::read(&self.file).is_ok_and(|bytes| bytes == self.read.content) {
            self.remove();
        }
    }
}

/// The runs whose outputs did not get to their servers and that no process works on.
pub(in crate::cli) fn unfinished(state_dir: &Path) -> Vec<UnsavedRun> {
    let all = state_dir.join(FOLDERS);
    let folders = [all.join(KEPT), all].map(fs::read_dir).into_iter().flatten().flatten().flatten();
    let found = folders.filter_map(|entry| {
        let folder = entry.path();
        let about = leftover(&folder)?;
        // A folder that was put away has no lock, and is not in use.
        let is_used =
            File::open(folder.join(LOCK)).is_ok_and(|lock| lock.try_lock_shared().is_err());
        let file = folder.join(&about.file);
        (!is_used).then_some(UnsavedRun { url: about.url, path: about.path, file })
    });
    let mut found: Vec<UnsavedRun> = found.collect();
    found.sort_by(|a, b| (&a.url, &a.path).cmp(&(&b.url, &b.path)));
    found
}

/// The folder of a notebook, locked for this process from here on.
fn taken(state_dir: &Path, place: &Place) -> Result<(PathBuf, File), Failure> {
    let failed = |error| Failure::Io(words::failure::KEEP_SERVED, error);
    let name = Version::of(format!("{}\n{}", place.url(), place.path).as_bytes()).to_string();
    let folder = state_dir.join(FOLDERS).join(name);
    make_private_folder(&folder).map_err(failed)?;
    let mut options = OpenOptions::new();
    let options = options.create(true).truncate(false).write(true).mode(0o600);
    let lock = options.open(folder.join(LOCK)).map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => Ok((folder, lock)),
        Err(TryLockError::Error(error)) => Err(failed(error)),
        Err(TryLockError::WouldBlock) => Err(Failure::new(
            Kind::Busy,
            words::gateway::runs_already(&place.path, &place.url()),
            Some(words::run::TRY_WHEN_DONE.to_owned()),
        )),
    }
}

/// The result of a run that was killed, or whose outputs the server did not take.
fn leftover(folder: &Path) -> Option<About> {
    let about: About = serde_json::from_slice(&fs::read(folder.join(ABOUT)).ok()?).ok()?;
    folder.join(&about.file).is_file().then_some(about)
}

/// Keeps a copy of an abandoned run, with all its known outputs.
fn keep(notebooks: &Notebooks, state_dir: &Path, file: &Path) -> io::Result<PathBuf> {
    // Reading it merges the outputs that its run had not saved.
    let _ = file.to_str().map(|file| notebooks.read(file));
    let folder = state_dir.join(FOLDERS).join(KEPT).join(format!("{:016x}", system_random()));
    make_private_folder(&folder)?;
    let kept = folder.join(file.file_name().unwrap_or_default());
    let about = file.with_file_name(ABOUT);
    fs::copy(&about, folder.join(ABOUT))?;
    fs::rename(file, &kept)?;
    Ok(kept)
}

/// Writes a copy. Its description comes last, and makes the copy valid.
fn put(folder: &Path, file: &Path, content: &[u8], about: &About) -> io::Result<()> {
    match fs::remove_file(folder.join(ABOUT)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::write(file, content)?;
    fs::write(folder.join(ABOUT), serde_json::to_vec(about)?)
}

/// The failure of a server, with the fate of the outputs.
fn failure(problem: &ContentsError, kept: Option<String>) -> Failure {
    let (kind, step) = match problem {
        ContentsError::Gateway(problem) => {
            let error = EngineError::from(LaunchError::from(problem.clone()));
            (error.kind(), Audience::Person.step_after(&error))
        }
        ContentsError::NotFound { .. } => (Kind::NotFound, None),
        ContentsError::NoFiles { .. } => {
            let step = words::gateway::ADDRESS_GOES_ON;
            (Kind::Unavailable, Some(step.to_owned()))
        }
        ContentsError::Changed { .. } | ContentsError::Open { .. } => (Kind::Conflict, None),
        ContentsError::NotANotebook { .. } | ContentsError::NoJson { .. } => (Kind::Invalid, None),
    };
    Failure::new(kind, problem.to_string(), kept.or(step))
}
