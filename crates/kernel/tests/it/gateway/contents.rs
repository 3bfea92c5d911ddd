//! Notebooks on a server by path, scripted and real, and documents that other users have open.

use std::fs;

use inkcell_kernel::{
    Collaboration, ContentsError, ContentsPath, GatewayConfig, Overwrite, ServerNotebook,
};
use inkcell_testkit::need::{jupyter_server, named_python};
use inkcell_testkit::wait::until_async;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use super::desk::{Desk, run};
use super::real::{Real, TOKEN};
use super::scripted::{Act, Scripted, Seen};

const SERVER: &[&str] = &[
    "-m",
    "jupyter_server",
    "--allow-root",
    "--no-browser",
    "--ServerApp.ip=127.0.0.1",
    "--ServerApp.port={port}",
    "--ServerApp.port_retries=0",
    "--ServerApp.base_url=/user/me/",
];

const NOTEBOOK: &str = r#"{"cells":[],"metadata":{"x":1},"nbformat":4,"nbformat_minor":5}"#;

fn path(text: &str) -> ContentsPath {
    ContentsPath::parse(text).unwrap()
}

fn answer(status: u16, body: &Value) -> Act {
    Act::Reply(status, String::new(), body.to_string())
}

/// A server with one notebook, which answers requests about collaboration with these statuses.
async fn serving(session: u16, fork: u16) -> Scripted {
    let script = move |seen: &Seen| match (seen.method.as_str(), seen.path.as_str()) {
        ("GET", "/api/contents/a%20b.ipynb?content=1") => {
            let content: Value = serde_json::from_str(NOTEBOOK).unwrap();
            let model = json!({"type": "notebook", "last_modified": "now", "content": content});
            answer(200, &model)
        }
        ("GET", "/api/contents/a%20b.ipynb?content=0") => {
            answer(200, &json!({"type": "notebook", "last_modified": "now", "content": null}))
        }
        ("GET", "/api/contents/?content=0") => {
            answer(200, &json!({"type": "directory", "last_modified": "now", "content": null}))
        }
        ("GET", "/api/contents/text.txt?content=1") => {
            answer(200, &json!({"type": "file", "last_modified": "now", "content": "text"}))
        }
        ("PUT", "/api/contents/a%20b.ipynb" | "/api/contents/new.ipynb") => {
            answer(200, &json!({"type": "notebook", "last_modified": "later", "content": null}))
        }
        ("PUT", at) if at.starts_with("/api/collaboration/session/") => {
            answer(session, &json!({"fileId": "f-1", "sessionId": "s"}))
        }
        ("PUT", at) if at.starts_with("/api/collaboration/fork/") => {
            answer(fork, &json!({"code": fork, "error": "Root room not found"}))
        }
        _ => Act::Usual,
    };
    Scripted::start(script, |_| vec![]).await
}

/// A notebook is read and written back. A missing one and a file of another type give errors.
#[tokio::test]
async fn a_notebook_is_read_and_written_by_its_path() {
    let server = serving(404, 404).await;
    let contents = Desk::at(server.url()).backend.contents();
    let at = path("a b.ipynb");
    let read = contents.read(&at).await.unwrap();
    let (got, wanted): (Value, Value) =
        (serde_json::from_slice(&read.content).unwrap(), serde_json::from_str(NOTEBOOK).unwrap());
    assert_eq!(got, wanted);
    let later = contents.write(&at, NOTEBOOK.as_bytes(), Some(&read), Overwrite::Careful).await;
    assert_eq!(later.unwrap(), "later");
    let written = server.inside.seen.lock().unwrap().last().unwrap().clone();
    let body: Value = serde_json::from_str(&written.body).unwrap();
    assert_eq!((&body["type"], &body["content"]), (&json!("notebook"), &wanted));
    let new = contents.write(&path("new.ipynb"), b"{}", None, Overwrite::Careful).await;
    assert_eq!(new.unwrap(), "later");
    let missing = contents.read(&path("missing.ipynb")).await.unwrap_err();
    assert!(matches!(missing, ContentsError::NotFound { .. }), "{missing}");
    let bare = Scripted::start(|_| Act::Usual, |_| vec![]).await;
    let none = Desk::at(bare.url()).backend.contents().read(&at).await.unwrap_err();
    assert!(matches!(none, ContentsError::NoFiles { .. }), "a gateway: {none}");
    let text = contents.read(&path("text.txt")).await.unwrap_err();
    assert!(matches!(text, ContentsError::NotANotebook { .. }), "{text}");
    let garbage = contents.write(&at, b"{", Some(&read), Overwrite::Forced).await.unwrap_err();
    assert!(matches!(garbage, ContentsError::NoJson { .. }), "{garbage}");
}

