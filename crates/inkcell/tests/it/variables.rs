//! One test for each variable: the effect of every setting when its variable is set.
//!
//! [`SHOWN`] names for each setting the test that shows its effect; a setting without one fails here.
//! `settings/tests.rs` shows that every variable of every setting counts, in its order
//! (`every_setting_is_taken_from_the_first_that_has_it`).

use std::path::Path;

use inkcell_testkit::env::{CommandOutput, TestEnv, finish};
use inkcell_testkit::need;
use serde_json::{Value, json};

use crate::client::Client;
use crate::env;

const HERE: &str = "tests/it/variables.rs";
const UNITS: &str = "src/settings/tests.rs";
const LOGGING: &str = "tests/it/logging.rs";

/// Setting, file and test.
const SHOWN: [(&str, &str, &str); 52] = [
    ("python.interpreter", HERE, "a_command_is_told_which_python"),
    ("python.shell", HERE, "a_command_is_told_what_a_kernel_begins_with"),
    ("python.prelude", HERE, "a_command_is_told_what_a_kernel_begins_with"),
    (
        "python.preload",
        "../kernel/tests/conformance/fork_server.rs",
        "a_preload_that_fails_is_told",
    ),
    ("python.project_modules", HERE, "a_command_is_told_what_a_kernel_begins_with"),
    ("python.start_timeout", HERE, "a_command_is_told_how_long"),
    ("python.timeout", HERE, "a_command_is_told_how_long"),
    ("python.toolMode", "src/mcp/exposure.rs", "the_exact_tools_of_every_case"),
    ("python.kernelMode", HERE, "a_server_is_told_which_kernels"),
    ("python.backend", HERE, "a_command_is_told_which_backend"),
    ("python.sharedGateway", UNITS, "an_address_means_a_gateway"),
    ("python.skip_check", "tests/it/mcp_life.rs", "what_is_offered_depends_on_mode_and_python"),
    ("python.ipc_trace", LOGGING, "messages_are_traced_without_what_they_say"),
    ("gateway.url", HERE, "a_command_is_told_which_backend"),
    ("gateway.token", UNITS, "an_address_means_a_gateway"),
    ("gateway.token_file", UNITS, "an_address_means_a_gateway"),
    ("gateway.insecure", UNITS, "an_address_means_a_gateway"),
    ("gateway.authorities", UNITS, "an_address_means_a_gateway"),
    ("gateway.start_timeout", UNITS, "an_address_means_a_gateway"),
    ("gateway.idle_stop", UNITS, "an_address_means_a_gateway"),
    ("host.use", "tests/it/hosts.rs", "the_host_is_cut_off_from_whoever_started_it"),
    ("host.idle", "tests/it/hosts.rs", "an_idle_host_ends"),
    ("http.token", "tests/it/http_life.rs", "a_token_is_seen_nowhere"),
    ("kernel.zygote", HERE, "a_server_is_told_which_kernels"),
    ("kernel.pool", "tests/it/jupyter_kernels.rs", "a_pool_has_a_kernel_ready"),
    ("kernel.interrupt_grace", HERE, "a_server_is_told_when_kernels_end"),
    ("kernel.retry", HERE, "a_server_is_told_when_kernels_end"),
    ("kernel.max_sessions", HERE, "a_server_is_told_which_kernels"),
    ("kernel.idle", UNITS, "what_is_set_reaches_the_engine"),
    ("env.mode", HERE, "a_command_is_told_what_code_may_see"),
    ("env.pass", HERE, "a_command_is_told_what_code_may_see"),
    ("output.bytes", HERE, "a_server_is_told_how_much_is_shown"),
    ("output.lines", HERE, "a_page_of_a_text_is_bounded"),
    ("output.call_bytes", HERE, "a_server_is_told_how_much_is_shown"),
    ("output.cut_bytes", HERE, "a_server_is_told_how_much_is_shown"),
    ("output.line_bytes", HERE, "a_server_is_told_how_much_is_shown"),
    ("output.images", HERE, "a_server_is_told_how_pictures_are_answered"),
    ("output.image_bytes", HERE, "a_server_is_told_how_pictures_are_answered"),
    ("output.notebook_bytes", UNITS, "what_is_set_reaches_the_engine"),
    ("artifacts.session_bytes", HERE, "what_is_stored_is_bounded"),
    ("artifacts.total_bytes", HERE, "what_is_stored_is_bounded"),
    ("artifacts.keep", HERE, "what_is_stored_is_bounded"),
    ("results.keep", HERE, "a_server_is_told_how_much_is_shown"),
    ("state.dir", HERE, "a_command_is_told_where_files_are"),
    ("notebook.max_bytes", HERE, "a_command_is_told_where_files_are"),
    ("notebook.text_ids", "tests/it/reading.rs", "ids_can_be_left_out_of_the_markers"),
    ("notebook.roots", HERE, "a_command_is_told_where_files_are"),
    ("screen.ground", "src/term/screen/mod.rs", "ground_suits_the_terminal"),
    ("screen.glyphs", "src/view/image/protocol.rs", "characters_are_chosen_with_care"),
    ("log.level", LOGGING, "a_server_logs_clients_calls_and_kernels"),
    ("log.file", LOGGING, "a_log_that_cannot_be_written_is_told"),
    ("debug.startup", LOGGING, "stages_of_starting_are_told_on_standard_error"),
];

