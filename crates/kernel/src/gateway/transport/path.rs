//! The paths of files on a Jupyter server, and the pages that show them.
//!
//! Owns which texts are such paths, and how requests encode them. It must not know what a server
//! does with a path.

use std::fmt;

use crate::gateway::transport::url::percent_decoded;

/// Beginnings of the pages that show a file; the path of the file follows.
const PAGES: &[&str] = &["/lab/tree/", "/doc/tree/", "/notebooks/", "/edit/", "/tree/"];

/// Path of a file on a server, relative to the folder that the server serves.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ContentsPath(String);

impl ContentsPath {
    /// Parses a path as people write it. Returns `None` if the text is not the path of a file.
    pub fn parse(text: &str) -> Option<ContentsPath> {
        let text = text.trim_matches('/');
        let is_fine = |part: &str| {
            !matches!(part, "" | "." | "..") && !part.chars().any(|c| c.is_control() || c == '\\')
        };
        text.split('/').all(is_fine).then(|| ContentsPath(text.to_owned()))
    }

    /// Returns the file shown by a page with this address, such as
    /// `http://localhost:8888/lab/tree/work/a%20b.ipynb?token=…`.
    pub fn of_page(address: &str) -> Option<ContentsPath> {
        let page = address.trim().split(['?', '#']).next()?;
        let (at, length) =
            PAGES.iter().filter_map(|name| Some((page.find(name)?, name.len()))).min()?;
        let decoded = percent_decoded(&page[at + length..])?;
        let path = String::from_utf8(decoded).ok()?;
        // With shared documents, the page has the name of their drive before the path.
        ContentsPath::parse(path.strip_prefix("RTC:").unwrap_or(&path))
    }

    /// Returns the path as the server writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path encoded for a request.
    pub(crate) fn encoded(&self) -> String {
        let mut encoded = String::with_capacity(self.0.len());
        for byte in self.0.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
                encoded.push(char::from(byte));
            } else {
                encoded.push_str(&format!("%{byte:02X}"));
            }
        }
        encoded
    }
}

impl fmt::Display for ContentsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S-015: a path leads to a file below the server's folder, whatever the text holds.
    #[test]
    fn paths_are_paths() {
        let shown = |text: &str| ContentsPath::parse(text).map(|path| path.encoded());
        assert_eq!(shown("/a b/c.ipynb").as_deref(), Some("a%20b/c.ipynb"));
        assert_eq!(shown("é?#%.ipynb").as_deref(), Some("%C3%A9%3F%23%25.ipynb"));
        for text in ["", "/", "a//b", "../a", "a/..", "a\\b", "a\nb", "./a"] {
            assert_eq!(shown(text), None, "{text:?}");
        }
    }

    #[test]
    fn pages_show_files() {
        let file = |text: &str| ContentsPath::of_page(text).map(|path| path.to_string());
        let check = |text: &str, wanted: &str| assert_eq!(file(text).as_deref(), Some(wanted));
        check("http://localhost:8888/lab/tree/w/a%20b.ipynb?token=t", "w/a b.ipynb");
        check("https://h.org/user/me/notebooks/a.ipynb#x", "a.ipynb");
        check("https://h.org/lab/tree/notebooks/a.ipynb", "notebooks/a.ipynb");
        check("https://h.org/doc/tree/a.ipynb", "a.ipynb");
        check("http://h/lab/tree/RTC:w/a.ipynb", "w/a.ipynb");
        check("http://h/lab/tree/RTC%3Aa.ipynb", "a.ipynb");
        for text in
            ["http://h/lab", "http://h/lab/tree/", "http://h/lab/tree/%2e%2e/a", "http://h/"]
        {
            assert_eq!(file(text), None, "{text}");
        }
    }
}
