//! Existing results: a call by its id, and stored output by parts.
//!
//! Owns the limits of one answer. `artifact/` reads the artifacts.

use std::time::Duration;

use inkcell_kernel::{ExecEvent, StreamName};
use inkcell_notebook::{Form, LineRange, PageLimits};

use crate::api::{
    ArtifactForm, ArtifactFound, ArtifactPart, ArtifactReport, LineCut, LineHit, LinesPiece,
    ResultReport, ResultRequest,
};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::output::{Excerpt, ModelOutput, Notice, OutputSink, Spill};
use crate::store::{
    Artifact, ArtifactError, ArtifactState, GrepHit, GrepLimits, JsonFound, JsonPath, LinesRead,
    Piece, Scope, SearchPattern,
};

/// The limits of one answer to a search: the matching lines, and the bytes of each.
pub(super) const GREP: GrepLimits = GrepLimits { max_hits: 200, max_hit_bytes: 500 };

impl Engine {
    /// Makes the excerpt of a stored text again, for a reader that wants more of it, or its end.
    pub fn excerpt_of(&self, id: &str, excerpt: Excerpt) -> Result<ModelOutput, EngineError> {
        let found = self.artifacts().find_reference(id, Scope::All)?;
        let limits = self.shared.config.output.excerpt(excerpt);
        let mut sink = OutputSink::new(limits, Spill::none());
        found.cleaned().pass::<ArtifactError>(&mut |piece| {
            let data = piece.as_bytes().to_vec().into();
            sink.push(&ExecEvent::Stream { name: StreamName::Stdout, data });
            Ok(())
        })?;
        let mut output = sink.finish();
        for notice in &mut output.notices {
            if let Notice::Truncated { artifact, .. } = notice {
                *artifact = Some(found.info().id.to_string());
            }
        }
        Ok(output)
    }

    /// Returns a call in its current state, or a part of stored output.
    pub async fn stored(&self, request: ResultRequest) -> Result<ResultReport, EngineError> {
        match request {
            ResultRequest::Execution { id, wait } => {
                let report = self.find_call(&id)?.wait(wait.unwrap_or(Duration::ZERO)).await;
                Ok(ResultReport::Execution(Box::new(report)))
            }
            ResultRequest::Artifact { id, part, form, max_bytes } => {
                let max_bytes = max_bytes.unwrap_or(PageLimits::STANDARD.max_bytes);
                let page = PageLimits { max_bytes, ..PageLimits::STANDARD };
                let artifacts = self.artifacts().clone();
                let read = move || -> Result<ArtifactReport, ArtifactError> {
                    report(&artifacts.find_reference(&id, Scope::All)?, &part, (form, page))
                };
                // Searching a large file takes a while, and other callers must not wait.
                let read = tokio::task::spawn_blocking(read).await.map_err(|error| {
                    let source = std::io::Error::other(error);
                    EngineError::Io { path: "artifact".to_owned(), what: "read it", source }
                })??;
                Ok(ResultReport::Artifact(Box::new(read)))
            }
        }
    }
}

fn report(
    artifact: &Artifact,
    part: &ArtifactPart,
    how: (ArtifactForm, PageLimits),
) -> Result<ArtifactReport, ArtifactError> {
    let info = artifact.info();
    Ok(ArtifactReport {
        id: info.id.to_string(),
        kind: info.kind.clone(),
        title: info.title.clone(),
        total_bytes: info.bytes,
        problem: match &info.state {
            ArtifactState::Complete => None,
            ArtifactState::Writing => Some("it is still being written".to_owned()),
            ArtifactState::Incomplete(incomplete) => Some(incomplete.to_string()),
        },
        path: info.path.clone(),
        found: read_part(artifact, part, how)?,
    })
}

