//! Runs of cells: what a key asks for, and what the session tells about them.
//!
//! Owns the requests and the effect of the session's events on the cells. It must not know hosts.

use std::time::Duration;

use inkcell_engine::api::{CellChoice, State};
use inkcell_engine::feeds::{KernelChange, SessionEvent};
use inkcell_engine::notebook::{CellKind, CellPlace, EditOp};

use super::cell_rows::CellRows;
use super::change::at;
use super::model::{Effect, KernelNow, KernelState, Mode, Model, RunEnd, Stop};
use crate::view::execution::shown_duration;
use crate::view::paint::Role;
use crate::words;

impl Model {
    /// The name of a cell in a run request: its id, which stays valid when cells come and go.
    pub(super) fn name_of(&self, cell: usize) -> String {
        let id = self.notebook.cell(cell).and_then(|cell| cell.id()).map(|id| id.into_owned());
        let is_plain = |id: &String| !id.is_empty() && !id.contains([',', ' ']);
        id.filter(is_plain).unwrap_or_else(|| cell.to_string())
    }

    pub(super) fn run(&mut self, choice: CellChoice, cells: std::ops::Range<usize>) -> Vec<Effect> {
        let mut any = false;
        for at in cells {
            if self.is_code(at) && !self.source(at).trim().is_empty() {
                self.cells[at].is_waiting = !self.cells[at].is_running();
                any = true;
            }
        }
        if !any {
            self.say(Role::Dim, words::notebook_screen::NO_CODE);
            return Vec::new();
        }
        self.asked += 1;
        vec![Effect::Run(choice)]
    }

    pub(super) fn run_cell(&mut self) -> Vec<Effect> {
        let cell = self.cursor;
        if !self.is_code(cell) {
            self.say(Role::Dim, words::notebook_screen::ONLY_CODE);
            return Vec::new();
        }
        let choice = CellChoice { list: Some(self.name_of(cell)), ..CellChoice::default() };
        self.run(choice, cell..cell + 1)
    }

    /// Runs the cell and selects the next one. Creates it if there is none.
    pub(super) fn run_and_go_on(&mut self) -> Vec<Effect> {
        let mut effects = if self.is_code(self.cursor) { self.run_cell() } else { Vec::new() };
        if self.cursor + 1 < self.cells.len() {
            self.select(self.cursor + 1);
        } else {
            let op =
                EditOp::Insert { at: CellPlace::End, kind: CellKind::Code, source: String::new() };
            effects.push(Effect::Change { what: "inserted", ops: vec![op] });
        }
        effects
    }

    /// Runs the cell and inserts an empty one below.
    pub(super) fn run_and_insert(&mut self) -> Vec<Effect> {
        let mut effects = if self.is_code(self.cursor) { self.run_cell() } else { Vec::new() };
        let place = CellPlace::After(at(self.cursor));
        let op = EditOp::Insert { at: place, kind: CellKind::Code, source: String::new() };
        effects.push(Effect::Change { what: "inserted", ops: vec![op] });
        effects
    }

    /// Takes the end of a run that was requested here.
    pub(super) fn run_over(&mut self, end: RunEnd) -> Vec<Effect> {
        self.asked = self.asked.saturating_sub(1);
        if self.asked == 0 {
            self.cells.iter_mut().for_each(|cell| cell.is_waiting = false);
        }
        match end {
            RunEnd::Well => {}
            RunEnd::Stopped(stop) => self.stopped(stop),
            RunEnd::Unsaved(why) => {
                self.cells.iter_mut().for_each(CellRows::is_unsaved);
                self.say(Role::Error, why);
            }
            RunEnd::Failed(why) => self.say(Role::Error, why),
        }
        // The user wanted to quit and waited only for this run.
        match self.mode {
            Mode::Quitting if !self.is_running() => vec![Effect::Quit],
            _ => Vec::new(),
        }
    }

    /// Says where a run stopped and goes there, unless the user is typing.
    fn stopped(&mut self, stop: Stop) {
        let cell = self.place_of(stop.id.as_deref()).unwrap_or(stop.cell);
        if matches!(self.mode, Mode::Browse) {
            self.select(cell);
            self.must_show_end = true;
        }
        self.say(Role::Error, stop.said);
    }

