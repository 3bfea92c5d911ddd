//! `inkcell tui`: a notebook in the terminal.

use crate::args::Tui;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::tui::{Opening, run as open};

pub(crate) fn run(args: &Tui, settings: &Settings) -> Result<Exit, Failure> {
    open(&Opening { path: &args.path, settings })
}
