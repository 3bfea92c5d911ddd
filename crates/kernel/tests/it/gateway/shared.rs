//! The gateway that hosts on one machine share: the real program.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use inkcell_kernel::{
    Backend as _, GatewayBackend, GatewayConfig, GatewayLocation, GatewayUrl, KernelSpec,
    LocalConfig, LocalGatewayBackend, PlainHttp, SharedConfig, SharedGateway, SharedStatus,
    Sharing, Token, Whose,
};
use inkcell_testkit::need::jupyter_server;
use inkcell_testkit::wait::{on_skipping_clock, until_async};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::desk::{Desk, config, run};

fn python() -> PathBuf {
    std::env::var_os("INKCELL_TEST_JUPYTER_PYTHON").map(PathBuf::from).unwrap()
}

fn shared(folder: &TempDir, python: PathBuf) -> SharedGateway {
    let mut env = BTreeMap::new();
    env.insert("PATH".to_owned(), std::env::var("PATH").unwrap());
    env.insert("HOME".to_owned(), folder.path().display().to_string());
    let state_dir = folder.path().join("state");
    let (venv, idle_stop, start_limit) = (None, None, Duration::from_secs(300));
    SharedGateway::new(SharedConfig { state_dir, python, venv, env, idle_stop, start_limit })
}

/// The folder of the only gateway of a test.
fn files(folder: &TempDir) -> PathBuf {
    let all = folder.path().join("state/python-gateway");
    all.read_dir().unwrap().next().unwrap().unwrap().path()
}

fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

fn ask(url: &GatewayUrl, headers: &str) -> String {
    ask_for(url, "GET /api/kernelspecs", headers)
}

fn ask_for(url: &GatewayUrl, what: &str, headers: &str) -> String {
    let address = url.to_string().replace("http://", "");
    let mut stream = TcpStream::connect(&address).unwrap();
    let rest = format!("host: {address}\r\nconnection: close\r\n{headers}\r\n");
    write!(stream, "{what} HTTP/1.1\r\n{rest}").unwrap();
    // A connection that may become a websocket stays open; the test needs only the head of the answer.
    let mut reply = Vec::new();
    while !reply.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut block = [0; 4096];
        let size = stream.read(&mut block).unwrap();
        assert!(size > 0, "no answer");
        reply.extend_from_slice(&block[..size]);
    }
    String::from_utf8_lossy(&reply).to_lowercase()
}

async fn runs_a_cell(url: GatewayUrl, token: Token) {
    let folder = TempDir::new().unwrap();
    let config = GatewayConfig {
        token: Some(token),
        whose: Whose::Shared,
        place: GatewayLocation::Here,
        ..config(url, &folder)
    };
    let desk = Desk { backend: GatewayBackend::new(config), folder };
    let launched = desk.backend.launch(&desk.spec(), &CancellationToken::new()).await;
    let mut launched = launched.unwrap();
    // S-022: code on the gateway does not see the gateway's token.
    let code = "import os\nprint('KG_AUTH_TOKEN' in os.environ, os.getcwd())";
    let ran = run(&mut launched, code).await;
    let cwd = desk.folder.path().canonicalize().unwrap();
    assert_eq!(ran.text.trim(), format!("False {}", cwd.display()), "{ran:?}");
    launched.kernel.shutdown(super::desk::LIMIT).await;
}

