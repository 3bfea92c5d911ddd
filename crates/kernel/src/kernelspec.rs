//! Kernelspecs: the installed kernels, and how each is started.
//!
//! Owns the folders of kernelspecs, in Jupyter's search order, the contents of `kernel.json`, and
//! its placeholders. It reads files and nothing else: the caller passes variables and folders in.
//! It must not know how a process is started.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::environ::ParentEnv;

/// An installed kernelspec, as its `kernel.json` describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernelspec {
    /// Name of its folder in lower case, such as `python3`.
    pub name: String,
    /// Folder that holds its `kernel.json`.
    pub resource_dir: PathBuf,
    /// Command that starts the kernel, with placeholders.
    pub argv: Vec<String>,
    /// Name that people see, such as `Python 3 (ipykernel)`.
    pub display_name: String,
    /// Language of its cells, such as `python`.
    pub language: String,
    /// Variables to add to the kernel's environment, with placeholders.
    pub env: BTreeMap<String, String>,
    /// How the kernel expects to be interrupted.
    pub interrupt_mode: InterruptMode,
    /// Its `metadata` as JSON text; empty if it has none.
    pub metadata: String,
}

/// How a kernel expects to be interrupted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum InterruptMode {
    /// By the signal `SIGINT`.
    #[default]
    Signal,
    /// By the message `interrupt_request`.
    Message,
}

/// Upper and lower case are equal, as in Jupyter.
impl<'de> Deserialize<'de> for InterruptMode {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<InterruptMode, D::Error> {
        let text = String::deserialize(from)?;
        match text.to_ascii_lowercase().as_str() {
            "signal" => Ok(InterruptMode::Signal),
            "message" => Ok(InterruptMode::Message),
            _ => Err(serde::de::Error::unknown_variant(&text, &["signal", "message"])),
        }
    }
}

/// Places in which to search for kernelspecs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KernelspecSearch {
    /// Environment with Jupyter's own variables.
    pub env: ParentEnv,
    /// Home folder of the user.
    pub home: Option<PathBuf>,
    /// Python environment of the chosen interpreter.
    pub prefix: Option<PythonPrefix>,
    /// Jupyter folders of the system; [`KernelspecSearch::SYSTEM`] unless a test says otherwise.
    pub system: Vec<PathBuf>,
}

/// Folder in which a Python has its files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PythonPrefix {
    /// The folder, Python's `sys.prefix`.
    pub folder: PathBuf,
    /// Virtual environment, or a Python by itself.
    pub kind: PrefixKind,
}

/// Kind of a Python's folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrefixKind {
    /// A virtual environment, whose kernels come before the user's.
    Environment,
    /// A Python by itself.
    Installation,
}

/// Result of a search for kernelspecs.
#[derive(Debug, Default)]
pub struct Kernelspecs {
    /// Usable kernelspecs, sorted by name.
    pub found: Vec<Kernelspec>,
    /// Unusable kernelspecs. One of them still hides others of its name, as in Jupyter.
    pub broken: Vec<KernelspecError>,
}

/// Reason why a kernelspec cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelspecError {
    /// The file cannot be read.
    #[error("{}: cannot be read: {source}", .path.display())]
    Unreadable {
        /// Path of its `kernel.json`.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The file is not a kernelspec.
    #[error("{}: not a kernelspec: {problem}", .path.display())]
    Malformed {
        /// Path of its `kernel.json`.
        path: PathBuf,
        /// Problem with its contents, in words.
        problem: String,
    },
    /// No kernelspec has this name.
    #[error("no kernel named {name:?}; {}", list(.known))]
    NotFound {
        /// Name that the caller asked for.
        name: String,
        /// Names of the installed kernelspecs.
        known: Vec<String>,
    },
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        return "none is installed. For Python, install ipykernel: `python -m pip install ipykernel`"
            .to_owned();
    }
    format!("installed: {}", names.join(", "))
}

impl KernelspecSearch {
    /// Folders in which systems keep Jupyter's files.
    pub const SYSTEM: [&str; 2] = ["/usr/local/share/jupyter", "/usr/share/jupyter"];

    /// Returns the folders of kernelspecs, in Jupyter's search order.
    pub fn folders(&self) -> Vec<PathBuf> {
        let mut roots: Vec<PathBuf> = Vec::new();
        if let Some(path) = self.env.get("JUPYTER_PATH") {
            roots.extend(path.split(':').filter(|part| !part.is_empty()).map(PathBuf::from));
        }
        let user = self.user();
        let own = self.prefix.iter().map(|prefix| prefix.folder.join("share/jupyter"));
        if self.prefers_prefix() {
            roots.extend(own.chain(user));
        } else {
            roots.extend(user.into_iter().chain(own));
        }
        roots.extend(self.system.iter().cloned());
        let mut folders: Vec<PathBuf> = Vec::new();
        let below = roots.into_iter().map(|root| root.join("kernels"));
        let old = self.home.iter().map(|home| home.join(".ipython/kernels"));
        for folder in below.chain(old) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        folders
    }

