//! The words of `inkcell run`: notebooks, patterns of paths, parameters of a matrix, addresses of servers.
//!
//! Owns the classification of a word. It looks at the disk, as a pattern may be the name of a file.

use std::path::Path;

use crate::app::gateways::is_address;
use crate::args::Run;
use crate::batch::is_axis;
use crate::glob::is_glob;

impl Run {
    /// Returns whether an argument is not a notebook and belongs to the matrix.
    pub(crate) fn is_axis(&self, given: &str) -> bool {
        !self.batch.matrix.is_empty() && is_axis(given)
    }

    /// Returns whether this is more than one notebook run once.
    pub(crate) fn is_batch(&self) -> bool {
        let path = Path::new(&self.path);
        let is_pattern = is_glob(&self.path) && !path.exists();
        let is_many = !self.is_elsewhere() && (is_pattern || path.is_dir());
        !self.more.is_empty() || self.batch.is_wanted() || is_many
    }

    /// The notebooks that were named one by one, if there are several and no option says where their outputs go.
    pub(crate) fn undecided(&self) -> Vec<&str> {
        let is_named = |given: &&str| {
            let path = Path::new(given);
            !self.is_axis(given) && (path.exists() || !is_glob(given)) && !path.is_dir()
        };
        let mut named: Vec<&str> = self.given().filter(is_named).collect();
        named.dedup();
        let is_decided = self.in_place || self.output.is_some() || named.len() < 2;
        if is_decided { Vec::new() } else { named }
    }

    /// Returns whether the notebook is on a server; there, text that looks like a pattern is a name, or the query
    /// of an address.
    fn is_elsewhere(&self) -> bool {
        self.on_server || is_address(&self.path)
    }

    /// The notebook's own folder, if it is on this machine.
    pub(crate) fn folder(&self) -> Option<&Path> {
        if self.is_elsewhere() {
            return None;
        }
        let first = self.given().find(|given| !self.is_axis(given)).unwrap_or(&self.path);
        Path::new(first).parent().filter(|folder| !folder.as_os_str().is_empty())
    }
}