/// B:G-10 B:G-13 B:G-14 B:G-15 B:G-17 B:G-18 F-027 S-014 S-021; Issue 21, 17: its kernels leave the user's IPython
/// history alone.
#[tokio::test]
async fn hosts_share_one_gateway() {
    if !jupyter_server("hosts_share_one_gateway") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let (one, two) = (shared(&folder, python()), shared(&folder, python()));
    assert!(!one.status().active);
    let (first, second) = tokio::join!(one.acquire(), two.acquire());
    let ((url, token), second) = (first.unwrap(), second.unwrap());
    assert_eq!(second, (url.clone(), token.clone()), "one process for both");
    let pid = one.status().pid.unwrap();
    let of = |status: SharedStatus| (status.active, status.url, status.pid, status.python_path);
    assert_eq!(of(one.status()), of(two.status()));
    assert_eq!(one.status().url, Some(url.to_string()));
    let home = files(&folder);
    is_closed_to_others(&url, &home, pid);
    runs_a_cell(url.clone(), token).await;
    let history = folder.path().join(".ipython/profile_default/history.sqlite");
    assert!(!history.exists(), "{}", history.display());

    // A gateway that has died is replaced.
    Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    until_async("the end of the gateway", async || !one.status().active).await;
    let (next, token) = two.acquire().await.unwrap();
    assert_ne!(two.status().pid, Some(pid));

    // A process id in a file proves nothing: a process that has the id now stays unharmed.
    let mut other = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
    let right = std::fs::read_to_string(home.join("gateway.json")).unwrap();
    let ours = two.status().pid.unwrap();
    let wrong = right.replace(&format!("\"pid\":{ours}"), &format!("\"pid\":{}", other.id()));
    let wrong = wrong.replace(&next.to_string(), "http://127.0.0.1:1");
    std::fs::write(home.join("gateway.json"), wrong).unwrap();
    let (third, _) = one.acquire().await.unwrap();
    assert_ne!(third, next);
    assert!(other.try_wait().unwrap().is_none(), "an unrelated process was ended");
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(!is_running(ours), "whatever its file says, a gateway that is replaced is ended");
    drop(token);

    // An unreadable file counts as absent.
    let third = one.status().pid.unwrap();
    let state = folder.path().join("state");
    assert_eq!(SharedGateway::statuses(&state).len(), 1);
    assert_eq!(SharedGateway::shutdown_all(&state).await.unwrap(), 1);
    assert_eq!(SharedGateway::statuses(&state), []);
    assert!(!is_running(third) && !one.status().active);
    assert!(!one.shutdown().await.unwrap(), "there is none to end");
    std::fs::write(home.join("gateway.json"), "{\"pid\": \"x\"").unwrap();
    assert!(!one.status().active);
}

