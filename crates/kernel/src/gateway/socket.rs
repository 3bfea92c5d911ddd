//! The websocket of one kernel: opened, drained, kept awake, and its end noticed.
//!
//! Owns the connection and its limits. It must not know what messages mean; whoever reads them decides what the
//! end of a connection is worth.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use hyper::header::{HeaderName, HeaderValue, SEC_WEBSOCKET_PROTOCOL, USER_AGENT};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::error::{ProtocolError, SubProtocolError};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Error, Utf8Bytes};

use crate::gateway::dial::Way;
use crate::gateway::error::GatewayError;
use crate::gateway::queue::Queue;
use crate::gateway::rest::{RemoteId, Rest};
use crate::gateway::wire::{Form, Frame, V1};

/// The largest message that is taken. A server sends an output in one piece, however large it is.
const MESSAGE_BYTES: usize = 512 << 20;

/// How long a websocket may take to open.
pub(crate) const OPEN: Duration = Duration::from_secs(10);

/// How often the other end is asked for a sign of life, and how long there may be none.
const PING: Duration = Duration::from_secs(8);
const SILENCE: Duration = Duration::from_secs(25);

type Socket = WebSocketStream<Way>;

/// A connection to a kernel. Dropped, it is closed.
pub(crate) struct Line {
    pub(crate) form: Form,
    queue: Arc<Queue>,
    outgoing: mpsc::UnboundedSender<tungstenite::Message>,
    end: Arc<Mutex<String>>,
    _tasks: JoinSet<()>,
}

/// Opens the websocket of a kernel, under the name by which a gateway keeps messages for us.
pub(crate) async fn open(
    rest: &Rest,
    id: &RemoteId,
    session: &str,
    spill: &Path,
    within: Duration,
) -> Result<Line, GatewayError> {
    let opening = async {
        match shake(rest, id, session, Form::V1).await {
            // A server of old answers as if it had not been asked for a form.
            Err(Error::Protocol(ProtocolError::SecWebSocketSubProtocolError(
                SubProtocolError::NoSubProtocol,
            ))) => Ok((shake(rest, id, session, Form::Old).await?, Form::Old)),
            shaken => Ok((shaken?, Form::V1)),
        }
    };
    let opened = tokio::time::timeout(within, opening).await;
    match opened.map_err(|_| GatewayError::SocketTimeout)? {
        Ok((socket, form)) => Ok(Line::of(socket, form, spill)),
        Err(Error::Http(response)) => {
            let body = response.body().as_deref().unwrap_or_default();
            Err(rest.of_status(response.status().as_u16(), body))
        }
        Err(error) => Err(GatewayError::Socket { reason: error.to_string() }),
    }
}

async fn shake(rest: &Rest, id: &RemoteId, session: &str, form: Form) -> Result<Socket, Error> {
    let path = format!("/api/kernels/{}/channels?session_id={session}", id.as_str());
    let mut request = rest.url.websocket(&path).into_client_request()?;
    let headers = request.headers_mut();
    headers.insert(USER_AGENT, HeaderValue::from_static("inkcell"));
    for (name, value) in rest.credentials() {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_str(&value)?);
    }
    if form == Form::V1 {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(V1));
    }
    let config = WebSocketConfig::default()
        .max_message_size(Some(MESSAGE_BYTES))
        .max_frame_size(Some(MESSAGE_BYTES));
    let way = rest.dial.connect(&rest.url).await?;
    let shaken = tokio_tungstenite::client_async_with_config(request, way, Some(config)).await?;
    Ok(shaken.0)
}

impl Line {
    fn of(socket: Socket, form: Form, spill: &Path) -> Line {
        let queue = Arc::new(Queue::new(spill));
        let end = Arc::new(Mutex::new(String::new()));
        let (outgoing, posted) = mpsc::unbounded_channel();
        let (sink, stream) = socket.split();
        let mut tasks = JoinSet::new();
        tasks.spawn(drain(stream, Arc::clone(&queue), Arc::clone(&end)));
        tasks.spawn(write(sink, posted));
        Line { form, queue, outgoing, end, _tasks: tasks }
    }

    /// Posts a frame. One that cannot be written any more is missed by the reader.
    pub(crate) fn send(&self, frame: Frame) {
        let message = match frame {
            Frame::Binary(bytes) => tungstenite::Message::Binary(bytes),
            Frame::Text(text) => match Utf8Bytes::try_from(text) {
                Ok(text) => tungstenite::Message::Text(text),
                // What we make is made of text.
                Err(_) => return,
            },
        };
        let _ = self.outgoing.send(message);
    }

    /// The next frame; none when the connection has ended. Cancel-safe.
    pub(crate) async fn next(&self) -> Option<Frame> {
        self.queue.next().await
    }

    /// Why the connection has ended.
    pub(crate) fn why(&self) -> String {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Takes what comes and does nothing else: a gateway keeps in memory what is not taken from it, and takes us
/// for dead when its pings are not answered.
async fn drain(mut stream: SplitStream<Socket>, queue: Arc<Queue>, end: Arc<Mutex<String>>) {
    let why = loop {
        let frame = match tokio::time::timeout(SILENCE, stream.next()).await {
            Err(_) => break "the gateway was silent for too long".to_owned(),
            Ok(None) => break "the gateway closed the connection".to_owned(),
            Ok(Some(Err(error))) => break error.to_string(),
            Ok(Some(Ok(tungstenite::Message::Text(text)))) => Frame::Text(Bytes::from(text)),
            Ok(Some(Ok(tungstenite::Message::Binary(bytes)))) => Frame::Binary(bytes),
            Ok(Some(Ok(tungstenite::Message::Close(frame)))) => {
                let reason = frame.map(|frame| frame.reason.to_string()).unwrap_or_default();
                let reason: String = reason.chars().filter(|c| !c.is_control()).take(200).collect();
                let what = "the gateway closed the connection";
                break if reason.is_empty() {
                    what.to_owned()
                } else {
                    format!("{what}: {reason}")
                };
            }
            Ok(Some(Ok(_))) => continue,
        };
        queue.push(&frame).await;
    };
    *end.lock().unwrap_or_else(PoisonError::into_inner) = why;
    queue.close();
}

async fn write(
    mut sink: SplitSink<Socket, tungstenite::Message>,
    mut posted: mpsc::UnboundedReceiver<tungstenite::Message>,
) {
    loop {
        let message = match tokio::time::timeout(PING, posted.recv()).await {
            Ok(Some(message)) => message,
            Ok(None) => return,
            Err(_) => tungstenite::Message::Ping(Bytes::new()),
        };
        // Whoever reads sees the end of the connection.
        if sink.send(message).await.is_err() {
            return;
        }
    }
}
