//! `inkcell tui`: a notebook in the terminal.

use std::sync::Arc;

use crate::app::python;
use crate::args::Tui;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::term::tui::{self, Opening};

pub(crate) fn run(args: &Tui, settings: &Arc<Settings>) -> Result<Exit, Failure> {
    tui::run(&Arc::new(Opening {
        path: args.path.clone(),
        settings: Arc::clone(settings),
        host: args.host,
        wanted: python::wanted(&args.python, &args.kernel, settings),
        kernel: (&args.kernel).into(),
    }))
}