/// A save never overwrites the changes of another user, unless forced.
#[tokio::test]
async fn what_was_changed_meanwhile_is_not_written() {
    let server = serving(404, 404).await;
    let contents = Desk::at(server.url()).backend.contents();
    let at = path("a b.ipynb");
    let read = contents.read(&at).await.unwrap();
    let older = ServerNotebook { last_modified: "before".to_owned(), ..read };
    for known in [Some(&older), None] {
        let refusal = contents.write(&at, b"{}", known, Overwrite::Careful).await.unwrap_err();
        assert!(matches!(refusal, ContentsError::Changed { .. }), "{refusal}");
        assert!(refusal.to_string().contains("--force"), "{refusal}");
    }
    assert_eq!(server.count("PUT", "/api/contents"), 0);
    contents.write(&at, b"{}", Some(&older), Overwrite::Forced).await.unwrap();
}

/// A save never overwrites a document that other users have open, or may have open, unless forced.
#[tokio::test]
async fn an_open_document_is_not_written() {
    let table = [
        (404, 404, Collaboration::Absent),
        (200, 404, Collaboration::Closed),
        (201, 400, Collaboration::Open),
        (200, 500, Collaboration::Unknown),
    ];
    for (session, fork, wanted) in table {
        let server = serving(session, fork).await;
        let contents = Desk::at(server.url()).backend.contents();
        let at = path("a b.ipynb");
        assert_eq!(contents.collaboration(&at).await.unwrap(), wanted);
        let read = contents.read(&at).await.unwrap();
        let written = contents.write(&at, b"{}", Some(&read), Overwrite::Careful).await;
        let is_refused = matches!(wanted, Collaboration::Open | Collaboration::Unknown);
        assert_eq!(written.is_err(), is_refused, "{wanted:?}");
        if let Err(refusal) = written {
            assert!(refusal.to_string().contains("real-time collaboration"), "{refusal}");
        }
        contents.write(&at, b"{}", Some(&read), Overwrite::Forced).await.unwrap();
    }
}