/// B:C-01 B:C-02 B:C-03 B:C-04 B:C-05 B:C-06 B:C-07 B:C-08: no setting lacks a test of its effect.
#[test]
fn every_setting_has_a_test_of_its_effect() {
    let ran = env().run(&["settings", "--json"]).ok();
    let said: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let listed = said["settings"].as_array().expect("a list").iter();
    let listed: Vec<&str> = listed.filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(SHOWN.map(|(name, _, _)| name).to_vec(), listed);
    for (name, file, test) in SHOWN {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let text = std::fs::read_to_string(&path).expect("a file of tests");
        assert!(text.contains(&format!("fn {test}(")), "{name}: there is no {test} in {file}");
    }
}

fn test_python() -> String {
    std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// Runs a command with these variables, and with the Python of the tests unless they name another.
fn run(env: &TestEnv, args: &[&str], variables: &[(&str, &str)]) -> CommandOutput {
    let mut command = env.inkcell();
    command.args(args).env("PI_PYTHON_INTERPRETER", test_python());
    finish_with(command, variables)
}

fn finish_with(mut command: std::process::Command, variables: &[(&str, &str)]) -> CommandOutput {
    command.envs(variables.iter().copied());
    finish(command, b"")
}

/// A server with these variables.
fn server(env: &TestEnv, variables: &[(&str, &str)]) -> Client {
    Client::with(env, &[], |command| {
        command.envs(variables.iter().copied());
    })
}

#[test]
fn a_command_is_told_which_python() {
    let env = env();
    let missing = [("PI_PYTHON_INTERPRETER", "/no/such/python")];
    let ran = run(&env, &["py", "1"], &missing).exits(3);
    assert!(ran.stderr.contains("/no/such/python"), "{}", ran.stderr);
    assert_eq!(run(&env, &["py", "1"], &[]).ok().stdout, "1\n");
}

/// B:C-06 B:C-07
#[test]
fn a_command_is_told_which_backend() {
    let env = env();
    let wanted = "External gateway at http://127.0.0.1:9 is not reachable";
    let ran = run(&env, &["py", "1"], &[("PI_PYTHON_GATEWAY_URL", "http://127.0.0.1:9")]).exits(3);
    assert!(ran.stderr.contains(wanted), "{}", ran.stderr);
    let ran = run(&env, &["py", "-v", "1"], &[("PI_PYTHON_BACKEND", "runner")]).ok();
    assert!(ran.stderr.starts_with("kernel: runner\n"), "{}", ran.stderr);
    let test = "a_command_is_told_which_backend";
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    if need::python_package(test, &python, "ipykernel") {
        let ran = run(&env, &["py", "-v", "1"], &[("PI_PYTHON_BACKEND", "zmq")]).ok();
        assert!(ran.stderr.starts_with("kernel: zmq\n"), "{}", ran.stderr);
    }
    let both = [("PI_PYTHON_GATEWAY_URL", "http://127.0.0.1:9"), ("PI_PYTHON_BACKEND", "runner")];
    run(&env, &["py", "1"], &both).ok();
}

#[test]
fn a_command_is_told_what_a_kernel_begins_with() {
    let env = env();
    std::fs::create_dir_all(env.path(".inkcell/modules")).expect("a folder");
    env.put(".inkcell/modules/mine.py", "mine = 1\n");
    let names = "print([n in globals() or n in dir(__builtins__) for n in ('bash', 'mine')])";
    let said = |variables: &[(&str, &str)]| run(&env, &["py", names], variables).ok().stdout;
    assert_eq!(said(&[]), "[True, True]\n");
    assert_eq!(said(&[("PI_PYTHON_PRELUDE", "off")]), "[False, True]\n");
    assert_eq!(said(&[("PI_PYTHON_PROJECT_MODULES", "off")]), "[True, False]\n");
    let shell = "import sys; print('IPython.core.interactiveshell' in sys.modules)";
    for (word, wanted) in [("lite", "False\n"), ("ipython", "True\n")] {
        let ran = run(&env, &["py", shell], &[("PI_PYTHON_SHELL", word)]).ok();
        assert_eq!(ran.stdout, wanted, "{word}");
    }
}

#[test]
fn a_command_is_told_how_long() {
    let env = env();
    let endless = ["py", "while True: pass"];
    let ran = run(&env, &endless, &[("PI_PYTHON_TIMEOUT", "0.5")]).exits(124);
    // On a busy machine Python itself may take as long.
    let is_told = ["timed out", "within the 0.5 s"].iter().any(|words| ran.stderr.contains(words));
    assert!(is_told, "{}", ran.stderr);
    // An argument takes precedence over it.
    let args = ["py", "--timeout", "0", "import time; time.sleep(0.3)"];
    run(&env, &args, &[("PI_PYTHON_TIMEOUT", "0.1")]).ok();
    let ran = run(&env, &["py", "1"], &[("PI_PYTHON_START_TIMEOUT", "0.001")]).exits(3);
    assert!(ran.stderr.contains("0.001"), "{}", ran.stderr);
}

#[test]
fn a_command_is_told_what_code_may_see() {
    let env = env();
    let code = "import os; print(os.environ.get('MY_OWN'))";
    let said = |variables: &[(&str, &str)]| {
        let variables = [&[("MY_OWN", "mine")], variables].concat();
        run(&env, &["py", code], &variables).ok().stdout
    };
    assert_eq!(said(&[("PI_ENV_MODE", "inherit")]), "mine\n");
    assert_eq!(said(&[("PI_ENV_MODE", "filtered")]), "None\n");
    assert_eq!(said(&[("PI_ENV_MODE", "filtered"), ("PI_ENV_PASS", "MY_*")]), "mine\n");
}

#[test]
fn a_command_is_told_where_files_are() {
    let env = env();
    let mut command = env.inkcell();
    command.args(["state", "path"]).env_remove("INKCELL_STATE_DIR");
    let ran = finish_with(command, &[("PI_STATE_DIR", "/x/y")]).ok();
    assert_eq!(ran.stdout, "/x/y\n");
    run(&env, &["new", "nb.ipynb"], &[]).ok();
    run(&env, &["read", "nb.ipynb"], &[("PI_NOTEBOOK_ROOTS", ".")]).ok();
    let ran = run(&env, &["read", "nb.ipynb"], &[("PI_NOTEBOOK_ROOTS", "elsewhere")]).exits(2);
    assert!(ran.stderr.contains("elsewhere"), "{}", ran.stderr);
    let ran = run(&env, &["read", "nb.ipynb"], &[("PI_NOTEBOOK_MAX_BYTES", "10")]).exits(2);
    assert!(ran.stderr.contains("10"), "{}", ran.stderr);
}

/// B:C-06
#[test]
fn a_server_is_told_which_kernels() {
    let env = env();
    let mut client = server(&env, &[("PI_PYTHON_KERNEL_MODE", "per-call")]);
    client.ok("python", json!({"code": "x = 1"}));
    let lost = client.call("python", json!({"code": "x"}));
    assert!(lost.text().contains("NameError"), "{lost:?}");

    let log = [("PI_LOG", "info"), ("PI_LOG_FILE", "log")];
    let set = [("PI_KERNEL_ZYGOTE", "off"), ("PI_KERNEL_MAX_SESSIONS", "1"), log[0], log[1]];
    let mut client = server(&env, &set);
    client.ok("python", json!({"code": "x = 1", "session": "a"}));
    let said = String::from_utf8(env.get("log")).expect("text");
    assert!(said.contains("the fork server is turned off"), "{said}");
    client.ok("python", json!({"code": "y = 1", "session": "b"}));
    let listed = client.ok("kernel", json!({"action": "list"}));
    let text = listed.text();
    assert!(text.contains("b in ") && !text.contains("a in "), "{text}");
    let lost = client.call("python", json!({"code": "x", "session": "a"}));
    assert!(lost.text().contains("NameError"), "{lost:?}");
}

#[test]
fn a_server_is_told_when_kernels_end() {
    let env = env();
    let code = "import os\nif os.path.exists('was-here'): print('again')\n\
                else:\n    open('was-here', 'w').close()\n    os._exit(3)";
    let mut client = server(&env, &[("PI_KERNEL_RETRY", "never")]);
    assert!(client.call("python", json!({"code": code})).is_error());
    std::fs::remove_file(env.path("was-here")).expect("it was there");
    let mut client = server(&env, &[("PI_KERNEL_RETRY", "once")]);
    let ran = client.ok("python", json!({"code": code}));
    assert!(ran.text().contains("again"), "{ran:?}");
    // Code that ignores the interrupt is ended after the grace period, and not before.
    let mut client = server(&env, &[("PI_KERNEL_INTERRUPT_GRACE", "0.2")]);
    let deaf = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass";
    let ran = client.call("python", json!({"code": deaf, "timeout": 1}));
    assert!(ran.is_error() && ran.text().contains("interrupt"), "{ran:?}");
}

#[test]
fn a_server_is_told_how_much_is_shown() {
    let env = env();
    let lines = json!({"code": "for n in range(2000): print(n)"});
    let whole = server(&env, &[]).ok("python", lines.clone()).text().len();
    for set in [("PI_OUTPUT_BYTES", "1000"), ("PI_OUTPUT_CALL_BYTES", "1000")] {
        let answer = server(&env, &[set]).ok("python", lines.clone());
        let shown = answer.text().len();
        assert!(whole > 8000 && shown < 3000, "{set:?}: {whole} {shown}");
        assert!(answer.text().contains("artifact://"), "{set:?}: {answer:?}");
    }
    let long = json!({"code": "for n in range(9000): print(n)"});
    let cut = server(&env, &[]).ok("python", long.clone()).text().len();
    assert!((7000..8500).contains(&cut), "{cut}");
    let off = server(&env, &[("PI_OUTPUT_CUT_BYTES", "off")]).ok("python", long).text().len();
    assert!((15_000..24_576).contains(&off), "{off}");
    let line = json!({"code": "print('x' * 5000)"});
    assert!(server(&env, &[]).ok("python", line.clone()).text().len() >= 5000);
    let cut = server(&env, &[("PI_OUTPUT_LINE_BYTES", "100")]).ok("python", line);
    assert!(cut.text().len() < 1000, "{cut:?}");

    let mut client = server(&env, &[("PI_RESULTS_KEEP", "0.001")]);
    let gated = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)";
    let answer = client.ok("python", json!({"code": gated, "wait": 0}));
    let text = answer.text();
    let (_, rest) = text.split_once("execution ").unwrap_or_else(|| panic!("{text}"));
    let id: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
    env.put("go", "");
    // Finished calls are looked for only after some calls, once to see the end and once to forget them.
    for _ in 0..40 {
        client.ok("python", json!({"code": "1"}));
    }
    let asked = client.call("result", json!({"id": id}));
    assert!(asked.is_error(), "{asked:?}");
}