fn is_closed_to_others(url: &GatewayUrl, home: &Path, pid: u32) {
    let token = std::fs::read_to_string(home.join("gateway.token")).unwrap();
    assert_eq!(token.len(), 64);
    let argv = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
    assert!(!argv.contains(&token) && !argv.contains("allow_origin"), "{argv}");
    for name in ["gateway.json", "gateway.token", "gateway.lock", "gateway.alive", "gateway.log"] {
        let mode = home.join(name).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert_eq!(home.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert!(ask(url, "").starts_with("http/1.1 401"));
    let reply = ask(url, "origin: http://evil.example\r\n");
    assert!(reply.starts_with("http/1.1 401"), "{reply}");
    assert!(!reply.contains("access-control-allow-origin"), "{reply}");
    // A web page gets neither a kernel nor a websocket.
    let page = "origin: http://evil.example\r\ncontent-length: 0\r\n";
    let socket = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                  sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
    for (what, more) in [
        ("POST /api/kernels", ""),
        ("GET /api/kernels/00000000-0000-0000-0000-000000000000/channels", socket),
    ] {
        let reply = ask_for(url, what, &format!("{page}{more}"));
        let status = reply.split(' ').nth(1).unwrap_or("").to_owned();
        assert!(["401", "403"].contains(&status.as_str()), "{what}: {reply}");
    }
    let reply = ask(url, &format!("authorization: token {token}\r\n"));
    assert!(reply.starts_with("http/1.1 200"), "{reply}");
}

/// B:G-02 B:G-31 B:G-37 A dead gateway is replaced; the kernel of a session comes from the current one.
#[tokio::test]
async fn kernels_come_from_the_shared_gateway() {
    let folder = TempDir::new().unwrap();
    let config = |sharing| LocalConfig {
        state_dir: folder.path().join("state"),
        runtime_dir: folder.path().to_owned(),
        sharing,
        idle_stop: None,
    };
    let cwd = folder.path().to_owned();
    let desk = Desk::at(GatewayUrl::parse("http://localhost:1", PlainHttp::OnlyHere).unwrap().0);
    let refused = LocalGatewayBackend::new(config(Sharing::Refused));
    let refusal = refused.launch(&desk.spec(), &CancellationToken::new()).await.err().unwrap();
    let wanted = "Shared Python gateway required; local gateways are disabled";
    assert_eq!(refusal.to_string(), wanted);
    if !jupyter_server("kernels_come_from_the_shared_gateway") {
        return;
    }
    let mut env = BTreeMap::from([("MARK".to_owned(), "ours".to_owned())]);
    env.insert("PATH".to_owned(), std::env::var("PATH").unwrap());
    env.insert("HOME".to_owned(), folder.path().display().to_string());
    let spec = KernelSpec { python: python(), env, cwd, ..desk.spec() };
    let backend = LocalGatewayBackend::new(config(Sharing::Allowed));
    let cancel = CancellationToken::new();
    let (one, two) = tokio::join!(backend.launch(&spec, &cancel), backend.launch(&spec, &cancel));
    let (mut one, two) = (one.unwrap(), two.unwrap());
    assert_eq!(one.kernel.info().origin, two.kernel.info().origin, "one gateway");
    assert_ne!(one.kernel.info().pid, two.kernel.info().pid);
    assert_eq!(run(&mut one, "import os\nprint(os.environ['MARK'])").await.text, "ours\n");
    let shared = shared(&folder, python());
    let gateway = shared.status().pid.unwrap();
    Command::new("kill").args(["-9", &gateway.to_string()]).status().unwrap();
    let ran = super::desk::collect(&mut one.events).await;
    assert!(ran.death.is_some(), "{ran:?}");
    let mut three = backend.launch(&spec, &cancel).await.unwrap();
    assert_eq!(run(&mut three, "print(3)").await.text, "3\n");
    for kernel in [one.kernel, two.kernel, three.kernel] {
        kernel.shutdown(super::desk::LIMIT).await;
    }
    assert!(shared.shutdown().await.unwrap());
}

/// S-022: a kernel has the variables of its own host, not those of the host that started the gateway.
#[tokio::test]
async fn a_kernel_has_the_variables_of_its_host() {
    if !jupyter_server("a_kernel_has_the_variables_of_its_host") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let desk = Desk::at(GatewayUrl::parse("http://localhost:1", PlainHttp::OnlyHere).unwrap().0);
    let cwd = folder.path().to_owned();
    let host = |name: &str| {
        let mut env = BTreeMap::from([(format!("ONLY_{name}"), name.to_owned())]);
        env.insert("BOTH".to_owned(), name.to_owned());
        env.insert("PATH".to_owned(), std::env::var("PATH").unwrap());
        env.insert("HOME".to_owned(), folder.path().display().to_string());
        let backend = LocalGatewayBackend::new(LocalConfig {
            state_dir: folder.path().join("state"),
            runtime_dir: folder.path().to_owned(),
            sharing: Sharing::Allowed,
            idle_stop: None,
        });
        (backend, KernelSpec { python: python(), env, cwd: cwd.clone(), ..desk.spec() })
    };
    let code = "import os\nprint(*[os.environ.get(name) for name in ('ONLY_A', 'ONLY_B', 'BOTH')], \
                'JPY_PARENT_PID' in os.environ, os.environ['PAGER'])";
    for (name, wanted) in [("A", "A None A True cat\n"), ("B", "None B B True cat\n")] {
        let (backend, spec) = host(name);
        let mut launched = backend.launch(&spec, &CancellationToken::new()).await.unwrap();
        let ran = run(&mut launched, code).await;
        assert_eq!(ran.text, wanted, "{ran:?}");
        launched.kernel.shutdown(super::desk::LIMIT).await;
    }
    assert_eq!(SharedGateway::shutdown_all(&folder.path().join("state")).await.unwrap(), 1);
}

/// B:G-03 B:G-40: the error names what is missing, and nothing stays behind.
#[tokio::test]
async fn a_gateway_that_cannot_start_says_why() {
    let folder = TempDir::new().unwrap();
    let without = shared(&folder, PathBuf::from("/nowhere/python"));
    let refusal = without.acquire().await.unwrap_err().to_string();
    assert!(refusal.starts_with("Shared Python gateway unavailable: /nowhere/python"), "{refusal}");
    let script = folder.path().join("python");
    std::fs::write(&script, "#!/bin/sh\necho 'No module named kernel_gateway'\nexit 1\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();
    let refusal = shared(&folder, script).acquire().await.unwrap_err().to_string();
    assert!(refusal.contains("pip install jupyter_kernel_gateway ipykernel"), "{refusal}");
}

/// B:G-11 F-027: a start waits for the lock, which is free once its holder has ended.
#[tokio::test]
async fn a_lock_is_waited_for() {
    let folder = TempDir::new().unwrap();
    let gateway = shared(&folder, PathBuf::from("/nowhere/python"));
    gateway.acquire().await.unwrap_err();
    let path = files(&folder).join("gateway.lock");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"pid\"") && text.contains("\"startedAt\""), "{text}");
    // An open file holds the lock as long as a process has it open, here only another process.
    let held = std::fs::File::open(&path).unwrap();
    held.lock().unwrap();
    let mut holder = Command::new("sleep").arg("600").stdin(held).spawn().unwrap();
    let waiting = gateway.acquire();
    tokio::pin!(waiting);
    let early = on_skipping_clock(tokio::time::timeout(Duration::from_secs(1), &mut waiting)).await;
    assert!(early.is_err(), "another launcher holds it");
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(waiting.await.unwrap_err().to_string().contains("/nowhere/python"));
}

/// F-027: a gateway whose starter died before it recorded anything is found and ended by the next.
#[tokio::test]
async fn a_gateway_that_nobody_wrote_down_is_ended() {
    let folder = TempDir::new().unwrap();
    let script = folder.path().join("python");
    let begun = folder.path().join("begun");
    let text = format!("#!/bin/sh\necho > '{}'\nexec sleep 600\n", begun.display());
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();
    let gateway = shared(&folder, script);
    // The remains of a killed starter: a process with the lock, and no record of it.
    gateway.shutdown().await.unwrap();
    let alive = std::fs::File::create_new(files(&folder).join("gateway.alive")).unwrap();
    alive.lock().unwrap();
    let mut left = Command::new("sleep").arg("600").stdin(alive).spawn().unwrap();
    assert!(gateway.shutdown().await.unwrap(), "there was one");
    assert!(!left.wait().unwrap().success());
    // A cancelled start leaves nothing behind either.
    tokio::select! {
        acquired = gateway.acquire() => panic!("it never answers: {:?}", acquired.map(|_| ())),
        () = until_async("the start of the gateway", async || begun.exists()) => {}
    }
    until_async("the end of the gateway with its starter", async || {
        let alive = std::fs::File::open(files(&folder).join("gateway.alive")).unwrap();
        alive.try_lock().is_ok()
    })
    .await;
}

/// B:G-16: if configured, a gateway ends after a while without kernels, and never while it has one.
#[tokio::test]
async fn an_idle_gateway_ends_where_that_is_wanted() {
    if !jupyter_server("an_idle_gateway_ends_where_that_is_wanted") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let mut env = BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]);
    env.insert("HOME".to_owned(), folder.path().display().to_string());
    let backend = LocalGatewayBackend::new(LocalConfig {
        state_dir: folder.path().join("state"),
        runtime_dir: folder.path().to_owned(),
        sharing: Sharing::Allowed,
        idle_stop: Some(Duration::from_secs(3)),
    });
    let desk = Desk::at(GatewayUrl::parse("http://localhost:1", PlainHttp::OnlyHere).unwrap().0);
    let cwd = folder.path().to_owned();
    let spec = KernelSpec { python: python(), env, cwd, ..desk.spec() };
    let mut launched = backend.launch(&spec, &CancellationToken::new()).await.unwrap();
    let ran = run(&mut launched, "import time\ntime.sleep(5)\nprint('on')").await;
    assert_eq!(ran.text, "on\n", "{ran:?}");
    let state = folder.path().join("state");
    assert_eq!(SharedGateway::statuses(&state).len(), 1, "it has a kernel");
    launched.kernel.shutdown(super::desk::LIMIT).await;
    let has_ended = async || SharedGateway::statuses(&state).is_empty();
    until_async("the end of the gateway", has_ended).await;
}
