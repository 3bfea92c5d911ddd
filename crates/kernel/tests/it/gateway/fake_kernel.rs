//! Kernels of the scripted gateway: they answer like real kernels, and run cells as the test prescribes.
//!
//! Owns their side of the websocket, in both protocols, and shares no code with the library.

use std::sync::{Arc, Mutex};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Bytes, Message};

use super::scripted::{Inside, Seen};

/// One action of a kernel in a cell.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Sends a message that belongs to the cell.
    Say(&'static str, &'static str, Value),
    /// Sends a message that belongs to another request of ours, or to none.
    SayTo(Value, &'static str, &'static str, Value),
    /// Sends a message in the name of a process that took the kernel's place.
    Another(Box<Step>),
    /// Sends a raw frame.
    Raw(Vec<u8>),
    /// Writes bytes to the connection itself, which then ends like `Drop` once the client has closed it.
    Break(Vec<u8>),
    /// Delays the following steps until a client asks for the kernel's info, and sends them before the answer.
    Later,
    /// Falls silent on this connection without closing it; the following messages are kept.
    Mute,
    /// Closes the connection; the following messages are kept for a client with the same session.
    Drop,
    /// Discards the messages that were kept.
    Forget,
    /// Removes the kernel from the gateway.
    Vanish,
}

/// A kernel of the scripted gateway.
#[derive(Default)]
pub(crate) struct FakeKernel {
    kept: Mutex<(String, Vec<(Value, Step)>)>,
    later: Mutex<Vec<(Value, Step)>>,
    /// The session ids with which clients connected.
    pub(crate) sessions: Mutex<Vec<String>>,
}

type Socket = WebSocketStream<TcpStream>;

/// The steps of an ordinary cell, with these in the middle.
pub(crate) fn cell(middle: Vec<Step>) -> Vec<Step> {
    let mut steps = vec![busy(), input()];
    steps.extend(middle);
    steps.extend([reply(), idle()]);
    steps
}

pub(crate) fn busy() -> Step {
    Step::Say("iopub", "status", json!({"execution_state": "busy"}))
}

pub(crate) fn idle() -> Step {
    Step::Say("iopub", "status", json!({"execution_state": "idle"}))
}

pub(crate) fn input() -> Step {
    Step::Say("iopub", "execute_input", json!({"execution_count": 1, "code": ""}))
}

pub(crate) fn reply() -> Step {
    Step::Say("shell", "execute_reply", json!({"status": "ok", "execution_count": 1}))
}

pub(crate) fn stream(text: &str) -> Step {
    Step::Say("iopub", "stream", json!({"name": "stdout", "text": text}))
}

/// A message that a process in the kernel's place sends by itself.
pub(crate) fn another(kind: &'static str, content: Value) -> Step {
    Step::Another(Box::new(Step::SayTo(json!({}), "iopub", kind, content)))
}

/// Serves a websocket until it ends.
pub(crate) async fn talk(stream: TcpStream, seen: &Seen, inside: &Arc<Inside>) {
    let id = seen.path.split('/').nth(3).unwrap_or("").to_owned();
    let session = seen.path.split("session_id=").nth(1).unwrap_or("").to_owned();
    let kernel = inside.kernels.lock().unwrap().get(&id).cloned();
    let wants_v1 = seen.headers.get("sec-websocket-protocol").is_some_and(|it| it.contains("v1."));
    let v1 = wants_v1 && inside.speaks_v1;
    #[allow(clippy::result_large_err, reason = "as the library wants it")]
    let choose = |_: &Request, mut response: Response| {
        if v1 {
            let name = HeaderValue::from_static("v1.kernel.websocket.jupyter.org");
            response.headers_mut().insert("sec-websocket-protocol", name);
        }
        Ok(response)
    };
    let Some(kernel) = kernel else { return };
    let Ok(mut socket) = tokio_tungstenite::accept_hdr_async(stream, choose).await else { return };
    kernel.sessions.lock().unwrap().push(session.clone());
    let kept = std::mem::take(&mut *kernel.kept.lock().unwrap());
    if kept.0 == session {
        for (parent, step) in kept.1 {
            do_step(&mut socket, v1, &parent, step).await;
        }
    }
    while let Some(Ok(message)) = socket.next().await {
        let Some((channel, header, content)) = read(&message) else { continue };
        if header["msg_type"] == "kernel_info_request" {
            let later = std::mem::take(&mut *kernel.later.lock().unwrap());
            for (parent, step) in later {
                do_step(&mut socket, v1, &parent, step).await;
            }
        }
        let steps = steps(&channel, &header, &content, inside);
        let mut steps = steps.into_iter();
        while let Some(step) = steps.next() {
            match step {
                Step::Break(bytes) => {
                    let rest = steps.map(|step| (header.clone(), step)).collect();
                    *kernel.kept.lock().unwrap() = (session, rest);
                    let raw = socket.get_ref();
                    raw.writable().await.unwrap();
                    assert_eq!(raw.try_write(&bytes).unwrap(), bytes.len());
                    while raw.readable().await.is_ok()
                        && raw.try_read(&mut [0; 64]).unwrap_or(1) > 0
                    {}
                    return;
                }
                Step::Later => {
                    *kernel.later.lock().unwrap() =
                        steps.by_ref().map(|step| (header.clone(), step)).collect();
                }
                Step::Mute => {
                    let rest = steps.map(|step| (header.clone(), step)).collect();
                    *kernel.kept.lock().unwrap() = (session, rest);
                    return std::future::pending().await;
                }
                Step::Drop => {
                    let rest = steps.map(|step| (header.clone(), step)).collect();
                    *kernel.kept.lock().unwrap() = (session, rest);
                    return;
                }
                Step::Forget => {
                    let rest: Vec<(Value, Step)> = Vec::new();
                    *kernel.kept.lock().unwrap() = (session.clone(), rest);
                    return;
                }
                Step::Vanish => {
                    inside.kernels.lock().unwrap().remove(&id);
                    return;
                }
                step => do_step(&mut socket, v1, &header, step).await,
            }
        }
    }
}

