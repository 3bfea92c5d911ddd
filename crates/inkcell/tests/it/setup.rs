//! `inkcell setup`: the configuration of the programs in which agents work.

use std::os::unix::fs::{PermissionsExt, symlink};

use inkcell_testkit::env::{CommandOutput, TestEnv, finish};
use serde_json::Value;

use crate::env;

const VSCODE: &str = if cfg!(target_os = "macos") {
    "Library/Application Support/Code/User/mcp.json"
} else {
    ".config/Code/User/mcp.json"
};

const CLIENTS: [(&str, &str); 6] = [
    ("claude-code", ".claude.json"),
    ("cursor", ".cursor/mcp.json"),
    ("vscode", VSCODE),
    ("codex", ".codex/config.toml"),
    ("zed", ".config/zed/settings.json"),
    ("goose", ".config/goose/config.yaml"),
];

fn json(ran: CommandOutput) -> Value {
    serde_json::from_str(&ran.ok().stdout).expect("JSON")
}

fn put(env: &TestEnv, name: &str, text: &str) {
    let folder = env.path(name).parent().expect("a folder").to_owned();
    std::fs::create_dir_all(folder).expect("a folder");
    env.put(name, text);
}

fn text(env: &TestEnv, name: &str) -> String {
    String::from_utf8(env.get(name)).expect("text")
}

/// Nothing is written without the option; with it the entry is written, and a second time there is
/// nothing to do.
#[test]
fn every_client_is_shown_and_written_once() {
    let env = env();
    let program = env.program().canonicalize().expect("the program");
    for (client, file) in CLIENTS {
        let shown = env.run(&["setup", client]).ok();
        let path = env.path(file);
        assert!(shown.stdout.starts_with(&format!("Add this to ~/{file}:\n")), "{}", shown.stdout);
        let call = format!("\nTo write it: inkcell setup {client} --write\n");
        assert!(shown.stdout.contains(&call), "{}", shown.stdout);
        assert!(!path.exists(), "{client}");
        let said = json(env.run(&["setup", client, "--json"]));
        assert_eq!(said["state"], "absent");
        assert_eq!(said["server"]["command"].as_str(), program.to_str());
        let written = env.run(&["setup", client, "--write"]).ok();
        let first = format!("Added inkcell to ~/{file}\nThen ");
        assert!(written.stdout.starts_with(&first), "{}", written.stdout);
        assert_eq!(said["content"].as_str(), Some(text(&env, file).as_str()));
        let mode = std::fs::metadata(&path).expect("the file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{client}");
        let again = env.run(&["setup", client, "--write"]).ok();
        assert_eq!(again.stdout, format!("Nothing to change: ~/{file} already has inkcell\n"));
        let shown = env.run(&["setup", client]).ok().stdout;
        assert!(shown.starts_with(&format!("~/{file} already has inkcell:\n")), "{shown}");
    }
    let others = [".claude.json", ".codex", ".config", ".cursor", "Library"];
    assert!(env.names().iter().all(|name| others.contains(&name.as_str())), "{:?}", env.names());
}

/// The entry includes the options of the offer, and another choice changes that line alone.
#[test]
fn tools_and_names_are_passed_on() {
    let env = env();
    env.run(&["setup", "codex", "--write"]).ok();
    let ran = env.run(&["setup", "codex", "--tools", "all", "--write"]).ok();
    assert!(ran.stdout.starts_with("Changed inkcell in "), "{}", ran.stdout);
    let ran = env.run(&["setup", "codex", "--tools", "compat", "--name", "old_tools", "--write"]);
    assert!(ran.ok().stdout.starts_with("Added old_tools to "));
    let written = text(&env, ".codex/config.toml");
    assert!(written.contains("\nargs = [\"mcp\", \"--tools\", \"all\"]\n"), "{written}");
    assert!(written.contains("\n\n[mcp_servers.old_tools]\n"), "{written}");
    assert!(
        written.ends_with("args = [\"mcp\", \"--tools\", \"compat\"]\ntool_timeout_sec = 660\n")
    );
    let ran = env.run(&["setup", "codex", "--tools", "compat", "--name", "new_tools"]).ok();
    let call = "\nTo write it: inkcell setup codex --tools compat --name new_tools --write\n";
    assert!(ran.stdout.contains(call), "{}", ran.stdout);
    assert!(ran.stdout.contains("\nOr let Codex write it: codex mcp add new_tools -- "));
    for name in ["a b", "", "-x", "7", "a.b"] {
        env.run(&["setup", "codex", &format!("--name={name}")]).exits(2);
    }
}

