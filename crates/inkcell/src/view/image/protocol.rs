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
    /// Characters in the shape of blocks, in the colours of the picture.
    Blocks(Depth),
    None,
}

/// Colours available for text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Depth {
    True,
    /// The 256 colours of xterm.
    Indexed,
}

/// The characters that a terminal shows in the shape of blocks. Each set has those of the sets before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Glyphs {
    /// Halves and quarters, which every font has.
    Quadrants,
    /// Sixths, of Unicode 13.
    Sextants,
    /// Eighths, of Unicode 16.
    Octants,
}

impl Glyphs {
    /// The set for a setting. `auto` uses a finer set only in a terminal that is known to draw it by itself, whatever
    /// the font.
    pub(crate) fn of(word: &str, about: &Surroundings) -> Glyphs {
        match word {
            "quadrants" => Glyphs::Quadrants,
            "sextants" => Glyphs::Sextants,
            "octants" => Glyphs::Octants,
            _ => about.glyphs(),
        }
    }
}

/// The variables of a terminal, each with its value.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Surroundings {
    term: String,
    term_program: String,
    lc_terminal: String,
    colorterm: String,
    konsole_version: String,
    vte_version: String,
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
            vte_version: value("VTE_VERSION"),
            has_kitty_window: is_set("KITTY_WINDOW_ID"),
            has_wezterm_pane: is_set("WEZTERM_PANE") || is_set("WEZTERM_EXECUTABLE"),
            has_ghostty: is_set("GHOSTTY_RESOURCES_DIR"),
            is_multiplexed: is_set("TMUX") || is_set("STY") || is_set("ZELLIJ"),
        }
    }

    fn blocks(&self) -> Protocol {
        let is_true = matches!(self.colorterm.as_str(), "truecolor" | "24bit")
            || self.term.ends_with("-direct")
            || ["foot", "kitty", "ghostty"].iter().any(|name| self.term.contains(name));
        let is_indexed = self.term.contains("256color");
        match (is_true, is_indexed) {
            (true, _) => Protocol::Blocks(Depth::True),
            (false, true) => Protocol::Blocks(Depth::Indexed),
            (false, false) => Protocol::None,
        }
    }

    fn is_behind_multiplexer(&self) -> bool {
        self.is_multiplexed || ["tmux", "screen"].iter().any(|name| self.term.starts_with(name))
    }

    /// The finest characters that the terminal is known to draw. What a multiplexer shows depends on a terminal that
    /// is not known.
    fn glyphs(&self) -> Glyphs {
        let is_ghostty = self.has_ghostty || self.term.contains("ghostty");
        let is_kitty = self.has_kitty_window || self.term.contains("kitty");
        let is_wezterm = self.has_wezterm_pane || self.term_program == "WezTerm";
        // The library of GNOME's terminal and its relatives, with its version as one number: 0.64 and later.
        let is_vte = self.vte_version.parse().is_ok_and(|version: u32| version >= 6400);
        match () {
            () if self.is_behind_multiplexer() => Glyphs::Quadrants,
            () if is_ghostty => Glyphs::Octants,
            () if is_kitty || is_wezterm || is_vte || self.term.starts_with("foot") => {
                Glyphs::Sextants
            }
            () => Glyphs::Quadrants,
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
    if is_dumb {
        return Protocol::None;
    }
    if about.is_behind_multiplexer() {
        return about.blocks();
    }
    about.named().unwrap_or_else(|| about.blocks())
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
        let half = Protocol::Blocks;
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

    /// Issue 24, 12: finer characters only where they are known to work, or where the user says so.
    #[test]
    fn characters_are_chosen_with_care() {
        use Glyphs::{Octants, Quadrants, Sextants};
        let xterm = ("TERM", "xterm-256color");
        type Variables = [(&'static str, &'static str)];
        let table: [(&str, &Variables, Glyphs); 11] = [
            ("auto", &[xterm], Quadrants),
            ("auto", &[xterm, ("TERM_PROGRAM", "vscode")], Quadrants),
            ("auto", &[xterm, ("VTE_VERSION", "6200")], Quadrants),
            ("auto", &[xterm, ("VTE_VERSION", "7600")], Sextants),
            ("auto", &[xterm, ("VTE_VERSION", "7600"), ("TMUX", "/tmp/x")], Quadrants),
            ("auto", &[("TERM", "tmux-256color"), ("KITTY_WINDOW_ID", "1")], Quadrants),
            ("auto", &[("TERM", "xterm-kitty")], Sextants),
            ("auto", &[("TERM", "xterm-ghostty")], Octants),
            ("octants", &[xterm, ("TMUX", "/tmp/x")], Octants),
            ("sextants", &[xterm], Sextants),
            ("quadrants", &[("TERM", "xterm-ghostty")], Quadrants),
        ];
        for (word, variables, wanted) in table {
            assert_eq!(Glyphs::of(word, &about(variables)), wanted, "{word} {variables:?}");
        }
    }
}
