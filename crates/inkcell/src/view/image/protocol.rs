//! The protocol by which a terminal draws pictures.
//!
//! Owns the knowledge about terminals, from their variables, passed in as values. It must not read the environment
//! or a terminal.

/// How a terminal can show pictures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Protocol {
    /// The graphics protocol of kitty.
    Kitty,
    /// A file within the text, as in iTerm2.
    Iterm,
    /// Bands of six rows of pixels, from DEC terminals.
    Sixel,
    /// Two pixels in each character, as colours of text.
    HalfBlocks(Depth),
    None,
}

/// Colours available for text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Depth {
    True,
    /// The 256 colours of xterm.
    Indexed,
}

/// The variables of a terminal, each with its value.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Surroundings {
    term: String,
    term_program: String,
    lc_terminal: String,
    colorterm: String,
    konsole_version: String,
    has_kitty_window: bool,
    has_wezterm_pane: bool,
    has_ghostty: bool,
    is_multiplexed: bool,
}

impl Surroundings {
    /// Reads the variables through `variable`.
    pub(crate) fn of(variable: impl Fn(&str) -> Option<String>) -> Surroundings {
        let value = |name: &str| variable(name).unwrap_or_default();
        let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
        Surroundings {
            term: value("TERM"),
            term_program: value("TERM_PROGRAM"),
            lc_terminal: value("LC_TERMINAL"),
            colorterm: value("COLORTERM"),
            konsole_version: value("KONSOLE_VERSION"),
            has_kitty_window: is_set("KITTY_WINDOW_ID"),
            has_wezterm_pane: is_set("WEZTERM_PANE") || is_set("WEZTERM_EXECUTABLE"),
            has_ghostty: is_set("GHOSTTY_RESOURCES_DIR"),
            is_multiplexed: is_set("TMUX") || is_set("STY") || is_set("ZELLIJ"),
        }
    }

    fn half_blocks(&self) -> Protocol {
        let is_true = matches!(self.colorterm.as_str(), "truecolor" | "24bit")
            || self.term.ends_with("-direct")
            || ["foot", "kitty", "ghostty"].iter().any(|name| self.term.contains(name));
        let is_indexed = self.term.contains("256color");
        match (is_true, is_indexed) {
            (true, _) => Protocol::HalfBlocks(Depth::True),
            (false, true) => Protocol::HalfBlocks(Depth::Indexed),
            (false, false) => Protocol::None,
        }
    }

    /// The protocol of a terminal that its variables identify.
    fn named(&self) -> Option<Protocol> {
        let (term, program) = (self.term.as_str(), self.term_program.as_str());
        let is_kitty = self.has_kitty_window || term.contains("kitty");
        let is_ghostty = self.has_ghostty || term.contains("ghostty") || program == "ghostty";
        // Konsole supports kitty's protocol since 22.04. Its variable has the version as one number.
        let is_konsole = self.konsole_version.parse().is_ok_and(|version: u32| version >= 220_400);
        // WezTerm supports iTerm2's protocol without any setting.
        let is_wezterm = self.has_wezterm_pane || program == "WezTerm";
        let is_iterm = program == "iTerm.app" || self.lc_terminal == "iTerm2";
        match () {
            () if is_wezterm || is_iterm || program == "mintty" => Some(Protocol::Iterm),
            () if is_kitty || is_ghostty || is_konsole => Some(Protocol::Kitty),
            () if term.starts_with("foot") || term.starts_with("mlterm") => Some(Protocol::Sixel),
            () => None,
        }
    }
}

/// Chooses the protocol. Only text is sure to get through a multiplexer.
pub(crate) fn protocol(about: &Surroundings) -> Protocol {
    let is_dumb = about.term.is_empty() || about.term == "dumb";
    let is_multiplexer = ["tmux", "screen"].iter().any(|name| about.term.starts_with(name));
    if is_dumb {
        return Protocol::None;
    }
    if about.is_multiplexed || is_multiplexer {
        return about.half_blocks();
    }
    about.named().unwrap_or_else(|| about.half_blocks())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(variables: &[(&str, &str)]) -> Surroundings {
        Surroundings::of(|name| {
            let found = variables.iter().find(|(one, _)| *one == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    /// B:T-17
    #[test]
    fn terminals_are_known_by_what_they_set() {
        let half = Protocol::HalfBlocks;
        let table: [(&[(&str, &str)], Protocol); 18] = [
            (&[], Protocol::None),
            (&[("TERM", "dumb"), ("COLORTERM", "truecolor")], Protocol::None),
            (&[("TERM", "linux")], Protocol::None),
            (&[("TERM", "xterm-256color")], half(Depth::Indexed)),
            (&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")], half(Depth::True)),
            (&[("TERM", "xterm-direct")], half(Depth::True)),
            (&[("TERM", "xterm-kitty")], Protocol::Kitty),
            (&[("TERM", "xterm-256color"), ("KITTY_WINDOW_ID", "1")], Protocol::Kitty),
            (&[("TERM", "xterm-ghostty")], Protocol::Kitty),
            (&[("TERM", "xterm-256color"), ("KONSOLE_VERSION", "230801")], Protocol::Kitty),
            (&[("TERM", "xterm-256color"), ("KONSOLE_VERSION", "210801")], half(Depth::Indexed)),
            (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "iTerm.app")], Protocol::Iterm),
            (&[("TERM", "xterm-256color"), ("LC_TERMINAL", "iTerm2")], Protocol::Iterm),
            (&[("TERM", "xterm-256color"), ("WEZTERM_PANE", "0")], Protocol::Iterm),
            (&[("TERM", "foot")], Protocol::Sixel),
            (&[("TERM", "tmux-256color"), ("KITTY_WINDOW_ID", "1")], half(Depth::Indexed)),
            (
                &[("TERM", "xterm-kitty"), ("TMUX", "/tmp/x"), ("COLORTERM", "24bit")],
                half(Depth::True),
            ),
            (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "vscode")], half(Depth::Indexed)),
        ];
        for (variables, wanted) in table {
            assert_eq!(protocol(&about(variables)), wanted, "{variables:?}");
        }
    }
}