#[test]
fn a_server_is_told_how_pictures_are_answered() {
    let env = env();
    // A picture that does not compress well.
    let code = "import os, struct, zlib\n\
        def chunk(kind, data):\n    body = kind + data\n    \
        return struct.pack('>I', len(data)) + body + struct.pack('>I', zlib.crc32(body))\n\
        class Picture:\n    def _repr_png_(self):\n        \
        rows = b''.join(b'\\0' + os.urandom(600) for _ in range(200))\n        \
        return (b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 200, 200, 8, 2, 0, 0, 0))\n            \
        + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))\n\
        Picture()";
    let shown = |set: (&str, &str)| {
        let answer = server(&env, &[set]).ok("python", json!({"code": code}));
        let images = answer.blocks("image");
        let sizes: Vec<usize> =
            images.iter().filter_map(|image| image["data"].as_str()).map(str::len).collect();
        (sizes, answer.text())
    };
    let (inline, _) = shown(("PI_OUTPUT_IMAGES", "inline"));
    assert!(inline.len() == 1 && inline[0] > 50_000, "{inline:?}");
    let (small, _) = shown(("PI_OUTPUT_IMAGE_BYTES", "20000"));
    assert!(small.len() == 1 && small[0] < 30_000, "{small:?}");
    let (none, text) = shown(("PI_OUTPUT_IMAGES", "path"));
    assert!(none.is_empty() && text.contains(env.state().to_str().expect("text")), "{text}");
    let (none, text) = shown(("PI_OUTPUT_IMAGES", "off"));
    assert!(none.is_empty() && text.contains("200×200"), "{text}");
}

