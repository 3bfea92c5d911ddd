//! What a kernel begins with, apart from its interpreter and environment.
//!
//! Owns the choices. What they mean in Python is the runner's business.

use std::path::PathBuf;

/// What a kernel begins with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Startup {
    /// Whose rules cells follow.
    pub shell: Shell,
    /// Which helpers its namespace starts with.
    pub prelude: Prelude,
    /// Extension modules to load, by name and path, in order.
    pub modules: Vec<(String, PathBuf)>,
    /// Modules to have imported before the first cell, where that costs the cell nothing.
    pub preload: Vec<String>,
}

/// Whose rules cells follow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shell {
    /// The runner's own, which needs nothing.
    Lite,
    /// The interpreter's own IPython, with every magic and extension.
    IPython,
}

impl Shell {
    /// The name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Shell::Lite => "lite",
            Shell::IPython => "ipython",
        }
    }
}

/// Which helpers a kernel's namespace starts with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prelude {
    /// All of them.
    Full,
    /// Those for the shell and for displays.
    Minimal,
    /// None.
    Off,
}

impl Prelude {
    /// The name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Prelude::Full => "full",
            Prelude::Minimal => "minimal",
            Prelude::Off => "off",
        }
    }
}
