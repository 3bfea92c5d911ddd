//! The owner of a listening port on this machine.
//!
//! Owns the reading of the system's socket table. A port that was free a moment ago can belong to
//! any user, and the gateway's token must not reach a listener of another user.

use std::net::Ipv4Addr;
use std::{fs, io};

/// State of a listening socket in the system's table.
const LISTENS: &str = "0A";

/// Returns `true` if a process of this user listens on this port of the loopback address.
pub(crate) fn is_of_this_user(port: u16) -> io::Result<bool> {
    match fs::read_to_string("/proc/net/tcp") {
        Ok(table) => Ok(is_of(&table, port, rustix::process::geteuid().as_raw())),
        // Without the table, rely on the code that starts a gateway: it checks that the gateway
        // lives.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// Looks at the exact address only: the system prefers it to a wildcard, so its listener gets the
/// connection.
fn is_of(table: &str, port: u16, user: u32) -> bool {
    let address = u32::from_ne_bytes(Ipv4Addr::LOCALHOST.octets());
    let local = format!("{address:08X}:{port:04X}");
    let users = table.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (at, state) = (fields.next()?, fields.nth(1)?);
        (at == local && state == LISTENS).then(|| fields.nth(3).and_then(|user| user.parse().ok()))
    });
    let users: Vec<Option<u32>> = users.collect();
    !users.is_empty() && users.iter().all(|found| *found == Some(user))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// S-014: only a listener of this user is taken for a gateway of ours.
    #[test]
    fn a_listener_has_a_user() {
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
        let line = |local: &str, state: &str, user: u32| {
            format!(
                "   0: {local} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  {user}        0 \
                 25523 1 0000000000000000 100 0 0 10 0"
            )
        };
        let check = |lines: &[String], wanted: bool| {
            let table = format!("{head}\n{}\n", lines.join("\n"));
            assert_eq!(is_of(&table, 8080, 1000), wanted, "{table}");
        };
        let here = format!("{:08X}", u32::from_ne_bytes([127, 0, 0, 1]));
        let (ours, other_port) = (format!("{here}:1F90"), format!("{here}:1F91"));
        check(&[line(&ours, "0A", 1000)], true);
        check(&[line(&ours, "0A", 1001)], false);
        check(&[line(&ours, "0A", 1000), line(&ours, "0A", 0)], false);
        check(&[line(&ours, "01", 1000)], false);
        check(&[line(&other_port, "0A", 1000)], false);
        check(&[line("00000000:1F90", "0A", 1000)], false);
        check(&["nonsense".to_owned()], false);
    }

    /// S-014: the system's own table is read correctly.
    #[test]
    fn a_listener_of_ours_is_known() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(is_of_this_user(port).unwrap());
        // Bound without listening: the port has no listener, and no other process can take it
        // meanwhile.
        let bound = rustix::net::socket(
            rustix::net::AddressFamily::INET,
            rustix::net::SocketType::STREAM,
            None,
        );
        let bound = bound.unwrap();
        rustix::net::bind(&bound, &std::net::SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        let name = rustix::net::getsockname(&bound).unwrap();
        let name = std::net::SocketAddrV4::try_from(name).unwrap();
        assert!(!is_of_this_user(name.port()).unwrap());
    }
}