#[test]
fn what_is_stored_is_bounded() {
    let env = env();
    let long = json!({"code": "for n in range(20_000): print(n)"});
    let stored = |env: &TestEnv| {
        let ran = run(env, &["artifacts", "list", "--json"], &[]).ok();
        let said: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        said["artifacts"].as_array().map(Vec::len).expect("a list")
    };
    for set in [
        ("PI_ARTIFACTS_SESSION_BYTES", "1000"),
        ("PI_ARTIFACTS_TOTAL_BYTES", "1000"),
        ("PI_ARTIFACTS_KEEP", "0.001"),
    ] {
        server(&env, &[]).ok("python", long.clone());
        assert_eq!(stored(&env), 1, "{set:?}");
        run(&env, &["artifacts", "gc"], &[]).ok();
        assert_eq!(stored(&env), 1, "{set:?}");
        run(&env, &["artifacts", "gc"], &[set]).ok();
        assert_eq!(stored(&env), 0, "{set:?}");
    }
}

#[test]
fn a_page_of_a_text_is_bounded() {
    let env = env();
    env.put("long.txt", (1..=20).map(|number| format!("line {number}\n")).collect::<String>());
    let read = ["tool", "read", r#"{"path": "long.txt"}"#];
    let whole = run(&env, &read, &[]).ok().stdout;
    assert!(whole.contains("line 20"), "{whole}");
    let page = run(&env, &read, &[("PI_OUTPUT_LINES", "5")]).ok().stdout;
    assert!(page.contains("[Showing lines 1-5 of 20"), "{page}");
}

/// B:E-03: the commands of an agent get no more of the environment than its code.
#[test]
fn an_agents_commands_get_no_more_than_its_code() {
    let env = env();
    let set = [("OPENAI_API_KEY", "canary-1"), ("DB_PASSWORD", "canary-2")];
    for arguments in [["bash", r#"{"command": "env"}"#], ["python", r#"{"code": "!env"}"#]] {
        let ran = run(&env, &[&["tool", "--tools", "all"], &arguments[..]].concat(), &set).ok();
        assert!(ran.stdout.contains("PATH="), "{ran:?}");
        assert!(!ran.stdout.contains("canary"), "{ran:?}");
    }
}

/// A tool for notebooks does not show other files.
#[test]
fn raw_text_is_a_notebooks() {
    let env = env();
    env.put("secret.txt", "canary");
    let read = ["tool", "notebook_read", r#"{"path": "secret.txt", "view": "raw"}"#];
    let refused = run(&env, &read, &[]);
    assert!(refused.code != Some(0) && !format!("{refused:?}").contains("canary"), "{refused:?}");
    env.put("broken.ipynb", "{broken");
    let read = ["tool", "notebook_read", r#"{"path": "broken.ipynb", "view": "raw"}"#];
    assert!(run(&env, &read, &[]).ok().stdout.contains("{broken"));
}