fn read_part(
    artifact: &Artifact,
    part: &ArtifactPart,
    (form, page): (ArtifactForm, PageLimits),
) -> Result<ArtifactFound, ArtifactError> {
    Ok(match part {
        ArtifactPart::Whole { offset } => {
            let read = artifact.bytes(*offset, page.max_bytes, Form::Text)?;
            let (offset, bytes, next_offset) = (read.offset, read.bytes, read.next_offset);
            ArtifactFound::Bytes { offset, bytes, next_offset }
        }
        ArtifactPart::Lines { start, end } => {
            let range = LineRange { start: *start, end: *end };
            let read = read_lines(artifact, &[range], (form, page))?;
            let cut = |cut: crate::store::CutLine| LineCut {
                line: cut.line,
                shown_bytes: cut.shown_bytes,
                line_bytes: cut.line_bytes,
                next_offset: cut.next_offset,
            };
            ArtifactFound::Lines {
                pieces: read.pieces.into_iter().map(lines_piece).collect(),
                total_lines: read.total_lines,
                cut: read.cut.map(cut),
                next_line: read.next_line,
            }
        }
        ArtifactPart::Grep { pattern, lines, context } => {
            let ranges = lines.iter().map(|(start, end)| LineRange { start: *start, end: *end });
            let pattern = SearchPattern::new(pattern)?.within(ranges.collect());
            let read = match form {
                ArtifactForm::Clean => artifact.cleaned().grep(&pattern, GREP)?,
                ArtifactForm::Raw => artifact.grep(&pattern, GREP)?,
            };
            let ranges = around(&read.hits, *context);
            let context = match ranges.is_empty() {
                true => Vec::new(),
                false => read_lines(artifact, &ranges, (form, page))?.pieces,
            };
            ArtifactFound::Grep {
                hits: hits_within(read.hits, page.max_bytes),
                matching_lines: read.matching_lines,
                total_lines: read.total_lines,
                context: context.into_iter().map(lines_piece).collect(),
            }
        }
        ArtifactPart::Json { path } => {
            match artifact.json(&JsonPath::parse(path)?, page.max_bytes)? {
                JsonFound::Value(read) => ArtifactFound::Json {
                    kind: read.kind.name().to_owned(),
                    bytes: read.bytes,
                    offset: read.offset,
                    value_bytes: read.total_bytes,
                    entries: read.entries,
                },
                JsonFound::Made { text, shown, count } => {
                    ArtifactFound::Made { text, shown, count }
                }
                JsonFound::Nothing { followed, kind, entries, keys } => {
                    ArtifactFound::NoValue { followed, kind: kind.name().to_owned(), entries, keys }
                }
            }
        }
    })
}

fn read_lines(
    artifact: &Artifact,
    ranges: &[LineRange],
    (form, page): (ArtifactForm, PageLimits),
) -> Result<LinesRead, ArtifactError> {
    match form {
        ArtifactForm::Clean => artifact.cleaned().lines(ranges, page),
        ArtifactForm::Raw => artifact.lines(ranges, page),
    }
}

fn lines_piece(piece: Piece) -> LinesPiece {
    LinesPiece { first: piece.first, last: piece.last, bytes: piece.bytes }
}

/// The first of these hits that fit into this many bytes.
pub(super) fn hits_within(hits: Vec<GrepHit>, max_bytes: usize) -> Vec<LineHit> {
    let mut room = max_bytes;
    let fits = |hit: &LineHit| {
        room = room.saturating_sub(hit.text.len());
        room > 0
    };
    let hit = |hit: GrepHit| LineHit { line: hit.line, text: hit.text, is_cut: hit.is_cut };
    hits.into_iter().map(hit).take_while(fits).collect()
}

/// The lines around these hits, without overlaps; none without context.
pub(super) fn around(hits: &[GrepHit], context: u64) -> Vec<LineRange> {
    let mut ranges: Vec<LineRange> = Vec::new();
    for hit in hits.iter().filter(|_| context > 0) {
        let place = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
        let start = place(hit.line.saturating_sub(context).max(1));
        let end = Some(place(hit.line.saturating_add(context)));
        match ranges.last_mut() {
            Some(last) if last.end.is_some_and(|end| start <= end.saturating_add(1)) => {
                last.end = end;
            }
            _ => ranges.push(LineRange { start, end }),
        }
    }
    ranges
}
