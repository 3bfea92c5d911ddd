//! Faults that only kernels on servers have: cut connections, and servers that drop, refuse and remove.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use inkcell_kernel::{DeathCause, History};
use inkcell_testkit::need::{skip, succeeds};
use inkcell_testkit::wait::until_async;

use crate::bench::{Bench, Start};
use crate::served::{self, Manner, Served, TOKEN};

/// A proxy to a server whose connections can be cut.
struct Cut {
    port: u16,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Cut {
    fn to(server: u16) -> Cut {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let open = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&open);
        std::thread::spawn(move || {
            for theirs in listener.incoming() {
                let theirs = theirs.unwrap();
                let Ok(ours) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                for (mut from, mut to) in [
                    (theirs.try_clone().unwrap(), ours.try_clone().unwrap()),
                    (ours.try_clone().unwrap(), theirs.try_clone().unwrap()),
                ] {
                    std::thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
                list.lock().unwrap().extend([theirs, ours]);
            }
        });
        Cut { port, open }
    }

    fn cut(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// F-111: a real server keeps a kernel's messages while no client is connected, and sends them after the reconnect.
async fn a_connection_that_is_cut_is_opened_again(start: Start) {
    let server = served::port();
    let way = Cut::to(server);
    served::go_through(way.port);
    let mut bench = Bench::start(start).await;
    let code = "import os, time\nprint('a', flush=True)\n\
                while not os.path.exists('go'): time.sleep(0.01)\nprint('b')\n5";
    let exec = bench.post(code, History::Store);
    bench.wait_for_output("a").await;
    way.cut();
    // The client asks whether the kernel exists, and then connects to it.
    until_async("a new connection", async || way.open.lock().unwrap().len() >= 4).await;
    std::fs::write(bench.cwd().join("go"), "").unwrap();
    let ran = bench.collect(exec).await.ok();
    assert_eq!((ran.stdout().as_str(), ran.result().as_deref()), ("b\n", Some("5")));
    assert!(ran.notices[0].contains("lost for a moment"), "{:?}", ran.notices);
    // Between cells, a cut needs no notice.
    way.cut();
    until_async("a new connection", async || way.open.lock().unwrap().len() >= 4).await;
    assert_eq!(bench.value("6").await, "6");
    bench.shut_down().await;
    served::go_through(server);
}

/// F-001: the death of a killed kernel is noticed, and nothing runs again.
async fn a_killed_kernel_is_missed(start: Start) {
    let mut bench = Bench::start(start).await;
    let code =
        "import os\nopen('ran', 'a').write('x')\nprint('a', flush=True)\nos.kill(os.getpid(), 9)";
    let ran = bench.run(code).await;
    assert!(matches!(ran.cause(), DeathCause::Remote { .. }), "{:?}", ran.cause());
    assert_eq!(std::fs::read_to_string(bench.cwd().join("ran")).unwrap(), "x");
    bench.relaunch().await;
    assert_eq!(bench.value("1").await, "1");
}

/// F-117: a kernel that the server removes between cells is dead before the next cell.
async fn a_kernel_that_was_removed_is_dead(start: Start) {
    let mut bench = Bench::start(start).await;
    let ask = |request: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", served::port())).unwrap();
        let head = "HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\nauthorization: token";
        write!(stream, "{request} {head} {TOKEN}\r\n\r\n").unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    };
    let list = ask("GET /api/kernels");
    let id = list.split("\"id\": \"").nth(1).unwrap().split('"').next().unwrap();
    let removed = ask(&format!("DELETE /api/kernels/{id}"));
    assert!(removed.starts_with("HTTP/1.1 204"), "{removed}");
    let next = tokio::time::timeout(crate::bench::LIMIT, bench.events.next()).await.unwrap();
    assert!(format!("{next:?}").contains("Died"), "{next:?}");
}

crate::on_gateways!(
    a_connection_that_is_cut_is_opened_again,
    a_killed_kernel_is_missed,
    a_kernel_that_was_removed_is_dead,
);

/// A server without a token demands proof of an earlier answer of its own before any change.
async fn a_server_without_a_token_is_used() {
    if !Start::Server.is_possible("a_server_without_a_token_is_used") {
        return;
    }
    let server = Served::in_manner(Start::Server, Manner::Open).await;
    let mut bench = Bench::start(Start::Server).await;
    assert_eq!(bench.value("1 + 1").await, "2");
    bench.shut_down().await;
    server.stop().await;
}

/// A notice reports output that a server dropped; the cell still ends.
async fn output_beyond_the_limits_is_told() {
    let start = Start::Server;
    if !start.is_possible("output_beyond_the_limits_is_told") {
        return;
    }
    let server = Served::in_manner(start, Manner::Limited).await;
    let mut bench = Bench::start(start).await;
    // More than a server passes on: a megabyte a second, for three seconds.
    let code =
        "import sys\nfor n in range(8): sys.stdout.write('x' * 1000_000); sys.stdout.flush()";
    let ran = bench.run(code).await.ok();
    assert!(ran.notices.iter().any(|it| it.contains("dropped output")), "{:?}", ran.notices);
    assert!(ran.stdout().len() < 8_000_000);
    bench.shut_down().await;
    server.stop().await;
}

/// A client uses a server with a trusted certificate, and sends nothing to one without.
async fn a_server_is_spoken_to_over_tls() {
    let test = "a_server_is_spoken_to_over_tls";
    if !Start::Server.is_possible(test) {
        return;
    }
    if !succeeds("openssl", &["version"]) {
        return skip(test, "openssl is not there to make a certificate");
    }
    let server = Served::in_manner(Start::Server, Manner::Tls).await;
    let mut bench = Bench::start(Start::Server).await;
    assert_eq!(bench.value("1 + 1").await, "2");
    bench.shut_down().await;
    served::forget_certificate();
    let stranger = Bench::empty(Start::Server);
    let refusal = stranger.launch(&stranger.spec).await.err().expect("no kernel").to_string();
    assert!(refusal.contains("certificate"), "{refusal}");
    server.stop().await;
}

crate::alone!(
    a_server_is_spoken_to_over_tls,
    a_server_without_a_token_is_used,
    output_beyond_the_limits_is_told
);
