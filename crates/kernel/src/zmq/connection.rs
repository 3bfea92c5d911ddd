//! The addresses of a kernel: its connection file, and ports that no other program uses.
//!
//! It must not know the messages on the sockets.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::net::{TcpStream, UnixStream};

use crate::jupyter::home::Home;
use crate::zmq::socket::Address;

/// Longest path of a Unix socket in bytes, without the final zero byte.
const MAX_SOCKET_NAME: usize = 107;

/// Longest wait for a kernel that should be listening already.
const LISTENING: Duration = Duration::from_secs(3);

/// The only supported signature scheme.
const SCHEME: &str = "hmac-sha256";

/// Transport of messages: Unix sockets or ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Carrier {
    Ipc,
    Tcp,
}

/// Contents of a connection file: nine fields.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Connection {
    ip: String,
    transport: Carrier,
    signature_scheme: String,
    pub(crate) key: String,
    shell_port: u16,
    iopub_port: u16,
    stdin_port: u16,
    control_port: u16,
    hb_port: u16,
}

/// One of the five sockets of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Port {
    Shell,
    Iopub,
    Stdin,
    Control,
    Heartbeat,
}

impl Connection {
    /// Returns the connection of a kernel on this machine, by Unix sockets.
    pub(crate) fn ipc(home: &Home, key: String) -> Connection {
        let ip = home.folder().join("k").to_string_lossy().into_owned();
        Connection::new(Carrier::Ipc, ip, key, [1, 2, 3, 4, 5])
    }

    /// Returns the connection of a kernel on this machine, by ports.
    pub(crate) fn tcp(ports: [u16; 5], key: String) -> Connection {
        Connection::new(Carrier::Tcp, Ipv4Addr::LOCALHOST.to_string(), key, ports)
    }

    fn new(transport: Carrier, ip: String, key: String, ports: [u16; 5]) -> Connection {
        let [shell_port, iopub_port, stdin_port, control_port, hb_port] = ports;
        let signature_scheme = SCHEME.to_owned();
        Connection {
            ip,
            transport,
            signature_scheme,
            key,
            shell_port,
            iopub_port,
            stdin_port,
            control_port,
            hb_port,
        }
    }

    /// Reads the connection file of a running kernel. The error is a message for the user.
    pub(crate) fn read(path: &Path) -> Result<Connection, String> {
        let shown = path.display();
        let text = fs::read_to_string(path)
            .map_err(|problem| format!("{shown} cannot be read: {problem}"))?;
        let read: Connection = serde_json::from_str(&text)
            .map_err(|problem| format!("{shown} is not a connection file: {problem}"))?;
        if read.signature_scheme != SCHEME && !read.key.is_empty() {
            let scheme = &read.signature_scheme;
            return Err(format!("{shown} asks for {scheme} signatures; only {SCHEME} is known"));
        }
        read.address(Port::Shell).map_err(|problem| format!("{shown}: {problem}"))?;
        Ok(read)
    }

    /// Returns `true` if a kernel listens on the shell socket. Waits a moment for a kernel that is
    /// just starting.
    pub(crate) async fn is_listened_on(&self) -> bool {
        let Ok(address) = self.address(Port::Shell) else { return false };
        let connects = async || match &address {
            Address::Ipc(path) => UnixStream::connect(path).await.is_ok(),
            Address::Tcp(address) => TcpStream::connect(address).await.is_ok(),
        };
        let until_it_does = async {
            while !connects().await {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(LISTENING, until_it_does).await.is_ok()
    }

    /// Returns the address of a socket.
    pub(crate) fn address(&self, port: Port) -> Result<Address, String> {
        let number = match port {
            Port::Shell => self.shell_port,
            Port::Iopub => self.iopub_port,
            Port::Stdin => self.stdin_port,
            Port::Control => self.control_port,
            Port::Heartbeat => self.hb_port,
        };
        if self.transport == Carrier::Ipc {
            return Ok(Address::Ipc(PathBuf::from(format!("{}-{number}", self.ip))));
        }
        let ip = if self.ip == "localhost" { "127.0.0.1" } else { &self.ip };
        let ip: IpAddr = ip.parse().map_err(|_| format!("{ip:?} is not an IP address"))?;
        Ok(Address::Tcp(SocketAddr::new(ip, number)))
    }
}

/// The parts of a kernel's folder that sockets and connection files use.
impl Home {
    /// Returns `true` if the folder's path leaves room for the names of sockets.
    pub(crate) fn is_short_enough(&self) -> bool {
        self.folder().as_os_str().as_bytes().len() + "/k-1".len() <= MAX_SOCKET_NAME
            && self.folder().to_str().is_some()
    }

    /// Writes the connection file, readable by this user alone.
    pub(crate) fn write(&self, connection: &Connection) -> io::Result<PathBuf> {
        let path = self.folder().join("kernel.json");
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(&serde_json::to_vec(connection)?)?;
        Ok(path)
    }
}

/// Ports that kernels of ours are about to listen on.
#[derive(Debug, Default)]
pub(crate) struct Ports(Mutex<HashSet<u16>>);

/// Five reserved ports. Dropping this frees them for other starts.
pub(crate) struct ReservedPorts<'a> {
    ports: &'a Ports,
    pub(crate) numbers: [u16; 5],
}

impl Ports {
    fn taken(&self) -> MutexGuard<'_, HashSet<u16>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves five ports that are free now. The ports are closed again before this returns: a
    /// kernel that starts while we listen could connect to our own socket. If another program takes
    /// a port meanwhile, the kernel reports it.
    pub(crate) fn reserve(&self) -> io::Result<ReservedPorts<'_>> {
        // If two starts choose the same port at once, the second chooses again. The bound ends an
        // unlucky series.
        for _ in 0..100 {
            let mut numbers = [0; 5];
            let mut listeners = Vec::with_capacity(numbers.len());
            for number in &mut numbers {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                *number = listener.local_addr()?.port();
                listeners.push(listener);
            }
            drop(listeners);
            let mut taken = self.taken();
            if numbers.iter().any(|number| taken.contains(number)) {
                continue;
            }
            taken.extend(numbers);
            return Ok(ReservedPorts { ports: self, numbers });
        }
        Err(io::ErrorKind::AddrInUse.into())
    }
}

