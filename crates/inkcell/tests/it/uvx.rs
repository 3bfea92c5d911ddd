//! inkcell from a wheel, started by the real uv: which Python it chooses, and which command `setup` writes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use inkcell_testkit::env::{CommandOutput, TestEnv, finish};
use inkcell_testkit::need;
use serde_json::Value;

use crate::client::Client;
use crate::env;

/// Writes a wheel: a folder, the name of a distribution, and a file that becomes a program or a module.
const MAKE_WHEEL: &str = r#"
import sys, zipfile
folder, name, kind, source = sys.argv[1:]
inside = f"{name}-0.1.0.data/scripts/{name}" if kind == "program" else f"{name}.py"
about = f"{name}-0.1.0.dist-info"
texts = {
    f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n",
    f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{about}/RECORD": f"{inside},,\n{about}/METADATA,,\n{about}/WHEEL,,\n{about}/RECORD,,\n",
}
with zipfile.ZipFile(f"{folder}/{name}-0.1.0-py3-none-any.whl", "w") as wheel:
    wheel.write(source, inside)
    for path, text in texts.items():
        wheel.writestr(path, text)
"#;

fn test_python() -> String {
    std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// A machine with uv, a wheel of inkcell, and nothing from a registry.
struct Machine {
    env: TestEnv,
    uv: PathBuf,
}

impl Machine {
    /// None if uv is not there and the test may be skipped.
    fn new(test: &str) -> Option<Machine> {
        let uv = need::uv(test)?;
        let env = env();
        std::fs::create_dir(env.outside("wheels")).expect("a folder");
        let machine = Machine { env, uv };
        let program = machine.env.program().to_owned();
        machine.wheel("inkcell", "program", &program);
        Some(machine)
    }

    fn wheels(&self) -> PathBuf {
        self.env.outside("wheels")
    }

    fn wheel(&self, name: &str, kind: &str, source: &Path) -> PathBuf {
        let mut make = self.env.command(test_python());
        make.args(["-c", MAKE_WHEEL]).arg(self.wheels()).args([name, kind]).arg(source);
        finish(make, b"").ok();
        self.wheels().join(format!("{name}-0.1.0-py3-none-any.whl"))
    }

    /// A command as a new shell would start it: with these folders on PATH before those of the system, and without
    /// the network.
    fn shell(&self, program: impl AsRef<OsStr>, path: &[&Path]) -> Command {
        let mut command = self.env.command(program);
        let system = [Path::new("/usr/bin"), Path::new("/bin")];
        let folders = path.iter().copied().chain(system);
        command
            .env("PATH", std::env::join_paths(folders).expect("folders"))
            .env("UV_OFFLINE", "1")
            .env("UV_FIND_LINKS", self.wheels())
            .env("UV_NO_CONFIG", "1")
            .env("UV_PYTHON", test_python())
            .env("UV_PYTHON_DOWNLOADS", "never");
        command
    }

    /// Runs `uvx` with these arguments.
    fn uvx(&self, path: &[&Path], args: &[&str]) -> CommandOutput {
        let mut command = self.shell(self.uv.with_file_name("uvx"), path);
        command.args(args);
        finish(command, b"")
    }

    /// The command that `setup` writes for a client, seen in the client's file.
    fn written(&self) -> (String, Vec<String>) {
        let file = self.env.path(".claude.json");
        let written = std::fs::read(&file).expect("the file");
        std::fs::remove_file(file).expect("removed");
        let written: Value = serde_json::from_slice(&written).expect("JSON");
        let server = &written["mcpServers"]["inkcell"];
        let args = serde_json::from_value(server["args"].clone()).expect("words");
        (server["command"].as_str().expect("a word").to_owned(), args)
    }

    /// Starts a command as a client does, and lets it answer.
    fn must_start(&self, (command, args): &(String, Vec<String>), path: &[&Path]) {
        let mut shell = self.shell("/bin/sh", path);
        shell.args(["-c", "exec \"$0\" \"$@\"", command]).args(args);
        let mut client = Client::greeted(shell);
        client.leave();
        assert!(client.end().success(), "{command} {args:?}");
    }

    fn clear_cache(&self) {
        let mut clean = self.shell(&self.uv, &[]);
        clean.args(["cache", "clean", "--quiet"]);
        finish(clean, b"").ok();
        let left = self.env.path(".cache/uv/archive-v0");
        assert!(!left.exists(), "{} is still there", left.display());
    }

    /// A folder that new shells have on PATH, with uv's programs.
    fn tools(&self) -> PathBuf {
        let tools = self.env.outside("tools");
        std::fs::create_dir(&tools).expect("a folder");
        for name in ["uv", "uvx"] {
            let target = self.uv.with_file_name(name);
            std::os::unix::fs::symlink(target, tools.join(name)).expect("a link");
        }
        tools
    }
}

/// `uvx` puts the tool's own environment first on PATH. Code runs in the user's Python all the same.
#[test]
fn code_under_uvx_runs_in_the_users_python() {
    let Some(machine) = Machine::new("code_under_uvx_runs_in_the_users_python") else { return };
    let user = machine.env.outside("user");
    let mut venv = machine.env.command(test_python());
    venv.args(["-m", "venv", "--without-pip"]).arg(&user);
    finish(venv, b"").ok();
    let library = inkcell_testkit::env::names_in(&user.join("lib")).remove(0);
    let packages = user.join("lib").join(library).join("site-packages");
    std::fs::write(packages.join("it.py"), "WORD = 'mine'\n").expect("a module");
    let bin = user.join("bin");
    let from = machine.wheels().join("inkcell-0.1.0-py3-none-any.whl").display().to_string();

    let code = "import it, subprocess, sys\n\
                there = ['python', '-c', 'import sys; print(sys.prefix)']\n\
                print(it.WORD, subprocess.check_output(there, text=True).strip() == sys.prefix)";
    let ran = machine.uvx(&[&bin], &["--from", &from, "inkcell", "py", code]).ok();
    assert_eq!(ran.stdout, "mine True\n");

    let ran = machine.uvx(&[&bin], &["--from", &from, "inkcell", "env"]).ok();
    let path = format!("\n  path: {}/python\n  why: found python on PATH\n", bin.display());
    assert!(ran.stdout.contains(&path), "{}", ran.stdout);
    let passed_over = ran.stdout.split_once("\nPassed over:\n").expect("a list").1;
    let first = passed_over.lines().next().expect("a line");
    assert!(first.contains("/archive-v0/"), "{first}");
    let why = "(found python on PATH): in the environment that was made for inkcell, without your packages";
    assert!(first.ends_with(why), "{first}");

    let ran = machine.uvx(&[&bin], &["--from", &from, "inkcell", "doctor", "--json"]).ok();
    let said: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let checks = said["checks"].as_array().expect("a list");
    let passed = checks.iter().find(|check| check["what"] == "passed over").expect("a check");
    assert_eq!(passed["level"], "ok", "{passed}");
    assert!(passed["found"].as_str().is_some_and(|found| found.contains("/archive-v0/")));

    // Packages that the user asks uvx for are wanted, and so is the Python that has them.
    let module = machine.env.put("extra.py", "WORD = 'with'\n");
    let extra = machine.wheel("extra", "module", &module).display().to_string();
    std::fs::remove_file(module).expect("removed");
    let with =
        ["--from", &from, "--with", &extra, "inkcell", "py", "import extra; print(extra.WORD)"];
    assert_eq!(machine.uvx(&[&bin], &with).ok().stdout, "with\n");
}

/// The command `inkcell` exists only inside `uvx`, so `setup` writes one that fetches it again.
#[test]
fn setup_under_uvx_writes_a_command_that_starts_from_a_new_shell() {
    let name = "setup_under_uvx_writes_a_command_that_starts_from_a_new_shell";
    let Some(machine) = Machine::new(name) else { return };
    let tools = machine.tools();
    let setup = ["inkcell", "setup", "claude-code"];
    let ran = machine.uvx(&[&tools], &setup).ok();
    let call = "\nTo write it: uvx inkcell setup claude-code --write\n";
    assert!(ran.stdout.contains(call), "{}", ran.stdout);
    let write = ["inkcell", "setup", "claude-code", "--write"];
    machine.uvx(&[&tools], &write).ok();
    let written = machine.written();
    assert_eq!((&*written.0, &*written.1.join(" ")), ("uvx", "inkcell mcp"));
    machine.clear_cache();
    machine.must_start(&written, &[&tools]);

    // A uvx that no new shell finds is written with its path.
    machine.uvx(&[], &write).ok();
    let written = machine.written();
    let path = machine.uv.with_file_name("uvx");
    assert_eq!((Some(&*written.0), &*written.1.join(" ")), (path.to_str(), "inkcell mcp"));
    machine.clear_cache();
    machine.must_start(&written, &[]);
}

/// An installed tool keeps its place: by name where PATH leads to it, else by path.
#[test]
fn setup_of_an_installed_tool_writes_a_command_that_starts_from_a_new_shell() {
    let name = "setup_of_an_installed_tool_writes_a_command_that_starts_from_a_new_shell";
    let Some(machine) = Machine::new(name) else { return };
    let mut install = machine.shell(&machine.uv, &[]);
    install.args(["tool", "install", "--quiet", "inkcell"]);
    finish(install, b"").ok();
    machine.clear_cache();
    let bin = machine.env.path(".local/bin");
    let place = machine.env.path(".local/share/uv/tools/inkcell/bin/inkcell");
    let place = place.canonicalize().expect("it is there").display().to_string();
    let write = ["setup", "claude-code", "--write"];
    let written = |path: &[&Path]| {
        let mut command = machine.shell(bin.join("inkcell"), path);
        command.args(write);
        finish(command, b"").ok();
        machine.written()
    };
    let by_name = written(&[&bin]);
    assert_eq!(by_name, ("inkcell".to_owned(), vec!["mcp".to_owned()]));
    machine.must_start(&by_name, &[&bin]);
    let by_path = written(&[]);
    assert_eq!(by_path, (place.clone(), vec!["mcp".to_owned()]));
    machine.must_start(&by_path, &[]);
    // uvx starts the installed tool, with a PATH that no other shell has.
    machine.uvx(&[], &[&["inkcell"][..], &write].concat()).ok();
    assert_eq!(machine.written(), (place, vec!["mcp".to_owned()]));
}
