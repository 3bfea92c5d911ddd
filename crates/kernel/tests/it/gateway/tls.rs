//! Gateways over https: a client uses one with a valid certificate, and sends nothing to any other.
//!
//! Owns test certificates and a front that adds TLS to the scripted gateway.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use inkcell_kernel::{GatewayBackend, GatewayUrl, PlainHttp};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, SupportedProtocolVersion};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::desk::{Desk, LIMIT, config, run};
use super::fake_kernel::{cell, stream};
use super::scripted::{Act, Scripted};

const BOTH: &[&SupportedProtocolVersion] = &[&TLS12, &TLS13];

/// A certificate authority that signs certificates.
struct Authority(CertifiedIssuer<'static, KeyPair>);

/// The certificate of a server, with its key.
struct Proof {
    chain: Vec<CertificateDer<'static>>,
    key: KeyPair,
}

impl Authority {
    fn new(name: &str) -> Authority {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// A certificate for a server with these names and addresses.
    fn proof(&self, names: &[&str]) -> Proof {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let key = KeyPair::generate().unwrap();
        let signed = CertificateParams::new(names).unwrap().signed_by(&key, &self.0).unwrap();
        Proof { chain: vec![signed.der().clone()], key }
    }
}

/// The result of a handshake.
#[derive(Debug, PartialEq, Eq)]
enum Began {
    /// Both ends agreed, and the connection is open.
    Open,
    /// The client rejected the certificate and reported that.
    Refused,
    /// Any other start, such as data without TLS, or no data.
    Odd(String),
}

/// Adds TLS to a gateway.
struct Front {
    address: SocketAddr,
    began: mpsc::UnboundedReceiver<(SocketAddr, Began)>,
    _tasks: JoinSet<()>,
}

impl Front {
    async fn start(
        gateway: &Scripted,
        proof: Proof,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Front {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::try_from(proof.key.serialize_der()).unwrap();
        let server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(proof.chain, key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(server));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (told, began) = mpsc::unbounded_channel();
        let (behind, mut tasks) = (gateway.address, JoinSet::new());
        tasks.spawn(async move {
            let mut open = JoinSet::new();
            // One after another, so that results have the order of the connections.
            while let Ok((client, from)) = listener.accept().await {
                let shaken = acceptor.accept(client).await;
                let _ = told.send((from, shaken.as_ref().map_or_else(of, |_| Began::Open)));
                let Ok(mut client) = shaken else { continue };
                open.spawn(async move {
                    let mut server = TcpStream::connect(behind).await.unwrap();
                    let _ = copy_bidirectional(&mut client, &mut server).await;
                });
            }
        });
        Front { address, began, _tasks: tasks }
    }

    fn url(&self) -> GatewayUrl {
        let text = format!("https://{}", self.address);
        GatewayUrl::parse(&text, PlainHttp::OnlyHere).unwrap().0
    }

    /// The handshakes of all connections until now. A silent connection of our own marks the end.
    async fn began(&mut self) -> Vec<Began> {
        let last = TcpStream::connect(self.address).await.unwrap().local_addr().unwrap();
        let mut all = Vec::new();
        loop {
            let next = tokio::time::timeout(LIMIT, self.began.recv()).await.unwrap().unwrap();
            if next.0 == last {
                return all;
            }
            all.push(next.1);
        }
    }
}

fn of(error: &io::Error) -> Began {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::AlertReceived(_)) => Began::Refused,
        _ => Began::Odd(error.to_string()),
    }
}

async fn gateway() -> Scripted {
    Scripted::start(|_| Act::Usual, |code| cell(vec![stream(code)])).await
}

/// A backend that trusts the certificates in this text, besides those of the system.
fn believing(url: GatewayUrl, text: Option<&str>) -> Desk {
    let folder = TempDir::new().unwrap();
    let authorities = text.map(|text| {
        let path = folder.path().join("authorities.pem");
        std::fs::write(&path, text).unwrap();
        path
    });
    with_file(url, folder, authorities)
}

fn with_file(url: GatewayUrl, folder: TempDir, authorities: Option<PathBuf>) -> Desk {
    let mut config = config(url, &folder);
    config.authorities = authorities;
    Desk { backend: GatewayBackend::new(config), folder }
}

/// B:G-30 By address and by name, with each version of TLS, and with a second authority in either order.
#[tokio::test]
async fn a_cell_runs_on_a_gateway_that_proves_itself() {
    let (ours, other) = (Authority::new("ours"), Authority::new("other"));
    let files = [ours.0.pem(), ours.0.pem() + &other.0.pem(), other.0.pem() + &ours.0.pem()];
    for (version, file) in [&TLS12, &TLS13, &TLS13].into_iter().zip(files) {
        let gateway = gateway().await;
        let proof = ours.proof(&["127.0.0.1", "localhost"]);
        let mut front = Front::start(&gateway, proof, &[version]).await;
        let named = format!("https://localhost:{}", front.address.port());
        let named = GatewayUrl::parse(&named, PlainHttp::OnlyHere).unwrap().0;
        for url in [front.url(), named] {
            let desk = believing(url, Some(&file));
            let mut launched = desk.launch().await.unwrap();
            // Larger than one TLS record, in both directions.
            let code = "hello ".repeat(100_000);
            let ran = run(&mut launched, &code).await;
            assert!(ran.is_ok() && ran.text == code, "{:?} {}", ran.ends, ran.text.len());
            launched.kernel.shutdown(LIMIT).await;
            assert_eq!(gateway.kernels(), [""; 0]);
        }
        assert!(gateway.count("GET", "/api/kernels/k1/channels") == 1, "over the websocket");
        for seen in gateway.inside.seen.lock().unwrap().iter() {
            assert_eq!(seen.headers["authorization"], "token secret", "{seen:?}");
        }
        let began = front.began().await;
        assert!(began.len() > 4 && began.iter().all(|began| *began == Began::Open), "{began:?}");
    }
}

/// S-020 The token goes only to a gateway with a valid certificate.
#[tokio::test]
async fn a_gateway_of_an_unknown_authority_is_told_nothing() {
    let ours = Authority::new("ours");
    let gateway = gateway().await;
    let mut front = Front::start(&gateway, ours.proof(&["127.0.0.1"]), BOTH).await;
    let unknown = "its certificate is signed by an unknown authority; if you trust that authority, name its PEM \
                   file in gateway.authorities";
    let renewed = "its certificate is not signed by the known authority of that name; if the authority has a new \
                   certificate, put it into the PEM file of gateway.authorities";
    let other = Authority::new("other").0.pem();
    let namesake = Authority::new("ours").0.pem();
    for (file, why) in [(None, unknown), (Some(other), unknown), (Some(namesake), renewed)] {
        let refusal = believing(front.url(), file.as_deref()).refusal().await;
        let at = format!("External gateway at {} is not reachable", front.url());
        assert_eq!(refusal, format!("{at}: {why}"));
        assert_eq!(front.began().await, [Began::Refused]);
    }
    assert!(gateway.inside.seen.lock().unwrap().is_empty());
}

/// S-020 A certificate holds for its own name only.
#[tokio::test]
async fn a_certificate_of_another_host_is_refused() {
    let ours = Authority::new("ours");
    for names in [&["gateway.example", "127.0.0.2"][..], &["localhost"], &[]] {
        let gateway = gateway().await;
        let mut front = Front::start(&gateway, ours.proof(names), BOTH).await;
        let refusal = believing(front.url(), Some(&ours.0.pem())).refusal().await;
        assert!(refusal.contains("certificate not valid for name \"127.0.0.1\""), "{refusal}");
        assert_eq!(front.began().await, [Began::Refused], "{names:?}");
        assert!(gateway.inside.seen.lock().unwrap().is_empty());
    }
}

/// By default, tools create a certificate that is its own authority.
#[tokio::test]
async fn an_authority_that_serves_is_refused_with_what_helps() {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).unwrap();
    let proof = Proof { chain: vec![certificate.der().clone()], key };
    let gateway = gateway().await;
    let mut front = Front::start(&gateway, proof, BOTH).await;
    let refusal = believing(front.url(), Some(&certificate.pem())).refusal().await;
    assert!(refusal.contains("(basicConstraints CA:FALSE)"), "{refusal}");
    assert_eq!(front.began().await, [Began::Refused]);
    assert!(gateway.inside.seen.lock().unwrap().is_empty());
}

