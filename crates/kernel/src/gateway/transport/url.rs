//! The address of a gateway, as people write it and paste it.
//!
//! Owns addresses and the tokens that come with them. The prefix of a server is kept; the path of
//! one of its pages is removed. Pure, except for reading a token file. It must not know how a
//! request is sent.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;

/// Pages of a Jupyter server. The path in front of one of these is the prefix of the server.
const PAGES: &[&str] = &[
    "api",
    "consoles",
    "doc",
    "edit",
    "files",
    "lab",
    "login",
    "logout",
    "nbclassic",
    "notebooks",
    "retro",
    "terminals",
    "tree",
    "view",
    "voila",
];

/// Longest token file that is read; a longer file is something else.
const TOKEN_FILE_BYTES: u64 = 64 << 10;

/// Protection of the connection: plain text or TLS.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Scheme {
    Http,
    Https,
}

/// Permission for plain text to a gateway on another machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlainHttp {
    /// Plain text only to this machine.
    OnlyHere,
    /// Plain text to any machine. Anyone between the machines can read the token and run code.
    Anywhere,
}

/// Address of a gateway, with the prefix of its server.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct GatewayUrl {
    scheme: Scheme,
    /// Host name, or an IP address without brackets.
    host: String,
    port: u16,
    /// Empty, or begins with `/` and does not end with it.
    prefix: String,
}

/// A secret that opens a gateway. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// Reason why a text is not the address of a gateway. No variant holds the text, which may contain
/// a token.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// The text does not begin with `http://` or `https://`.
    #[error(
        "the address of a gateway begins with https:// (or http:// for one on this machine), such as \
         https://hub.example.org/user/me/"
    )]
    Scheme,
    /// The host is missing or malformed.
    #[error("the address of a gateway needs a host, such as https://hub.example.org/")]
    Host,
    /// The port is not a valid number.
    #[error("the port of a gateway is a number from 1 to 65535")]
    Port,
    /// The text has a user name and a password before the host.
    #[error(
        "the address of a gateway must not hold a user name or password; give the token by \
         PI_PYTHON_GATEWAY_TOKEN instead"
    )]
    UserInfo,
    /// Servers read the path in different ways.
    #[error("the path of a gateway's address must not hold \"..\", \"//\", a backslash or a space")]
    Path,
    /// The address is a page of a Hub that belongs to no server.
    #[error(
        "this is a page of the Hub and not of a server; start your server and give its address, such as \
         https://hub.example.org/user/NAME/"
    )]
    HubPage,
    /// Plain text to another machine is not allowed.
    #[error(
        "{host} is not this machine, and over http:// anyone on the way can read the token and run \
         code; use https://, or allow it: set gateway.insecure to on"
    )]
    Insecure {
        /// Host of the other machine.
        host: String,
    },
    /// The token has characters that a request cannot carry.
    #[error("the token of a gateway must be of visible ASCII characters, without spaces")]
    Token,
}

/// Reason why a file gave no token. No variant holds the contents of the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenFileError {
    /// The file cannot be read.
    #[error("the token of the gateway cannot be read from {path}: {source}")]
    Unreadable {
        /// Path of the token file.
        path: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The file holds no token.
    #[error("{path} holds no token: its first line must be the token, of visible ASCII characters")]
    NoToken {
        /// Path of the token file.
        path: String,
    },
}