/// A real server behind a prefix, by the address that people paste: a kernel, and a notebook that is read,
/// changed and written back.
#[tokio::test]
async fn a_real_server_gives_kernels_and_notebooks() {
    let test = "a_real_server_gives_kernels_and_notebooks";
    if !jupyter_server(test) {
        return;
    }
    let python = std::env::var_os("INKCELL_TEST_JUPYTER_PYTHON").unwrap();
    let at = path("work/é #1.ipynb");
    let beside = |config: &mut GatewayConfig| config.beside = Some(at.clone());
    let real = Real::start(python.as_ref(), SERVER, "/user/me", beside).await;
    let folder = real.home().join("work");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("é #1.ipynb");
    fs::write(&file, NOTEBOOK).unwrap();
    // A kernel for a notebook of the server works in the notebook's folder on the server.
    let mut launched = real.desk.launch().await.unwrap();
    let shown = run(&mut launched, "import os; print(os.getcwd())").await.text;
    assert_eq!(shown.trim(), folder.canonicalize().unwrap().to_str().unwrap());
    launched.kernel.shutdown(super::desk::LIMIT).await;
    let contents = real.desk.backend.contents();
    assert_eq!(contents.collaboration(&at).await.unwrap(), Collaboration::Absent);
    let read = contents.read(&at).await.unwrap();
    let mut notebook: Value = serde_json::from_slice(&read.content).unwrap();
    assert_eq!(notebook["metadata"]["x"], 1);
    notebook["metadata"]["x"] = json!(2);
    let bytes = notebook.to_string().into_bytes();
    let later = contents.write(&at, &bytes, Some(&read), Overwrite::Careful).await.unwrap();
    assert_ne!(later, read.last_modified);
    let on_disk: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(on_disk["metadata"]["x"], 2);
    let stale = contents.write(&at, &bytes, Some(&read), Overwrite::Careful).await.unwrap_err();
    assert!(matches!(stale, ContentsError::Changed { .. }), "{stale}");
    let missing = contents.read(&path("work/none.ipynb")).await.unwrap_err();
    assert!(matches!(missing, ContentsError::NotFound { .. }), "{missing}");
    real.stop().await;
}

/// A real server with real-time collaboration knows which documents are open.
#[tokio::test]
async fn a_real_server_tells_who_has_a_document_open() {
    let test = "a_real_server_tells_who_has_a_document_open";
    let variable = "INKCELL_TEST_COLLABORATION_PYTHON";
    let Some(python) = named_python(test, variable, "jupyter_server_ydoc") else { return };
    let real = Real::start(&python, SERVER, "/user/me", |_| {}).await;
    fs::write(real.home().join("a.ipynb"), NOTEBOOK).unwrap();
    let (contents, at) = (real.desk.backend.contents(), path("a.ipynb"));
    let read = contents.read(&at).await.unwrap();
    assert_eq!(contents.collaboration(&at).await.unwrap(), Collaboration::Closed);
    let (file, session) = session_of(&real).await;
    let room = format!("user/me/api/collaboration/room/json:notebook:{file}?sessionId={session}");
    let room = format!("ws://127.0.0.1:{}/{room}", real.port);
    let mut request = room.into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("token {TOKEN}").parse().unwrap());
    let stream = tokio::net::TcpStream::connect(("127.0.0.1", real.port)).await.unwrap();
    let (socket, _) = tokio_tungstenite::client_async(request, stream).await.unwrap();
    until_async("the room to be open", async || {
        contents.collaboration(&at).await.unwrap() == Collaboration::Open
    })
    .await;
    // Also by the path of the file on this machine.
    let file = real.home().join("a.ipynb").canonicalize().unwrap();
    let open = contents.open_document(&file).await.unwrap().expect("it is open");
    assert_eq!(open.path, at);
    let other = real.home().join("b.ipynb");
    fs::write(&other, NOTEBOOK).unwrap();
    assert_eq!(contents.open_document(&other).await.unwrap(), None);
    let read_again = contents.read(&at).await.unwrap_or(read);
    let written = contents.write(&at, b"{}", Some(&read_again), Overwrite::Careful).await;
    assert!(matches!(written, Err(ContentsError::Open { .. })), "{written:?}");
    drop(socket);
    // Such a server takes long to end by itself after it had a room.
    drop(real);
}

/// The server's ids of a document and of itself.
async fn session_of(real: &Real) -> (String, String) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", real.port)).await.unwrap();
    let body = r#"{"format":"json","type":"notebook"}"#;
    let head = format!(
        "PUT /user/me/api/collaboration/session/a.ipynb HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nauthorization: token \
         {TOKEN}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        real.port,
        body.len()
    );
    stream.write_all((head + body).as_bytes()).await.unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.unwrap();
    let answer: Value = serde_json::from_str(reply.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let word = |name: &str| answer[name].as_str().unwrap().to_owned();
    (word("fileId"), word("sessionId"))
}