/// The client never falls back to plain http.
#[tokio::test]
async fn plain_http_is_not_taken_for_https() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let mut client = listener.accept().await.unwrap().0;
        let mut first = [0; 5];
        client.read_exact(&mut first).await.unwrap();
        client.write_all(b"HTTP/1.1 400 X\r\n\r\n").await.unwrap();
        // Read until the client closes: closing with unread data would cause a reset.
        let _ = client.read_to_end(&mut Vec::new()).await;
        first
    });
    let desk = Desk::at(GatewayUrl::parse(&url, PlainHttp::OnlyHere).unwrap().0);
    let refusal = desk.refusal().await;
    assert!(
        refusal.ends_with("the server does not speak TLS; is the address http://?"),
        "{refusal}"
    );
    assert_eq!(server.await.unwrap()[..2], [22, 3], "a handshake");
}

/// An unusable file of certificates is named in the error, before any connection.
#[tokio::test]
async fn a_file_without_certificates_is_named() {
    let ours = Authority::new("ours");
    let gateway = gateway().await;
    let mut front = Front::start(&gateway, ours.proof(&["127.0.0.1"]), BOTH).await;
    let pem = ours.0.pem();
    let key = ours.0.key().serialize_pem();
    let none = "it has none in the form of PEM";
    let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let mixed = pem.clone() + damaged;
    let cases = [
        ("", none),
        ("garbage\n\u{0}\u{7f}", none),
        (&key, none),
        (damaged, "one of them is damaged"),
        (&mixed, "one of them is damaged"),
        (&pem[..pem.len() / 2], ""),
        ("-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n", ""),
    ];
    for (text, reason) in cases {
        let desk = believing(front.url(), Some(text));
        check_named(&desk, "authorities.pem", reason).await;
    }
    for (name, reason) in [("nowhere.pem", "No such file"), (".", "")] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join(name);
        check_named(&with_file(front.url(), folder, Some(path)), name, reason).await;
    }
    assert_eq!(front.began().await, [], "nobody was spoken to");
    assert!(gateway.inside.seen.lock().unwrap().is_empty());
}

async fn check_named(desk: &Desk, name: &str, reason: &str) {
    let refusal = desk.refusal().await;
    let path = desk.folder.path().join(name);
    let start = format!("no certificates can be read from {}", path.display());
    let start = format!("{start} (gateway.authorities): ");
    assert!(refusal.contains(&start) && refusal.contains(reason), "{refusal}");
}

/// The same backend reads a corrected file again.
#[tokio::test]
async fn a_file_that_is_mended_is_believed() {
    let ours = Authority::new("ours");
    let gateway = gateway().await;
    let front = Front::start(&gateway, ours.proof(&["127.0.0.1"]), BOTH).await;
    let desk = believing(front.url(), Some("garbage"));
    desk.refusal().await;
    std::fs::write(desk.folder.path().join("authorities.pem"), ours.0.pem()).unwrap();
    let launched = desk.launch().await.unwrap();
    launched.kernel.shutdown(LIMIT).await;
    assert_eq!(gateway.kernels(), [""; 0]);
}
