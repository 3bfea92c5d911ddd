//! A watched session: executions and edits of the notebook, in order.
//!
//! Owns the assignment of events to blocks, the end of a block, and the number of blocks. `execution` and
//! `notebook_edit` render them. It must not know the source of events, or terminals.

pub(crate) mod piped;

use std::collections::VecDeque;
use std::path::PathBuf;

use inkcell_engine::api::{CellKernel, CellReport, CellSource, ExecutionId};
use inkcell_engine::feeds::SessionEvent;
use inkcell_engine::kernel::ExecEvent;

use super::execution::block::{self, PREVIEW, Place};
use super::execution::cache::Cache;
use super::execution::output::{EXPANDS, Layout, remark};
use super::execution::{Area, Page};
use super::fold::cell::CallCell;
use super::image::Gallery;
use super::notebook_edit::{Edit, NotebookEdit};
use crate::view::paint::{Frame, Line, Role};
use crate::words;

/// Blocks kept at most. Older ones are dropped.
const MAX_BLOCKS: usize = 200;

/// A cell: its call and its index there.
type Key = (ExecutionId, usize);

/// The visible history of a session.
pub(crate) struct Transcript {
    cwd: PathBuf,
    gallery: Option<Gallery>,
    blocks: VecDeque<Block>,
    forgotten: u64,
}

enum Block {
    Cell(Box<Run>),
    Edit(Box<NotebookEdit>),
    Remark(Role, String),
}

/// A cell that runs or has run.
struct Run {
    key: Key,
    place: Place,
    cell: CallCell,
    cache: Cache,
    is_over: bool,
    /// Events were missed since its start, possibly including its end.
    may_be_over: bool,
}

impl Block {
    fn is_over(&self) -> bool {
        match self {
            Block::Cell(run) => run.is_over,
            Block::Edit(_) | Block::Remark(..) => true,
        }
    }

    fn rows(&mut self, area: Area, gallery: Option<&Gallery>) -> Vec<Line> {
        match self {
            Block::Cell(run) => {
                let layout = Layout { area, preview: PREVIEW, gallery, more: EXPANDS };
                let (cell, place) = (&run.cell, run.place);
                let make = || block::rows(cell, place, layout);
                match gallery {
                    None => run.cache.rows(area, cell.revision(), make).to_vec(),
                    Some(_) => make(),
                }
            }
            Block::Edit(edit) => edit.rows(area).to_vec(),
            Block::Remark(role, text) => remark(*role, text, area.width),
        }
    }
}

impl Transcript {
    /// Creates the transcript of a session in this folder.
    pub(crate) fn new(cwd: PathBuf) -> Transcript {
        Transcript { cwd, gallery: None, blocks: VecDeque::new(), forgotten: 0 }
    }

    /// Draws pictures in settled blocks.
    pub(crate) fn with_gallery(self, gallery: Gallery) -> Transcript {
        Transcript { gallery: Some(gallery), ..self }
    }

