//! The address to listen on, as a user gives it, and the names that clients may use for it.
//!
//! Owns the difference between an address for this machine only and any other. It opens nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The machines that may connect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// Only this machine. This is the default.
    ThisMachine,
    /// Every machine that the network lets through.
    Remote,
}

/// The reason why an address cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum AddressError {
    /// The text is not an address.
    #[error(
        "is not an address; give an IP address, a port or both: 127.0.0.1, 127.0.0.1:8000, [::1]:8000, :8000"
    )]
    Unreadable,
    /// The address is reachable from other machines, and no option allows that.
    #[error(
        "{0} accepts connections from other machines, and anyone with the token can run code; \
         remove the address, or add --allow-remote to accept that"
    )]
    NotAllowed(IpAddr),
    /// It stands for all addresses, so no name follows from it.
    #[error(
        "{0} stands for every address; name this machine as clients call it, with --allow-host NAME"
    )]
    Nameless(IpAddr),
    /// A name that clients cannot use for us.
    #[error(
        "{0:?} is not a host name; give one as clients write it, such as box.example or box.example:8443"
    )]
    Name(String),
}

/// Parses an address: a host, a port, or both. Without a port the system picks one.
pub(crate) fn parse(given: &str, reach: Reach) -> Result<SocketAddr, AddressError> {
    let given = given.trim();
    let address = if let Ok(address) = given.parse::<SocketAddr>() {
        address
    } else if let Some(ip) = host(given) {
        SocketAddr::new(ip, 0)
    } else {
        let (name, port) = given.rsplit_once(':').unwrap_or(("", given));
        let ip = if name.is_empty() { Some(Ipv4Addr::LOCALHOST.into()) } else { host(name) };
        let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = if is_number { port.parse().ok() } else { None };
        let (ip, port) = ip.zip(port).ok_or(AddressError::Unreadable)?;
        SocketAddr::new(ip, port)
    };
    let is_ours = address.ip().to_canonical().is_loopback();
    if !is_ours && reach == Reach::ThisMachine {
        return Err(AddressError::NotAllowed(address.ip()));
    }
    Ok(address)
}

/// Parses an address without a port. Names are not resolved, since the owner of a name can change.
fn host(given: &str) -> Option<IpAddr> {
    match given {
        "localhost" => Some(Ipv4Addr::LOCALHOST.into()),
        "[::1]" => Some(Ipv6Addr::LOCALHOST.into()),
        other => other.parse().ok(),
    }
}

/// The names by which a request may call us, `host:port` each: the address itself, `localhost` if that is this
/// machine, and the given names.
pub(crate) fn authorities(
    bound: SocketAddr,
    given: &[String],
) -> Result<Vec<String>, AddressError> {
    let (ip, port) = (bound.ip(), bound.port());
    let mut names = Vec::new();
    if ip.is_unspecified() {
        if given.is_empty() {
            return Err(AddressError::Nameless(ip));
        }
    } else {
        names.push(bound.to_string());
    }
    if ip.is_loopback() || ip.is_unspecified() {
        names.push(format!("localhost:{port}"));
    }
    if ip.is_unspecified() {
        names.push(format!("127.0.0.1:{port}"));
    }
    for name in given {
        let (host, named_port) = match name.rsplit_once(':') {
            Some((host, port)) if !host.ends_with(':') && !port.ends_with(']') => {
                let port = port.parse::<u16>().map_err(|_| AddressError::Name(name.clone()))?;
                (host, port)
            }
            _ => (&**name, port),
        };
        let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b".-_[]:".contains(&byte);
        if host.is_empty() || !host.bytes().all(is_fine) {
            return Err(AddressError::Name(name.clone()));
        }
        // Browsers write names in lower case, and other programs as the user typed them.
        let written = format!("{host}:{named_port}");
        names.extend([written.to_ascii_lowercase(), written]);
        if named_port == 80 {
            names.push(host.to_owned());
        }
    }
    names.dedup();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S-019: the default is this machine alone, on a port that the system picks.
    #[test]
    fn an_address_is_on_this_machine() {
        let cases = [
            ("127.0.0.1", Ok("127.0.0.1:0")),
            ("localhost", Ok("127.0.0.1:0")),
            ("127.0.0.1:8000", Ok("127.0.0.1:8000")),
            ("localhost:8000", Ok("127.0.0.1:8000")),
            (":8000", Ok("127.0.0.1:8000")),
            (":0", Ok("127.0.0.1:0")),
            ("8000", Ok("127.0.0.1:8000")),
            ("[::1]:8000", Ok("[::1]:8000")),
            ("::1", Ok("[::1]:0")),
            ("[::1]", Ok("[::1]:0")),
            ("127.9.9.9:1", Ok("127.9.9.9:1")),
            ("", Err(AddressError::Unreadable)),
            (":", Err(AddressError::Unreadable)),
            ("box.example:8000", Err(AddressError::Unreadable)),
            ("localhost.evil:80", Err(AddressError::Unreadable)),
            ("127.0.0.1:70000", Err(AddressError::Unreadable)),
            ("127.0.0.1:+80", Err(AddressError::Unreadable)),
            ("http://127.0.0.1:80", Err(AddressError::Unreadable)),
            ("0.0.0.0:80", Err(AddressError::NotAllowed(Ipv4Addr::UNSPECIFIED.into()))),
            ("[::]:80", Err(AddressError::NotAllowed(Ipv6Addr::UNSPECIFIED.into()))),
            ("192.0.2.1", Err(AddressError::NotAllowed(Ipv4Addr::new(192, 0, 2, 1).into()))),
        ];
        for (given, expected) in cases {
            let found = parse(given, Reach::ThisMachine).map(|address| address.to_string());
            assert_eq!(found, expected.map(str::to_owned), "{given:?}");
        }
        assert_eq!(parse("0.0.0.0:80", Reach::Remote).unwrap().to_string(), "0.0.0.0:80");
    }

    /// S-010
    #[test]
    fn our_names_are_a_list() {
        let names = |bound: &str, given: &[&str]| {
            let given: Vec<String> = given.iter().map(|name| (*name).to_owned()).collect();
            authorities(bound.parse().unwrap(), &given)
        };
        assert_eq!(names("127.0.0.1:80", &[]).unwrap(), ["127.0.0.1:80", "localhost:80"]);
        assert_eq!(names("[::1]:8000", &[]).unwrap(), ["[::1]:8000", "localhost:8000"]);
        assert_eq!(names("192.0.2.1:8000", &[]).unwrap(), ["192.0.2.1:8000"]);
        let many = names("0.0.0.0:8000", &["box.example", "Box.example:8443"]).unwrap();
        let wanted = [
            "localhost:8000",
            "127.0.0.1:8000",
            "box.example:8000",
            "box.example:8443",
            "Box.example:8443",
        ];
        assert_eq!(many, wanted);
        assert!(matches!(names("0.0.0.0:8000", &[]), Err(AddressError::Nameless(_))));
        for name in ["", "*", "a b", "http://a", "a/b", "a:x", "user@a"] {
            assert!(matches!(names("127.0.0.1:1", &[name]), Err(AddressError::Name(_))), "{name}");
        }
    }
}
