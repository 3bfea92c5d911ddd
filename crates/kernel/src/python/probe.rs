//! Runs a program to learn whether it is a Python, and which: one short run, bounded whatever the program does.
//!
//! Owns the probe and the parsing of its answer. It must not know where the program was found, or whether
//! its answer is cached.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::time::timeout;

use super::interpreter::{OLDEST, PythonVersion, SkipReason};

/// The default time in which a candidate must answer.
pub const DEFAULT_PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// The time to wait for output after the program ended: a child it left behind may hold the pipe.
const LATE_OUTPUT: Duration = Duration::from_millis(300);

/// More than any answer needs; beyond this the probe stops reading.
const MOST_OUTPUT_BYTES: usize = 256 * 1024;

const FIRST_LINE: &str = "inkcell-python 1";
const LAST_LINE: &str = "inkcell-python end";

/// The program imports only modules that are loaded already, so it costs no more than the start. Paths are sent
/// as hex digits, so that neither a locale nor an odd name spoils them.
const PROGRAM: &str = r#"
import sys, os
h = lambda text: os.fsencode(text or "").hex()
lines = ["inkcell-python 1", "%d %d %d" % sys.version_info[:3], sys.implementation.name]
lines += [h(sys.executable), h(sys.prefix), h(sys.base_prefix)]
lines += [h(name + "=" + value) for name, value in os.environ.items()]
lines += ["inkcell-python end"]
sys.stdout.write("\n" + "\n".join(lines) + "\n")
"#;

const LACKING: &str = "inkcell-python lacks";

/// Searches modules without importing them: in the folders of the first argument, then on Python's own path.
const SEARCH: &str = r#"
import sys
from importlib.util import find_spec
sys.path[:0] = [part for part in sys.argv[1].split(":") if part]
lacking = [name for name in sys.argv[2:] if find_spec(name) is None]
sys.stdout.write("\n" + " ".join(["inkcell-python lacks", *lacking]) + "\n")
"#;

/// The answer of a Python about itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PythonFacts {
    /// The first three numbers of `sys.version_info`.
    pub version: PythonVersion,
    /// `sys.implementation.name`, such as `cpython`.
    pub implementation: String,
    /// Its `sys.executable`, which may differ from the program that was run.
    pub executable: PathBuf,
    /// Its `sys.prefix`, the root of the installation or virtual environment.
    pub prefix: PathBuf,
    /// Its `sys.base_prefix`, which differs in a virtual environment.
    pub base_prefix: PathBuf,
    /// Names of variables whose values differ from those given: a wrapper around the Python changed them.
    pub changed_env: Vec<String>,
}

/// Runs a program in `cwd` with exactly `env` and reads its answer. It never takes much longer than
/// `limit`. At the limit, or when the future is dropped, the program and its group are killed.
pub async fn probe(
    program: &Path,
    cwd: &Path,
    env: &BTreeMap<String, String>,
    limit: Duration,
) -> Result<PythonFacts, SkipReason> {
    // Isolated, so that the working folder, the user's site and PYTHON* variables have no effect.
    let ran = run(program, &["-I", "-c", PROGRAM], cwd, env, limit).await?;
    if let Some(signal) = ran.status.signal() {
        return Err(SkipReason::Signal(signal));
    }
    let code = ran.status.code().unwrap_or_default();
    if code != 0 {
        // Python before 3.4 does not know `-I`.
        let ancient = String::from_utf8_lossy(&ran.stderr).contains("Unknown option: -I");
        return Err(if ancient { SkipReason::Ancient } else { SkipReason::ExitCode(code) });
    }
    let probed = read_answer(&ran.stdout, env).ok_or(SkipReason::NotAPython)?;
    if probed.version < OLDEST { Err(SkipReason::TooOld(probed.version)) } else { Ok(probed) }
}

/// The modules among these top-level ones that a Python lacks, with these folders before its own. `None` if it does not
/// answer.
pub(super) async fn lacking(
    program: &Path,
    env: &BTreeMap<String, String>,
    path: &[PathBuf],
    modules: &[&str],
    limit: Duration,
) -> Option<Vec<String>> {
    let path: Vec<String> = path.iter().map(|folder| folder.display().to_string()).collect();
    let path = path.join(":");
    // With the user's site, which a kernel may use; files of the working folder have no effect.
    let args: Vec<&str> =
        ["-E", "-c", SEARCH, &path].into_iter().chain(modules.iter().copied()).collect();
    let ran = run(program, &args, Path::new("/"), env, limit).await.ok()?;
    let said = String::from_utf8_lossy(&ran.stdout);
    let lacking = said.lines().find_map(|line| line.strip_prefix(LACKING))?;
    Some(lacking.split_whitespace().map(str::to_owned).collect())
}

