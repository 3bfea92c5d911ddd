//! The progress of checks, in a live line on a terminal.
//!
//! Owns the line. It must not know what a check finds.

use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

use crate::host::HostEvent;
use crate::settings::Settings;
use crate::view::fold::CallView;
use crate::view::paint::{Colour, Line, Look, Role};
use crate::view::run::{StatusLine, duration};
use crate::words;

/// The checks that are under way.
pub(super) struct Watching<'a> {
    paths: &'a [String],
    line: Option<StatusLine>,
    colour: Colour,
    running: BTreeMap<usize, (Instant, CallView)>,
    ended: usize,
}

impl<'a> Watching<'a> {
    /// Shows nothing if standard error is not a terminal, or if the caller wants no progress.
    pub(super) fn new(paths: &'a [String], is_quiet: bool, settings: &Settings) -> Watching<'a> {
        let colour = if settings.may_colour() { Colour::On } else { Colour::Off };
        let is_terminal = Look::of(io::stderr(), colour).width.is_some();
        let is_shown = is_terminal && settings.can_draw() && !is_quiet;
        let (line, running) = (is_shown.then(StatusLine::default), BTreeMap::new());
        Watching { paths, line, colour, running, ended: 0 }
    }

    pub(super) fn began(&mut self, number: usize) {
        self.running.insert(number, (Instant::now(), CallView::new(Vec::new())));
    }

    pub(super) fn apply(&mut self, number: usize, event: &HostEvent) {
        if let (Some((_, call)), Some(news)) = (self.running.get_mut(&number), event.news()) {
            call.apply(news);
        }
    }

    pub(super) fn ended(&mut self, number: usize) {
        self.running.remove(&number);
        self.ended += 1;
    }

    /// Paints the line. A terminal that is gone does not stop the checks.
    pub(super) fn show(&mut self) {
        let Some(line) = &mut self.line else { return };
        let Some((number, (began, call))) = self.running.first_key_value() else { return };
        let (done, all) = (self.ended, self.paths.len());
        let mut text = Line::of(Role::Strong, &format!("{done}/{all}"));
        text.push(Role::Plain, &format!("  {}", self.paths[*number]));
        if !call.cells().is_empty() {
            let (ended, cells) = (call.ended(), call.cells().len());
            text.push(Role::Plain, &format!("  {}", words::verify::cells_done(ended, cells)));
        }
        text.push(Role::Dim, &format!("  {}", duration(began.elapsed())));
        if self.running.len() > 1 {
            let more = self.running.len() - 1;
            text.push(Role::Dim, &format!("  {}", words::verify::more_at_once(more)));
        }
        drop(line.show(&text, self.colour));
    }

    /// Removes the line, so that other text can follow.
    pub(super) fn clear(&mut self) {
        if let Some(line) = &mut self.line {
            drop(line.clear());
        }
    }
}