/// The rest of the file, its mode and the link that leads to it stay as they are.
#[test]
fn the_rest_of_a_file_stays() {
    let env = env();
    let before = "// mine\n{\n    \"theme\": \"x\", // dark\n    \"context_servers\": {\n        \
                  \"other\": { \"command\": \"npx\" }\n    }\n}\n";
    put(&env, "dots/zed.json", before);
    std::fs::set_permissions(env.path("dots/zed.json"), std::fs::Permissions::from_mode(0o640))
        .expect("a mode");
    std::fs::create_dir_all(env.path(".config/zed")).expect("a folder");
    symlink("../../dots/zed.json", env.path(".config/zed/settings.json")).expect("a link");
    let said = json(env.run(&["setup", "zed", "--write", "--json"]));
    assert_eq!((&said["written"], &said["state"]), (&"added".into(), &"present".into()));
    let after = text(&env, "dots/zed.json");
    let old: Vec<&str> = before.lines().collect();
    let is_new = |line: &&str| !old.contains(line);
    let new: Vec<&str> = after.lines().filter(is_new).collect();
    let command = format!("            \"command\": {},", said["server"]["command"]);
    let wanted = [
        "        \"other\": { \"command\": \"npx\" },",
        "        \"inkcell\": {",
        &command,
        "            \"args\": [\"mcp\"]",
        "        }",
    ];
    assert_eq!(new, wanted);
    let mode = std::fs::metadata(env.path("dots/zed.json")).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    let link = std::fs::symlink_metadata(env.path(".config/zed/settings.json")).expect("a link");
    assert!(link.is_symlink());
    let beside = inkcell_testkit::env::names_in(&env.path("dots"));
    assert_eq!(beside, ["zed.json"]);
}

/// A file that cannot be read, or has something else there, is left alone, and the error gives the
/// position.
#[test]
fn broken_files_are_refused() {
    let env = env();
    let table = [
        ("claude-code", ".claude.json", "{\"a\": 1,,}", 2, ":1:9: "),
        ("vscode", VSCODE, "{\n  \"servers\": {\n", 2, ":2:14: "),
        ("codex", ".codex/config.toml", "a = 1\na = 2\n", 2, ":2:1: "),
        ("goose", ".config/goose/config.yaml", "a: 1\nb: [1\nc: 2\n", 2, ":3:2: "),
        (
            "cursor",
            ".cursor/mcp.json",
            "{\"mcpServers\": 3}",
            2,
            "'mcpServers' is not a table of servers",
        ),
        (
            "zed",
            ".config/zed/settings.json",
            "{\"context_servers\": {\"inkcell\": {\"url\": \"http://x\"}}}",
            4,
            "with its own 'url'; nothing was written\nhint: choose another name: 'inkcell setup zed --name inkcell2'\n",
        ),
    ];
    for (client, file, before, code, words) in table {
        put(&env, file, before);
        let ran = env.run(&["setup", client, "--write"]).exits(code);
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
        assert!(ran.stderr.contains("; nothing was written\nhint: "), "{}", ran.stderr);
        assert_eq!(text(&env, file), before);
        // The entry is shown all the same.
        let said = json(env.run(&["setup", client, "--json"]));
        assert_eq!(said["state"], "unusable");
        assert!(said["problem"].as_str().is_some_and(|told| !told.is_empty()));
        let shown = env.run(&["setup", client]).ok().stdout;
        assert!(shown.contains("\nwarning: "), "{shown}");
    }
}

/// The variables of the clients give their folders.
#[test]
fn places_follow_the_variables_of_the_clients() {
    let env = env();
    let table = [
        ("claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("vscode", "VSCODE_APPDATA", "Code/User/mcp.json"),
        ("vscode", "VSCODE_PORTABLE", "user-data/User/mcp.json"),
        ("zed", "XDG_CONFIG_HOME", "zed/settings.json"),
        ("goose", "XDG_CONFIG_HOME", "goose/config.yaml"),
        ("goose", "GOOSE_PATH_ROOT", "config/config.yaml"),
    ];
    for (client, variable, file) in table {
        let folder = env.outside("elsewhere");
        let mut command = env.inkcell();
        command.args(["setup", client, "--json"]).env(variable, &folder);
        let said = json(finish(command, b""));
        assert_eq!(said["file"].as_str(), folder.join(file).to_str(), "{variable}");
    }
    let mut command = env.inkcell();
    command.args(["setup", "cursor"]).env_remove("HOME");
    assert!(finish(command, b"").exits(2).stderr.contains("HOME: is not set"));
}

/// For a project the name is enough if it is on PATH, and a note says that a path is only for this
/// machine.
#[test]
fn a_project_has_a_file_of_its_own() {
    let env = env();
    std::fs::create_dir(env.path("repo")).expect("a folder");
    let run = |args: &[&str], path: Option<&std::ffi::OsStr>| {
        let mut command = env.inkcell();
        command.args(args).current_dir(env.path("repo"));
        path.map(|path| command.env("PATH", path));
        finish(command, b"")
    };
    let args = ["setup", "claude-code", "--scope", "project", "--write"];
    let ran = run(&args, None).ok();
    assert!(ran.stdout.contains("\nnote: "), "{}", ran.stdout);
    let folder = env.program().parent().expect("a folder").as_os_str();
    let ran = run(&args, Some(folder)).ok();
    assert!(ran.stdout.starts_with("Changed inkcell in "), "{}", ran.stdout);
    assert!(!ran.stdout.contains("note: "), "{}", ran.stdout);
    assert!(text(&env, "repo/.mcp.json").contains("\"command\": \"inkcell\",\n"));
    for (client, file) in [
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
        ("codex", ".codex/config.toml"),
    ] {
        run(&["setup", client, "--scope", "project", "--write"], Some(folder)).ok();
        assert!(text(&env, &format!("repo/{file}")).contains("inkcell"));
    }
    let ran = run(&["setup", "goose", "--scope", "project"], None).exits(2);
    assert!(ran.stderr.contains("Goose has one file for all projects"), "{}", ran.stderr);
}
