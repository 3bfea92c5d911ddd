//! Tests of slow connections and of closed ones.

use std::time::Duration;

use super::*;

/// Longer than any step of these tests takes.
const LIMIT: Duration = Duration::from_secs(60);

fn pair() -> (UnixStream, Reader, Writer) {
    let (kernel, ours) = UnixStream::pair().unwrap();
    let joined = OpenSocket { stream: Stream::Unix(ours), decoder: Decoder::default() };
    let (reader, writer) = joined.split();
    (kernel, reader, writer)
}

/// A kernel that reads nothing for a while delays no sender, and gets everything in order.
#[tokio::test]
async fn what_is_not_taken_at_once_is_written_later() {
    let (mut kernel, reader, writer) = pair();
    let messages: Vec<Bytes> = (0..20).map(|n| Bytes::from(vec![n; 100_000])).collect();
    let mut sent = Vec::new();
    for message in &messages {
        writer.send(std::slice::from_ref(message));
        sent.extend(zmtp::encode(std::slice::from_ref(message)));
    }
    // A posted message is sent even if both halves are dropped.
    drop((reader, writer));
    let mut received = Vec::new();
    let all = kernel.read_to_end(&mut received);
    tokio::time::timeout(LIMIT, all).await.unwrap().unwrap();
    assert!(received == sent, "{} bytes of {}", received.len(), sent.len());
}

async fn pair_of_ports() -> (TcpStream, TcpStream) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (listener.accept().await.unwrap().0, ours)
}

/// F-003: the same by ports, which accept bytes for a peer that is gone.
#[tokio::test]
async fn a_port_that_is_gone_is_known() {
    let (kernel, ours) = pair_of_ports().await;
    let joined = OpenSocket { stream: Stream::Tcp(ours), decoder: Decoder::default() };
    let (mut reader, writer) = joined.split();
    writer.send(&[Bytes::from_static(b"in time")]);
    assert!(!writer.has_failed());
    kernel.readable().await.unwrap();
    assert!(kernel.try_read(&mut [0; 64]).unwrap() > 0);
    drop(kernel);
    let end = tokio::time::timeout(LIMIT, reader.next()).await.unwrap().unwrap_err();
    assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof, "all that was sent was read");
    writer.send(&[Bytes::from_static(b"late")]);
    assert!(writer.has_failed());
}

/// F-003: bytes written at the moment of the end are known to be unread, although reading only
/// shows the end.
#[tokio::test]
async fn what_a_closed_port_refuses_is_known() {
    let (kernel, ours) = pair_of_ports().await;
    drop(kernel);
    let mut nothing = [0; 1];
    let ended = tokio::time::timeout(LIMIT, ours.peek(&mut nothing));
    assert_eq!(ended.await.unwrap().unwrap(), 0);
    assert_eq!(ours.try_write(b"late").unwrap(), 4);
    let refused = tokio::time::timeout(LIMIT, ours.ready(tokio::io::Interest::ERROR));
    assert!(refused.await.unwrap().unwrap().is_error());
    let joined = OpenSocket { stream: Stream::Tcp(ours), decoder: Decoder::default() };
    let (mut reader, _writer) = joined.split();
    let end = tokio::time::timeout(LIMIT, reader.next()).await.unwrap().unwrap_err();
    assert_eq!(end.kind(), io::ErrorKind::ConnectionReset);
}

/// A request that cannot be written is known to have had no effect.
#[tokio::test]
async fn a_connection_that_is_gone_is_known() {
    let (kernel, mut reader, writer) = pair();
    assert!(!writer.has_failed());
    drop(kernel);
    writer.send(&[Bytes::from_static(b"late")]);
    assert!(writer.has_failed());
    assert!(tokio::time::timeout(LIMIT, reader.next()).await.unwrap().is_err());
}