    /// Takes the state of the kernel. Events of the session that came meanwhile are as new.
    pub(super) fn kernel_is(&mut self, kernel: KernelNow) {
        if let Some(elapsed) = kernel.elapsed {
            (self.busy_since, self.busy_before) = (self.now, elapsed);
        }
        self.kernel = kernel;
    }

    /// The state of the kernel. An answer about it may be older than the events of a running cell.
    pub(super) fn kernel_state(&self) -> KernelState {
        if self.running.is_some() { KernelState::Busy } else { self.kernel.state }
    }

    /// The kernel in a few words: its state, the time of its cell, and the calls that wait.
    pub(super) fn kernel_words(&self) -> String {
        let is_awaited = self.asked > 0 && self.running.is_none();
        let state = match self.kernel_state() {
            KernelState::Busy => {
                let since = self.now.saturating_sub(self.busy_since);
                let elapsed = shown_duration(self.busy_before + since);
                match &self.running {
                    Some((_, cell, of)) if *of > 1 => {
                        words::notebook_screen::busy_with(&elapsed, (cell + 1, *of))
                    }
                    _ => words::notebook_screen::busy(&elapsed),
                }
            }
            KernelState::None | KernelState::Dead if is_awaited => "starting".to_owned(),
            KernelState::None => "no kernel".to_owned(),
            KernelState::Starting => "starting".to_owned(),
            KernelState::Idle => "idle".to_owned(),
            KernelState::Dead => "kernel died".to_owned(),
        };
        let queued = self.kernel.waiting.max(self.asked.saturating_sub(1));
        match queued {
            0 => state,
            queued => format!("{state}, {queued} queued"),
        }
    }

    /// The kernel on a screen without room for words.
    pub(super) fn kernel_mark(&self) -> &'static str {
        match self.kernel_state() {
            KernelState::Busy | KernelState::Starting => "●",
            KernelState::Dead => "✗",
            KernelState::None | KernelState::Idle => "",
        }
    }

    /// The position of the cell with this id.
    fn place_of(&self, id: Option<&str>) -> Option<usize> {
        let id = id?;
        let is_it =
            |at: &usize| self.notebook.cell(*at).and_then(|cell| cell.id()).as_deref() == Some(id);
        (0..self.cells.len()).find(is_it)
    }

    pub(super) fn session(&mut self, event: SessionEvent) {
        match event {
            SessionEvent::Began { execution, cell, of, source, notebook } => {
                self.running = Some((execution.clone(), cell, of));
                self.kernel.state = KernelState::Busy;
                (self.busy_since, self.busy_before) = (self.now, Duration::ZERO);
                // Code without a cell of this notebook runs in the same kernel.
                let Some(named) = notebook else { return };
                let at = self.place_of(named.id.as_deref()).unwrap_or(named.index);
                // A kernel runs one cell at a time, so an older run without a known end must be over.
                self.cells.iter_mut().for_each(CellRows::lost_sight);
                // A replayed event may refer to a source that has changed since.
                let is_current = self.source(at) == source.code;
                if let Some(shown) = self.cells.get_mut(at).filter(|_| is_current) {
                    shown.begin(execution, cell, source, self.now);
                }
            }
            SessionEvent::Happened { execution, cell, event } => {
                let found = self.cells.iter_mut().find(|shown| shown.is_of(&execution, cell));
                found.into_iter().for_each(|shown| shown.event(&event));
            }
            SessionEvent::Ended { execution, cell, report } => {
                let has_more = self.running.as_ref().is_some_and(|(_, at, of)| at + 1 < *of);
                self.kernel.state = match report.state {
                    State::KernelDied => KernelState::Dead,
                    _ if has_more => KernelState::Busy,
                    _ => KernelState::Idle,
                };
                let found = self.cells.iter_mut().find(|shown| shown.is_of(&execution, cell));
                found.into_iter().for_each(|shown| shown.end(&report, self.now));
                self.running = None;
            }
            // The program reads the file again after these events.
            SessionEvent::Edited(_) | SessionEvent::EditFailed(_) => {}
            SessionEvent::Kernel(change) => {
                match change {
                    KernelChange::Restarted => self.kernel.state = KernelState::Idle,
                    KernelChange::Stopped => self.kernel = KernelNow::default(),
                    KernelChange::Interrupted => {}
                }
                self.say(Role::Warning, words::session::kernel_change_here(change));
            }
        }
    }
}
