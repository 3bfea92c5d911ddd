//! Connections to a gateway, with TLS where its address asks for it.
//!
//! Owns names, certificates, and the immediate acknowledgement of packets. It must not know what
//! travels on a connection.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, InvalidMessage, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::gateway::transport::url::{GatewayUrl, Scheme};

/// Time limit for one address of a host, so that another can be tried.
const ONE_ADDRESS: Duration = Duration::from_secs(3);

/// Opens connections to a gateway, with its certificates loaded once.
pub(crate) struct Dial {
    /// PEM file with certificates to trust besides the system's.
    authorities: Option<PathBuf>,
    tls: OnceCell<Arc<ClientConfig>>,
}

impl Dial {
    pub(crate) fn new(authorities: Option<PathBuf>) -> Dial {
        Dial { authorities, tls: OnceCell::new() }
    }

    /// Connects to the gateway. The caller sets a time limit.
    pub(crate) async fn connect(&self, url: &GatewayUrl) -> io::Result<Way> {
        if url.scheme() == Scheme::Http {
            return Ok(Way::Plain(Quick(connect(url).await?)));
        }
        // Load first: an unusable certificate file is an error even if the gateway does not listen.
        let config = self.tls.get_or_try_init(|| load(self.authorities.clone())).await?;
        let name = ServerName::try_from(url.host().to_owned()).map_err(io::Error::other)?;
        let tcp = Quick(connect(url).await?);
        let shaken = TlsConnector::from(Arc::clone(config)).connect(name, tcp).await;
        Ok(Way::Tls(Box::new(shaken.map_err(in_words)?)))
    }
}

/// Explains a rejected certificate, with a remedy where one is known.
fn in_words(error: io::Error) -> io::Error {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let sentence = match inner {
        Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
            "its certificate is signed by an unknown authority; if you trust that authority, name its PEM \
             file in gateway.authorities"
        }
        Some(rustls::Error::InvalidCertificate(CertificateError::BadSignature)) => {
            "its certificate is not signed by the known authority of that name; if the authority has a new \
             certificate, put it into the PEM file of gateway.authorities"
        }
        // The library has no name for this error. A certificate that signs itself usually causes
        // it.
        Some(rustls::Error::InvalidCertificate(CertificateError::Other(other)))
            if format!("{other:?}").contains("CaUsedAsEndEntity") =>
        {
            "its certificate is for signing other certificates; give the server a certificate of its own \
             (basicConstraints CA:FALSE)"
        }
        Some(rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType)) => {
            "the server does not speak TLS; is the address http://?"
        }
        _ => return error,
    };
    io::Error::new(error.kind(), sentence)
}

async fn connect(url: &GatewayUrl) -> io::Result<TcpStream> {
    // The name `localhost` always means this machine, whatever a name server answers.
    let addresses: Vec<SocketAddr> = if url.host() == "localhost" {
        let both = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
        both.map(|ip| SocketAddr::new(ip, url.port())).into()
    } else {
        tokio::net::lookup_host((url.host(), url.port())).await?.collect()
    };
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in addresses {
        match tokio::time::timeout(ONE_ADDRESS, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            // A machine with only one of the two addresses refuses the other; that is expected.
            Ok(Err(error)) => {
                if last.kind() != io::ErrorKind::ConnectionRefused {
                    last = error;
                }
            }
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(last)
}

/// Loads the system's certificates and those of the file. Takes a while.
async fn load(authorities: Option<PathBuf>) -> io::Result<Arc<ClientConfig>> {
    let read = move || -> io::Result<Arc<ClientConfig>> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if let Some(path) = authorities {
            believe(&mut roots, &path).map_err(|reason| {
                let file = path.display();
                io::Error::other(format!(
                    "no certificates can be read from {file} (gateway.authorities): {reason}"
                ))
            })?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Arc::new(config))
    };
    tokio::task::spawn_blocking(read).await.map_err(io::Error::other)?
}

/// Adds the certificates of a file. A file without any is an error, because the mistake would show
/// much later otherwise.
fn believe(roots: &mut RootCertStore, path: &Path) -> Result<(), String> {
    let before = roots.len();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| error.to_string())? {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|_| "one of them is damaged".to_owned())?;
    }
    if roots.len() == before {
        return Err("it has none in the form of PEM".to_owned());
    }
    Ok(())
}

/// A connection, in plain text or through TLS.
pub(crate) enum Way {
    Plain(Quick),
    Tls(Box<TlsStream<Quick>>),
}

/// A connection that acknowledges packets at once. A gateway writes a message in two parts and
/// holds the second back until the first is acknowledged; the usual wait costs 40 ms for every
/// message.
pub(crate) struct Quick(TcpStream);

impl Quick {
    /// The system forgets this setting by itself, so every read sets it again.
    fn acknowledge_at_once(&self) {
        #[cfg(target_os = "linux")]
        let _ = rustix::net::sockopt::set_tcp_quickack(&self.0, true);
    }
}

impl AsyncRead for Quick {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.0).poll_read(context, buffer);
        // Without received data there is nothing to acknowledge.
        if read.is_ready() {
            self.acknowledge_at_once();
        }
        read
    }
}

impl AsyncWrite for Quick {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    /// TLS writes its closing message in several parts at once, and does not return for the
    /// remainder.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl AsyncRead for Way {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Way::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Way::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Way {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Way::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Way::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Way::Plain(stream) => Pin::new(stream).poll_flush(context),
            Way::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Way::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Way::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::net::sockopt::tcp_quickack;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// A dialogue makes the system delay acknowledgements; our reader prevents that.
    #[tokio::test]
    async fn acknowledgements_do_not_wait() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            for _ in 0..2 {
                let mut stream = listener.accept().await.unwrap().0;
                let mut byte = [0];
                while stream.read_exact(&mut byte).await.is_ok() {
                    stream.write_all(&byte).await.unwrap();
                }
            }
        });
        let mut usual = TcpStream::connect(address).await.unwrap();
        talk(&mut usual).await.unwrap();
        assert!(!tcp_quickack(&usual).unwrap(), "the default");
        drop(usual);
        let mut quick = Quick(TcpStream::connect(address).await.unwrap());
        talk(&mut quick).await.unwrap();
        assert!(tcp_quickack(&quick.0).unwrap());
        drop(quick);
        server.await.unwrap();
    }

    async fn talk(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> io::Result<()> {
        for _ in 0..20 {
            stream.write_all(b"x").await?;
            stream.read_exact(&mut [0]).await?;
        }
        Ok(())
    }
}