fn steps(channel: &str, header: &Value, content: &Value, inside: &Inside) -> Vec<Step> {
    match (channel, header["msg_type"].as_str().unwrap_or("")) {
        (_, kind) if *inside.dies_of.lock().unwrap() == Some(kind) => {
            let status = json!({"execution_state": "restarting"});
            vec![Step::SayTo(json!({}), "iopub", "status", status)]
        }
        ("shell", "kernel_info_request") => {
            let language = *inside.language.lock().unwrap();
            let info = json!({"status": "ok", "language_info": {"name": language, "version": "3"}});
            vec![busy(), Step::Say("shell", "kernel_info_reply", info), idle()]
        }
        ("shell", "execute_request") if content["silent"] == true => {
            let it = json!({"it": {"status": "ok", "data": {"text/plain": "'||||/fake/python'"}}});
            let content = match *inside.startup.lock().unwrap() {
                None => json!({"status": "ok", "user_expressions": it}),
                Some((name, value)) => {
                    json!({"status": "error", "ename": name, "evalue": value, "traceback": []})
                }
            };
            vec![busy(), Step::Say("shell", "execute_reply", content), idle()]
        }
        ("shell", "execute_request") => (inside.cell)(content["code"].as_str().unwrap_or("")),
        _ => Vec::new(),
    }
}

async fn do_step(socket: &mut Socket, v1: bool, parent: &Value, step: Step) {
    let (session, step) = match step {
        Step::Another(step) => ("another kernel", *step),
        step => ("kernel", step),
    };
    let (parent, channel, kind, content) = match step {
        Step::Say(channel, kind, content) => (parent.clone(), channel, kind, content),
        Step::SayTo(parent, channel, kind, content) => (parent, channel, kind, content),
        Step::Raw(bytes) => {
            let _ = socket.send(Message::Binary(Bytes::from(bytes))).await;
            return;
        }
        Step::Another(_) | Step::Break(_) | Step::Later => return,
        Step::Mute | Step::Drop | Step::Forget | Step::Vanish => return,
    };
    let header = json!({"msg_id": "theirs", "msg_type": kind, "session": session});
    let message = if v1 {
        let parts = [channel.to_owned(), header.to_string(), parent.to_string()];
        let parts = parts.into_iter().chain(["{}".to_owned(), content.to_string()]);
        let parts: Vec<String> = parts.collect();
        let mut at = 8 * (parts.len() as u64 + 2);
        let mut frame = (parts.len() as u64 + 1).to_le_bytes().to_vec();
        frame.extend(at.to_le_bytes());
        for part in &parts {
            at += part.len() as u64;
            frame.extend(at.to_le_bytes());
        }
        frame.extend(parts.concat().into_bytes());
        Message::Binary(Bytes::from(frame))
    } else {
        let whole = json!({"channel": channel, "header": header, "parent_header": parent,
            "metadata": {}, "content": content, "buffers": []});
        if kind == "stream" {
            Message::Binary(Bytes::from(with_buffer(&whole)))
        } else {
            Message::Text(whole.to_string().into())
        }
    };
    let _ = socket.send(message).await;
}

/// A message of the old protocol with one buffer: a table with the offsets of its two parts, in network byte order.
fn with_buffer(whole: &Value) -> Vec<u8> {
    let whole = whole.to_string();
    let second = u32::try_from(12 + whole.len()).unwrap();
    let mut frame = [2, 12, second].map(u32::to_be_bytes).concat();
    frame.extend(whole.as_bytes());
    frame.extend(b"buffer");
    frame
}

/// The channel, header and content of a message.
fn read(message: &Message) -> Option<(String, Value, Value)> {
    match message {
        Message::Text(text) => {
            let mut whole: Value = serde_json::from_str(text).ok()?;
            let channel = whole["channel"].as_str()?.to_owned();
            Some((channel, whole["header"].take(), whole["content"].take()))
        }
        Message::Binary(frame) => {
            let number = |at: usize| {
                let bytes = frame.get(8 * at..8 * at + 8)?;
                usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
            };
            let part = |index: usize| frame.get(number(index + 1)?..number(index + 2)?);
            let channel = String::from_utf8(part(0)?.to_vec()).ok()?;
            let header = serde_json::from_slice(part(1)?).ok()?;
            Some((channel, header, serde_json::from_slice(part(4)?).ok()?))
        }
        _ => None,
    }
}