    /// Takes the next event, in order.
    pub(crate) fn take(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::Began { execution, cell, of, source, .. } => {
                self.begin((execution.clone(), *cell), *of, source.clone());
            }
            SessionEvent::Happened { execution, cell, event } => {
                self.happened(&(execution.clone(), *cell), event);
            }
            SessionEvent::Ended { execution, cell, report } => {
                self.end(&(execution.clone(), *cell), report);
            }
            SessionEvent::Edited(edit) => {
                let edit = NotebookEdit::new(Edit::of(edit, &self.cwd));
                self.push(Block::Edit(Box::new(edit)));
            }
            SessionEvent::EditFailed(failure) => {
                let edit = NotebookEdit::new(Edit::of_failure(failure, &self.cwd));
                self.push(Block::Edit(Box::new(edit)));
            }
            SessionEvent::Kernel(change) => {
                self.push(Block::Remark(
                    Role::Warning,
                    words::session::kernel_change(*change).to_owned(),
                ));
            }
        }
    }

    /// Marks the place of dropped events in every running cell. If no cell runs, adds a remark instead.
    pub(crate) fn missed(&mut self, events: u64) {
        let mut is_told = false;
        for run in self.runs().filter(|run| !run.is_over) {
            run.cell.missed(events);
            run.may_be_over = true;
            is_told = true;
        }
        if !is_told {
            self.push(Block::Remark(Role::Dim, words::session::missed(events)));
        }
    }

    /// Renders all kept blocks.
    pub(crate) fn frame(&mut self, area: Area) -> Frame {
        let area = area.at_least_one_wide();
        let mut lines: Vec<Line> = Vec::new();
        if self.forgotten > 0 {
            lines.extend(remark(
                Role::Dim,
                &words::session::blocks_forgotten(self.forgotten),
                area.width,
            ));
        }
        for block in &mut self.blocks {
            if !lines.is_empty() {
                lines.push(Line::default());
            }
            // Pictures are drawn once, when their block settles and is no longer repainted.
            lines.extend(block.rows(area, None));
        }
        Frame { lines }
    }

    /// Takes out finished blocks, up to the first running one. They never change again, so a caller prints
    /// them once and lets them scroll away. Each ends with an empty line.
    pub(crate) fn settled(&mut self, area: Area) -> Frame {
        let area = area.at_least_one_wide();
        let mut lines = Vec::new();
        while self.blocks.front().is_some_and(Block::is_over) {
            if let Some(mut block) = self.blocks.pop_front() {
                lines.extend(block.rows(area, self.gallery.as_ref()));
            }
            lines.push(Line::default());
        }
        Frame { lines }
    }

    /// The same, but keeps the last block, since a user may still expand it.
    pub(crate) fn settled_before_last(&mut self, area: Area) -> Frame {
        let last = self.blocks.pop_back();
        let frame = self.settled(area);
        self.blocks.extend(last);
        frame
    }

    /// Ends all blocks, since no event will follow.
    pub(crate) fn close(&mut self) {
        for run in self.runs() {
            run.is_over = true;
        }
    }

    /// Id of the last stored output, for a view that pages through it.
    pub(crate) fn artifact(&self) -> Option<&str> {
        self.blocks.iter().rev().find_map(|block| match block {
            Block::Cell(run) => run.cell.artifact(),
            Block::Edit(_) | Block::Remark(..) => None,
        })
    }

    /// Shows a page of that output in the expanded view (B:T-11). `None` goes back to the preview.
    pub(crate) fn turn_to(&mut self, page: Option<Page>) {
        let run = self.runs().filter(|run| run.cell.artifact().is_some()).last();
        if let Some(run) = run {
            run.cell.page(page);
        }
    }

    /// Counts rendered blocks (B:T-04).
    #[cfg(test)]
    pub(crate) fn renders(&self) -> u64 {
        let renders = self.blocks.iter().map(|block| match block {
            Block::Cell(run) => run.cache.renders(),
            Block::Edit(edit) => edit.renders(),
            Block::Remark(..) => 0,
        });
        renders.sum()
    }

    fn runs(&mut self) -> impl Iterator<Item = &mut Run> {
        self.blocks.iter_mut().filter_map(|block| match block {
            Block::Cell(run) => Some(run.as_mut()),
            Block::Edit(_) | Block::Remark(..) => None,
        })
    }

    fn begin(&mut self, key: Key, of: usize, source: CellSource) {
        // A session runs one cell at a time. A new start proves that earlier cells are over.
        for run in self.runs().filter(|run| run.may_be_over) {
            run.is_over = true;
        }
        let place = Place { number: key.1 + 1, of };
        let cell = CallCell::new(source);
        let run =
            Run { key, place, cell, cache: Cache::default(), is_over: false, may_be_over: false };
        self.push(Block::Cell(Box::new(run)));
    }

    /// The block of a cell. A cell whose start was missed gets a block without code.
    fn run(&mut self, key: &Key) -> Option<&mut Run> {
        if !self.runs().any(|run| run.key == *key) {
            let source = CellSource {
                code: String::new(),
                title: None,
                timeout: None,
                kernel: CellKernel::Same,
            };
            self.begin(key.clone(), key.1 + 1, source);
        }
        self.runs().find(|run| run.key == *key)
    }

    fn happened(&mut self, key: &Key, event: &ExecEvent) {
        if let Some(run) = self.run(key) {
            run.cell.event(event);
        }
    }

    fn end(&mut self, key: &Key, report: &CellReport) {
        if let Some(run) = self.run(key) {
            run.cell.report(report);
            run.is_over = true;
        }
    }

    fn push(&mut self, block: Block) {
        self.blocks.push_back(block);
        if self.blocks.len() > MAX_BLOCKS {
            self.blocks.pop_front();
            self.forgotten += 1;
        }
    }
}

#[cfg(test)]
mod tests;