    fn prefers_prefix(&self) -> bool {
        let is_on = |value: &str| {
            !matches!(value.to_lowercase().as_str(), "no" | "n" | "false" | "off" | "0" | "0.0")
        };
        match self.env.get("JUPYTER_PREFER_ENV_PATH") {
            Some(value) => is_on(value),
            None => self.prefix.as_ref().is_some_and(|it| it.kind == PrefixKind::Environment),
        }
    }

    /// Returns the connection file of a running kernel: the path itself, or the path of this name
    /// in Jupyter's runtime folder. The reader of the file finds out if it exists.
    pub fn connection_file(&self, given: &Path, cwd: &Path) -> PathBuf {
        let here = cwd.join(given);
        if here.exists() || given.components().count() != 1 {
            return here;
        }
        let runtime = match self.env.get("JUPYTER_RUNTIME_DIR") {
            Some(folder) => Some(PathBuf::from(folder)),
            None => self.user().map(|user| user.join("runtime")),
        };
        runtime.map(|folder| folder.join(given)).filter(|file| file.exists()).unwrap_or(here)
    }

    fn user(&self) -> Option<PathBuf> {
        if let Some(folder) = self.env.get("JUPYTER_DATA_DIR") {
            return Some(PathBuf::from(folder));
        }
        if cfg!(target_os = "macos") {
            return self.home.as_ref().map(|home| home.join("Library/Jupyter"));
        }
        let data = self.env.get("XDG_DATA_HOME").map(PathBuf::from);
        let data = data.or_else(|| self.home.as_ref().map(|home| home.join(".local/share")));
        data.map(|data| data.join("jupyter"))
    }

    /// Finds all installed kernelspecs.
    pub fn find(&self) -> Kernelspecs {
        let mut all = BTreeMap::new();
        for folder in self.folders() {
            for (name, dir) in candidates(&folder) {
                all.entry(name).or_insert(dir);
            }
        }
        let mut specs = Kernelspecs::default();
        for (name, dir) in all {
            match Kernelspec::read(&name, &dir) {
                Ok(spec) => specs.found.push(spec),
                Err(problem) => specs.broken.push(problem),
            }
        }
        specs
    }
}

impl Kernelspecs {
    /// Takes the kernelspec of this name, in any case of letters. The error says why there is none.
    pub fn take(mut self, name: &str) -> Result<Kernelspec, KernelspecError> {
        let wanted = name.to_lowercase();
        if let Some(at) = self.found.iter().position(|spec| spec.name == wanted) {
            return Ok(self.found.swap_remove(at));
        }
        let is_of = |error: &KernelspecError| match error {
            KernelspecError::Unreadable { path, .. } | KernelspecError::Malformed { path, .. } => {
                path.parent()
                    .and_then(Path::file_name)
                    .is_some_and(|folder| folder.to_string_lossy().to_lowercase() == wanted)
            }
            KernelspecError::NotFound { .. } => false,
        };
        if let Some(at) = self.broken.iter().position(is_of) {
            return Err(self.broken.swap_remove(at));
        }
        let known = self.found.into_iter().map(|spec| spec.name).collect();
        Err(KernelspecError::NotFound { name: name.to_owned(), known })
    }
}

/// Returns the folders below this one that hold a kernelspec, by their names.
fn candidates(folder: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<(String, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?.to_lowercase();
            let is_spec = entry.path().join("kernel.json").is_file();
            is_spec.then(|| (name, entry.path()))
        })
        .collect();
    found.sort();
    found
}

/// Keeps the history of IPython's kernel in memory: cells that an agent runs do not belong in a
/// file that all kernels of a user share.
pub(crate) const MEMORY_HISTORY: &str = "--HistoryManager.hist_file=:memory:";

/// Starts IPython's kernel as `-m ipykernel_launcher` does, without the working folder on the path:
/// a file such as `re.py` there would replace a module that the start needs. The kernel adds the
/// folder when it has started.
const SAFE_START: &str = "import sys\nif not sys.path[0]: del sys.path[0]\nimport ipykernel_launcher\n\
                          sys.argv[0] = ipykernel_launcher.__file__\nfrom ipykernel import kernelapp\n\
                          kernelapp.launch_new_instance()";

/// Changes a command of IPython's kernel so that no file in the working folder can break the start.
pub(crate) fn safely(mut command: Vec<String>) -> Vec<String> {
    let is_start = |pair: &[String]| {
        pair[0] == "-m" && matches!(&*pair[1], "ipykernel" | "ipykernel_launcher")
    };
    if let Some(at) = command.windows(2).position(is_start) {
        command[at] = "-c".to_owned();
        command[at + 1] = SAFE_START.to_owned();
    }
    command
}