struct ProbeRun {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

async fn run(
    program: &Path,
    args: &[&str],
    cwd: &Path,
    env: &BTreeMap<String, String>,
    limit: Duration,
) -> Result<ProbeRun, SkipReason> {
    let cannot_start =
        |error: io::Error| SkipReason::CannotStart { problem: describe(&error, program) };
    let mut child = Command::new(program)
        .args(args)
        .current_dir(cwd)
        .env_clear()
        .envs(env)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(cannot_start)?;
    let mut group = Group(child.id());
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let outputs = (child.stdout.take(), child.stderr.take());
    let status = {
        let mut reading = pin!(async {
            tokio::join!(collect(outputs.0, &mut stdout), collect(outputs.1, &mut stderr))
        });
        let mut all_read = false;
        let ended = timeout(limit, async {
            loop {
                tokio::select! {
                    status = child.wait() => break status,
                    _ = &mut reading, if !all_read => all_read = true,
                }
            }
        });
        let status = ended.await.map_err(|_| SkipReason::NoAnswer { within: limit })?;
        // A process that still holds the pipe was left behind, and the guard kills it with its group. While
        // a member of the group lives, the system cannot reuse the group's number.
        if all_read || timeout(LATE_OUTPUT, &mut reading).await.is_ok() {
            group.0 = None;
        }
        status.map_err(cannot_start)?
    };
    Ok(ProbeRun { status, stdout, stderr })
}

/// Kills the group of a program that did not end by itself.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        let pid = self.0.and_then(|pid| i32::try_from(pid).ok());
        if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
            // The leader was not reaped or a member lives, so the number still belongs to this group.
            let _gone = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
    }
}

/// Reads to the end, or past the longest possible answer; then the pipe is closed.
async fn collect(from: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) {
    let Some(mut from) = from else { return };
    let mut chunk = [0; 4096];
    while into.len() < MOST_OUTPUT_BYTES {
        match from.read(&mut chunk).await {
            Ok(0) | Err(_) => return,
            Ok(n) => into.extend_from_slice(&chunk[..n]),
        }
    }
}

fn describe(error: &io::Error, program: &Path) -> String {
    match error.kind() {
        // The system reports the same error for a missing program and for a missing interpreter of a script.
        io::ErrorKind::NotFound if program.exists() => match script_runner(program) {
            Some(runner) => format!("its first line names {runner}, which does not exist"),
            None => "the loader it needs is not there".to_owned(),
        },
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

/// The program that the first line of a script names to run it.
pub(super) fn script_runner(program: &Path) -> Option<String> {
    let mut start = Vec::new();
    let file = std::fs::File::open(program).ok()?;
    io::Read::read_to_end(&mut io::Read::take(file, 256), &mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    line.split_whitespace().next().map(str::to_owned)
}

/// Finds the answer in the output; a `sitecustomize` may have printed before and after it.
fn read_answer(stdout: &[u8], given: &BTreeMap<String, String>) -> Option<PythonFacts> {
    let text = String::from_utf8_lossy(stdout);
    let mut lines = text.lines().map(str::trim_end).skip_while(|line| *line != FIRST_LINE).skip(1);
    let mut numbers = lines.next()?.split(' ').map(|number| number.parse().ok());
    let version =
        PythonVersion { major: numbers.next()??, minor: numbers.next()??, micro: numbers.next()?? };
    let implementation = lines.next()?.to_owned();
    let mut path = || Some(PathBuf::from(OsString::from_vec(unhex(lines.next()?)?)));
    let (executable, prefix, base_prefix) = (path()?, path()?, path()?);
    let mut changed_env = Vec::new();
    loop {
        let line = lines.next()?;
        if line == LAST_LINE {
            break;
        }
        let variable = String::from_utf8_lossy(&unhex(line)?).into_owned();
        let (name, value) = variable.split_once('=')?;
        if given.get(name).is_none_or(|given| given != value) {
            changed_env.push(name.to_owned());
        }
    }
    Some(PythonFacts { version, implementation, executable, prefix, base_prefix, changed_env })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8]| u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok();
    digits.chunks_exact(2).map(byte).collect()
}