impl Drop for ReservedPorts<'_> {
    fn drop(&mut self) {
        let mut taken = self.ports.taken();
        for number in self.numbers {
            taken.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::jupyter::home::random_hex;

    /// B:Z-02
    #[test]
    fn a_connection_file_has_nine_fields_and_is_private() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::make(&temp.path().join("run")).unwrap();
        let key = random_hex::<32>().unwrap();
        assert_eq!(key.len(), 64);
        let connection = Connection::tcp([1, 2, 3, 4, 5], key);
        let file = home.write(&connection).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(home.folder())), (0o600, 0o700));
        let text = fs::read_to_string(&file).unwrap();
        let fields: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(&text).unwrap();
        assert_eq!(fields.len(), 9, "{text}");
        assert_eq!(fields["signature_scheme"], "hmac-sha256");
        assert_eq!((&fields["ip"], &fields["transport"]), (&"127.0.0.1".into(), &"tcp".into()));
        assert!(Connection::read(&file).is_ok_and(|read| read == connection));
        let folder = home.folder().to_owned();
        drop(home);
        assert!(!folder.exists());
    }

    #[test]
    fn addresses_are_those_of_the_protocol() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::make(temp.path()).unwrap();
        let ipc = Connection::ipc(&home, String::new());
        assert_eq!(ipc.address(Port::Iopub), Ok(Address::Ipc(home.folder().join("k-2"))));
        let tcp = Connection::tcp([5001, 5002, 5003, 5004, 5005], String::new());
        let wanted = Address::Tcp("127.0.0.1:5005".parse().unwrap());
        assert_eq!(tcp.address(Port::Heartbeat), Ok(wanted));
        let deep = Home::make(&temp.path().join("x".repeat(100))).unwrap();
        assert!(home.is_short_enough() && !deep.is_short_enough());
    }

    /// Issue 7, 3: a malformed connection file gives an error that says what is wrong.
    #[test]
    fn a_file_that_is_none_says_so() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("kernel.json");
        let said = || Connection::read(&path).err().unwrap();
        assert!(said().contains("cannot be read"));
        fs::write(&path, "{}").unwrap();
        assert!(said().contains("is not a connection file: missing field `ip`"), "{}", said());
        let whole = r#"{"ip": "IP", "transport": "tcp", "signature_scheme": "hmac-md5", "key": "k", "shell_port": 1,
            "iopub_port": 2, "stdin_port": 3, "control_port": 4, "hb_port": 5, "kernel_name": "x"}"#;
        fs::write(&path, whole).unwrap();
        assert!(said().contains("only hmac-sha256 is known"), "{}", said());
        fs::write(&path, whole.replace("hmac-md5", "hmac-sha256")).unwrap();
        assert!(said().contains("\"IP\" is not an IP address"), "{}", said());
        fs::write(&path, whole.replace("hmac-md5", "hmac-sha256").replace("IP", "localhost"))
            .unwrap();
        assert!(Connection::read(&path).is_ok());
    }

    /// F-014: starts at the same time never choose the same ports.
    #[test]
    fn reserved_ports_are_nobody_elses() {
        let ports = Ports::default();
        let reserved: Vec<ReservedPorts<'_>> = (0..50).map(|_| ports.reserve().unwrap()).collect();
        let all: HashSet<u16> = reserved.iter().flat_map(|one| one.numbers).collect();
        assert_eq!(all.len(), 250);
        drop(reserved);
        assert!(ports.taken().is_empty());
    }
}