impl Kernelspec {
    /// Reads the kernelspec in this folder.
    pub fn read(name: &str, dir: &Path) -> Result<Kernelspec, KernelspecError> {
        #[derive(Deserialize)]
        struct File<'a> {
            argv: Vec<String>,
            #[serde(default)]
            display_name: Option<String>,
            #[serde(default)]
            language: Option<String>,
            #[serde(default)]
            env: Option<BTreeMap<String, String>>,
            #[serde(default)]
            interrupt_mode: Option<InterruptMode>,
            #[serde(borrow, default)]
            metadata: Option<&'a RawValue>,
        }
        let path = dir.join("kernel.json");
        let text = fs::read_to_string(&path)
            .map_err(|source| KernelspecError::Unreadable { path: path.clone(), source })?;
        let malformed =
            |problem: String| KernelspecError::Malformed { path: path.clone(), problem };
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let file: File<'_> =
            serde_json::from_str(text).map_err(|problem| malformed(problem.to_string()))?;
        if file.argv.is_empty() {
            return Err(malformed("argv is empty, so the kernel has no command".to_owned()));
        }
        Ok(Kernelspec {
            name: name.to_owned(),
            resource_dir: dir.to_owned(),
            argv: file.argv,
            display_name: file.display_name.unwrap_or_else(|| name.to_owned()),
            language: file.language.unwrap_or_default(),
            env: file.env.unwrap_or_default(),
            interrupt_mode: file.interrupt_mode.unwrap_or_default(),
            metadata: file.metadata.map(|raw| raw.get().to_owned()).unwrap_or_default(),
        })
    }

    /// Returns the command with its placeholders filled in. `python` means the chosen interpreter.
    pub fn command(&self, python: &Path, connection_file: &Path) -> Vec<String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let prefix = python.parent().and_then(Path::parent).map(text).unwrap_or_default();
        let names = [
            ("{connection_file}", text(connection_file)),
            ("{resource_dir}", text(&self.resource_dir)),
            ("{prefix}", prefix),
        ];
        let fill = |argument: &String| {
            // Fill in from left to right and each placeholder once, so that braces in an inserted
            // path are kept.
            let (mut filled, mut rest) = (String::new(), argument.as_str());
            while let Some(at) = rest.find('{') {
                filled.push_str(&rest[..at]);
                rest = &rest[at..];
                match names.iter().find(|(name, _)| rest.starts_with(name)) {
                    Some((name, value)) => {
                        filled.push_str(value);
                        rest = &rest[name.len()..];
                    }
                    None => {
                        filled.push('{');
                        rest = &rest[1..];
                    }
                }
            }
            filled.push_str(rest);
            filled
        };
        let mut command: Vec<String> = self.argv.iter().map(fill).collect();
        if let Some(program) = command.first_mut()
            && is_plain_python(program)
        {
            *program = text(python);
        }
        let sets_history = |argument: &String| argument.contains("HistoryManager");
        if self.is_ipykernel() && !command.iter().any(sets_history) {
            command.push(MEMORY_HISTORY.to_owned());
        }
        safely(command)
    }

    /// Returns `true` if the command starts IPython's kernel.
    pub fn is_ipykernel(&self) -> bool {
        let is_ipython = |program: &str| {
            let name = Path::new(program).file_name().unwrap_or_default();
            name.to_string_lossy().starts_with("ipython")
        };
        let by_name = matches!(&self.argv[..], [program, command, ..] if command == "kernel" && is_ipython(program));
        by_name || self.argv.iter().any(|argument| argument.starts_with("ipykernel"))
    }

    /// Returns the environment with the spec's own variables added. In these, `$NAME` and `${NAME}`
    /// stand for variables of the environment; an unknown name stays as written.
    pub fn environment(&self, env: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut all = env.clone();
        for (name, value) in &self.env {
            all.insert(name.clone(), substitute(value, env));
        }
        all
    }
}

/// Returns `true` if a command means any Python, such as `python3`.
fn is_plain_python(program: &str) -> bool {
    let Some(version) = program.strip_prefix("python") else { return false };
    version.split('.').all(|part| part.chars().all(|c| c.is_ascii_digit()))
}

/// Substitutes as Python's `string.Template` does.
fn substitute(text: &str, env: &BTreeMap<String, String>) -> String {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('$') {
        filled.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            filled.push('$');
            rest = after;
            continue;
        }
        let braced = rest.strip_prefix('{');
        let start = braced.unwrap_or(rest);
        let is_name = |(at, c): (usize, char)| {
            !(c == '_' || c.is_ascii_alphabetic() || (at > 0 && c.is_ascii_digit()))
        };
        let end =
            start.char_indices().find(|found| is_name(*found)).map_or(start.len(), |(at, _)| at);
        let (name, after) = start.split_at(end);
        let after = if braced.is_some() { after.strip_prefix('}') } else { Some(after) };
        match (env.get(name), after) {
            (Some(value), Some(after)) => {
                filled.push_str(value);
                rest = after;
            }
            _ => filled.push('$'),
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests;