impl Token {
    /// Parses a token. Returns `None` for empty text.
    pub fn parse(text: &str) -> Result<Option<Token>, UrlError> {
        let text = text.trim();
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(UrlError::Token);
        }
        Ok((!text.is_empty()).then(|| Token(text.to_owned())))
    }

    /// Reads a token from the first line of a file.
    pub fn read(path: &Path) -> Result<Token, TokenFileError> {
        let path_text = || path.display().to_string();
        let unreadable = |source| TokenFileError::Unreadable { path: path_text(), source };
        let mut text = String::new();
        // Refuse a pipe: reading it would block.
        let is_file = std::fs::metadata(path).map_err(unreadable)?.is_file();
        if !is_file {
            return Err(unreadable(io::Error::other("not a regular file")));
        }
        let file = File::open(path).map_err(unreadable)?;
        file.take(TOKEN_FILE_BYTES).read_to_string(&mut text).map_err(unreadable)?;
        let line = text.lines().next().unwrap_or("");
        match Token::parse(line) {
            Ok(Some(token)) => Ok(token),
            _ => Err(TokenFileError::NoToken { path: path_text() }),
        }
    }

    /// Returns the value of the `Authorization` header of a request.
    pub(crate) fn header(&self) -> String {
        format!("token {}", self.0)
    }

    /// Returns the secret itself, for the environment of a gateway that inkcell starts.
    pub(crate) fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl GatewayUrl {
    /// Parses an address, and the token that was pasted with it.
    pub fn parse(text: &str, plain: PlainHttp) -> Result<(GatewayUrl, Option<Token>), UrlError> {
        let text = text.trim();
        let (scheme, rest) = scheme(text)?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        if authority.contains('@') {
            return Err(UrlError::UserInfo);
        }
        let (host, port) = host_and_port(authority)?;
        let port = port.unwrap_or(match scheme {
            Scheme::Http => 80,
            Scheme::Https => 443,
        });
        let rest = rest.split('#').next().unwrap_or("");
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let url = GatewayUrl { scheme, host, port, prefix: prefix(path)? };
        if scheme == Scheme::Http && plain == PlainHttp::OnlyHere && !url.is_here() {
            return Err(UrlError::Insecure { host: url.host });
        }
        Ok((url, token(query)?))
    }

    /// Returns the address of a gateway of our own, on this machine.
    pub(crate) fn local(port: u16) -> GatewayUrl {
        let host = "127.0.0.1".to_owned();
        GatewayUrl { scheme: Scheme::Http, host, port, prefix: String::new() }
    }

    /// Returns `true` if the host is this machine.
    pub fn is_here(&self) -> bool {
        self.host == "localhost" || self.host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    }

    pub(crate) fn scheme(&self) -> Scheme {
        self.scheme
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the value of the `Host` header of a request.
    pub(crate) fn authority(&self) -> String {
        let host =
            if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.scheme, self.port) {
            (Scheme::Http, 80) | (Scheme::Https, 443) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }

    /// Returns the request path for `path` below the server's prefix; `path` begins with `/`.
    pub(crate) fn path(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }
}

impl fmt::Display for GatewayUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        write!(f, "{scheme}://{}{}", self.authority(), self.prefix)
    }
}

impl fmt::Debug for GatewayUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn scheme(text: &str) -> Result<(Scheme, &str), UrlError> {
    let after = |prefix: &str| {
        let head = text.get(..prefix.len())?;
        head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
    };
    match (after("https://"), after("http://")) {
        (Some(rest), _) => Ok((Scheme::Https, rest)),
        (None, Some(rest)) => Ok((Scheme::Http, rest)),
        (None, None) => Err(UrlError::Scheme),
    }
}

fn host_and_port(authority: &str) -> Result<(String, Option<u16>), UrlError> {
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (host, port) = rest.split_once(']').ok_or(UrlError::Host)?;
        let ip: Ipv6Addr = host.parse().map_err(|_| UrlError::Host)?;
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => None,
            None => return Err(UrlError::Host),
            some => some,
        };
        (ip.to_string(), port)
    } else {
        let (host, port) =
            authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port)));
        let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        if host.is_empty() || !host.bytes().all(is_fine) {
            return Err(UrlError::Host);
        }
        (host.to_ascii_lowercase(), port)
    };
    let digits = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let port = match port {
        None | Some("") => None,
        Some(port) if !digits(port) => return Err(UrlError::Port),
        Some(port) => match port.parse() {
            Ok(0) | Err(_) => return Err(UrlError::Port),
            Ok(port) => Some(port),
        },
    };
    Ok((host, port))
}

/// Returns the part of the path in front of the first page.
fn prefix(path: &str) -> Result<String, UrlError> {
    let path = path.trim_end_matches('/');
    let Some(path) = path.strip_prefix('/') else { return Ok(String::new()) };
    let mut prefix = String::new();
    let mut before = "";
    for segment in path.split('/') {
        let is_name = before == "user";
        if PAGES.contains(&segment) && !is_name {
            break;
        }
        if segment == "hub" && !is_name {
            return Err(UrlError::HubPage);
        }
        let is_fine = |byte: u8| byte.is_ascii_graphic() && !b"\\\"<>^`{|}".contains(&byte);
        let decoded = percent_decoded(segment).ok_or(UrlError::Path)?;
        let is_step = matches!(decoded.as_slice(), b"" | b"." | b"..");
        let hides = decoded.iter().any(|byte| b"/\\".contains(byte) || byte.is_ascii_control());
        if is_step || hides || !segment.bytes().all(is_fine) {
            return Err(UrlError::Path);
        }
        prefix.push('/');
        prefix.push_str(segment);
        before = segment;
    }
    Ok(prefix)
}

fn token(query: &str) -> Result<Option<Token>, UrlError> {
    let found = query.split('&').find_map(|pair| pair.strip_prefix("token="));
    let Some(found) = found else { return Ok(None) };
    let bytes = percent_decoded(found).ok_or(UrlError::Token)?;
    Token::parse(&String::from_utf8(bytes).map_err(|_| UrlError::Token)?)
}

pub(crate) fn percent_decoded(text: &str) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        let value = digit()? << 4 | digit()?;
        decoded.push(u8::try_from(value).ok()?);
    }
    Some(decoded)
}

#[cfg(test)]
mod tests;
