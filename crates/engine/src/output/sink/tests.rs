//! Events in, output for a reader out; disks that fail; storms.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use inkcell_kernel::{MimeData, PyError};
use proptest::prelude::*;

use super::super::keep::spill::{ArtifactLimit, Content, SpillFile};
use super::super::keep::window::Repeats;
use super::super::model::{ArtifactRef, RichKind};
use super::*;

mod long;

/// A store in memory that accepts `room` bytes in all.
#[derive(Clone, Default)]
struct Disk {
    files: Arc<Mutex<Vec<Vec<u8>>>>,
    room: Option<usize>,
}

struct DiskFile {
    disk: Disk,
    at: usize,
}

impl Write for DiskFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut files = self.disk.files.lock().unwrap();
        let used: usize = files.iter().map(Vec::len).sum();
        let room = self.disk.room.map_or(bytes.len(), |room| room - used).min(bytes.len());
        if room == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        files[self.at].extend_from_slice(&bytes[..room]);
        Ok(room)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Disk {
    fn with_room(room: usize) -> Disk {
        Disk { room: Some(room), ..Disk::default() }
    }

    fn spill(&self) -> Spill {
        let disk = self.clone();
        Spill::new(move |_: Content<'_>| {
            let mut files = disk.files.lock().unwrap();
            files.push(Vec::new());
            let at = files.len() - 1;
            let file = Box::new(DiskFile { disk: disk.clone(), at });
            Ok(SpillFile { id: format!("a{at}"), file })
        })
    }

    fn file(&self, at: usize) -> Vec<u8> {
        self.files.lock().unwrap()[at].clone()
    }

    fn count(&self) -> usize {
        self.files.lock().unwrap().len()
    }
}

fn out(bytes: impl AsRef<[u8]>) -> ExecEvent {
    ExecEvent::Stream { name: StreamName::Stdout, data: Bytes::copy_from_slice(bytes.as_ref()) }
}

fn err(bytes: &str) -> ExecEvent {
    ExecEvent::Stream { name: StreamName::Stderr, data: Bytes::copy_from_slice(bytes.as_bytes()) }
}

fn plain(text: &str) -> MimeBundle {
    let data = vec![("text/plain".to_owned(), MimeData::Text(text.to_owned()))];
    MimeBundle { data, metadata: String::new() }
}

fn display(id: Option<&str>, data: MimeBundle) -> ExecEvent {
    ExecEvent::Display { id: id.map(|id| DisplayId(id.into())), data }
}

fn update(id: &str, data: MimeBundle) -> ExecEvent {
    ExecEvent::UpdateDisplay { id: DisplayId(id.into()), data }
}

fn run(limits: OutputLimits, disk: &Disk, events: &[ExecEvent]) -> ModelOutput {
    let mut sink = OutputSink::new(limits, disk.spill());
    events.iter().for_each(|event| sink.push(event));
    sink.finish()
}

fn text(events: &[ExecEvent]) -> String {
    run(OutputLimits::head_and_tail(), &Disk::default(), events).text()
}

fn small(max_bytes: usize) -> OutputLimits {
    OutputLimits { held_bytes: 200_000, ..OutputLimits::head_and_tail().with_max_bytes(max_bytes) }
}

/// B:O-01, B:O-08: output that fits is shown completely, and no file is opened.
#[test]
fn what_fits_is_whole() {
    let disk = Disk::default();
    let events = [out("\x1b[31mred\x1b[0m\r\n"), out("a\n".repeat(3)), err("oh\n")];
    let output = run(OutputLimits::head_and_tail(), &disk, &events);
    assert_eq!(output.text(), "red\na\na\na\noh\n");
    assert_eq!((disk.count(), output.artifact.as_ref(), output.is_truncated), (0, None, false));
    let counts = output.counts;
    assert_eq!((counts.total_bytes, counts.total_lines, counts.total_chars), (13, 6, 13));
    assert_eq!((counts.output_bytes, counts.output_lines, counts.raw_bytes), (13, 6, 23));
    let exact = run(small(100), &disk, &[out("x".repeat(100))]);
    assert!(!exact.is_truncated && exact.notices.is_empty());
}

/// B:O-06, B:O-08, B:O-30: over the budget both ends are kept, and the artifact has every byte.
#[test]
fn over_the_budget_both_ends_are_kept() {
    let disk = Disk::default();
    let lines: String = (0..20_000).map(|n| format!("{n}\r\n")).collect();
    let chunks: Vec<ExecEvent> = lines.as_bytes().chunks(777).map(out).collect();
    let output = run(OutputLimits::head_and_tail(), &disk, &chunks);
    assert_eq!(disk.file(0), lines.as_bytes());
    let cleaned = lines.replace('\r', "");
    let [Part::Text(head), Part::Mark(Mark::Elided { bytes, lines }), Part::Text(tail)] =
        &output.parts[..]
    else {
        panic!("{} parts", output.parts.len());
    };
    assert_eq!(
        (head.as_str(), tail.as_str()),
        (&cleaned[..10_240], &cleaned[cleaned.len() - 40_960..])
    );
    assert_eq!(*bytes as usize, cleaned.len() - 51_200);
    assert_eq!(output.counts.total_lines, 20_001);
    assert_eq!(*lines as usize, cleaned[10_240..cleaned.len() - 40_960].matches('\n').count());
    assert_eq!(
        output.artifact,
        Some(ArtifactRef { id: "a0".to_owned(), bytes: chunks_len(&chunks) })
    );
    let first = head.matches('\n').count() + usize::from(!head.ends_with('\n'));
    let then = 20_001 - tail.matches('\n').count();
    assert_eq!(
        output.notices[0].to_string(),
        format!(
            "[Showing lines 1-{first} and {then}-20000 of 20000 (50.0KB limit). \
             Read artifact://a0 for full output]"
        )
    );
}

/// The notice numbers lines as a reading of the artifact does, with a line end at the end and without.
#[test]
fn a_notice_counts_the_lines_of_the_artifact() {
    let lines: String = (0..20_000).map(|n| format!("{n}\n")).collect();
    for (text, count) in [(lines.clone(), 20_000), (format!("{lines}more"), 20_001)] {
        let disk = Disk::default();
        let output = run(OutputLimits::head_and_tail(), &disk, &[out(&text)]);
        assert_eq!(disk.file(0).split_inclusive(|byte| *byte == b'\n').count(), count);
        let notice = output.notices[0].to_string();
        assert!(notice.contains(&format!("-{count} of {count} ")), "{notice}");
    }
}

fn chunks_len(events: &[ExecEvent]) -> u64 {
    let len = |event: &ExecEvent| match event {
        ExecEvent::Stream { data, .. } => data.len() as u64,
        _ => 0,
    };
    events.iter().map(len).sum()
}

/// B:O-06: compatible tools keep only the end, exact to the byte.
#[test]
fn compatible_tools_keep_the_end() {
    let disk = Disk::default();
    let text = "y\n".repeat(30_000);
    let output = run(OutputLimits::tail_only(), &disk, &[out(&text)]);
    let [Part::Mark(Mark::Elided { bytes: 8800, lines: 4400 }), Part::Text(tail)] =
        &output.parts[..]
    else {
        panic!("{:?}", &output.parts[0]);
    };
    assert_eq!(tail.len(), 51_200);
    assert_eq!(disk.file(0), text.as_bytes());
    let one = run(OutputLimits::tail_only(), &disk, &[out("x".repeat(60_000))]);
    assert_eq!(
        one.notices[0].to_string(),
        "[Showing last 50.0KB of line 1 (line is 58.6KB). Read artifact://a1 for full output]"
    );
}

/// F-030: a run of one line is counted, and the artifact still has every byte.
#[test]
fn a_run_of_one_line_is_counted() {
    let disk = Disk::default();
    let line = format!("{}\n", "x".repeat(99));
    let chunk = line.repeat(655);
    let events = vec![out(&chunk); 40];
    let output = run(OutputLimits::head_and_tail(), &disk, &events);
    assert_eq!(disk.file(0), chunk.repeat(40).as_bytes());
    assert!(output.is_truncated);
    assert_eq!(output.text(), format!("{line}[… repeated 26199 more times …]\n"));
    assert_eq!(output.counts.total_lines, 26_201);
    assert_eq!(
        output.notices[0].to_string(),
        "[Showing lines 1-26200 of 26200 (50.0KB limit). Read artifact://a0 for full output]"
    );
}

/// F-031: one line of any length costs bounded memory; both ends are kept.
#[test]
fn one_endless_line_is_bounded() {
    let limits = OutputLimits { held_bytes: 1000, ..OutputLimits::head_and_tail() };
    let mut sink = OutputSink::new(limits, Spill::none());
    let chunk = out("x".repeat(65_536));
    for _ in 0..300 {
        sink.push(&chunk);
    }
    let output = sink.finish();
    assert_eq!((output.counts.total_bytes, output.counts.total_lines), (300 * 65_536, 1));
    assert_eq!(output.counts.output_bytes, 51_200);
    assert_eq!(output.counts.elided_bytes, 300 * 65_536 - 51_200);
    assert_eq!(output.artifact, None);
}

/// F-033, B:O-08: invalid bytes are marked for the reader and exact in the artifact.
#[test]
fn invalid_bytes_are_exact_in_the_artifact() {
    let disk = Disk::default();
    let bytes: Vec<u8> = (0..=255u8).cycle().take(3000).collect();
    let chunks: Vec<ExecEvent> = bytes.chunks(7).map(out).collect();
    let output = run(small(300), &disk, &chunks);
    assert_eq!(disk.file(0), bytes);
    assert!(output.text().contains('\u{fffd}') && output.counts.invalid > 0);
}

/// F-034: a full disk costs the artifact, and the output says how much of it exists.
#[test]
fn a_full_disk_is_told() {
    let disk = Disk::with_room(65_536);
    let text: String = (0..200_000).map(|n| format!("{n}\n")).collect();
    let chunks: Vec<ExecEvent> = text.as_bytes().chunks(5000).map(out).collect();
    let output = run(OutputLimits::head_and_tail(), &disk, &chunks);
    assert_eq!(disk.file(0), &text.as_bytes()[..65_536]);
    assert_eq!(output.artifact, Some(ArtifactRef { id: "a0".to_owned(), bytes: 65_536 }));
    assert!(output.text().ends_with("199998\n199999\n"));
    let notices: Vec<String> = output.notices.iter().map(ToString::to_string).collect();
    let wanted =
        "[artifact incomplete: disk full after 65536 bytes. Read artifact://a0 for what was kept]";
    assert_eq!(notices[1..], [wanted]);
    assert!(!notices[0].contains("artifact://"), "{}", notices[0]);
}

/// F-034, F-035: a file without content, or one that was never opened, is not named.
#[test]
fn an_empty_artifact_is_not_named() {
    let output = run(small(10), &Disk::with_room(0), &[out("x".repeat(100))]);
    assert_eq!(output.artifact, None);
    assert!(output.notices[1].to_string().contains("disk full after 0 bytes"));
    let gone = Spill::new(|_: Content<'_>| Err(io::ErrorKind::NotFound.into()));
    let mut sink = OutputSink::new(small(10), gone);
    sink.push(&out("x".repeat(100)));
    let output = sink.finish();
    assert_eq!(output.artifact, None);
    assert_eq!(
        output.notices[1].to_string(),
        "[artifact incomplete: the artifact folder is gone after 0 bytes]"
    );
}

/// B:O-13: an artifact with a limit keeps both ends of the raw bytes.
#[test]
fn an_artifact_may_have_a_limit() {
    let limit = Some(ArtifactLimit { head_bytes: 20, tail_bytes: 10 });
    let limits = OutputLimits { artifact: limit, ..small(10) };
    let disk = Disk::default();
    let text: String = ('a'..='z').cycle().take(100).collect();
    run(limits, &disk, &[out(&text[..50]), out(&text[50..])]);
    let expected = format!(
        "{}\n[ARTIFACT TRUNCATED: kept first 20B + last 10B of 100B; 70B elided from the middle]\n{}",
        &text[..20],
        &text[90..]
    );
    assert_eq!(String::from_utf8(disk.file(0)).unwrap(), expected);
    run(limits, &disk, &[out(&text[..30])]);
    assert_eq!(disk.file(1), &text.as_bytes()[..30]);
}

/// B:O-12: a line is capped across chunks, and the artifact has all of it.
#[test]
fn lines_may_have_a_limit() {
    let disk = Disk::default();
    let limits = OutputLimits { line_bytes: Some(4), ..OutputLimits::head_and_tail() };
    let long = "y".repeat(20_000);
    let events = [out("abc"), out("def"), out("ghi\nok\n"), out(&long), out("\n")];
    let output = run(limits, &disk, &events);
    assert_eq!(output.text(), "abcd…\nok\nyyyy…\n");
    let counts = output.counts;
    assert_eq!((counts.dropped_bytes, counts.dropped_lines), (5 + 19_996, 2));
    assert_eq!((counts.total_bytes, counts.total_lines), (9 + 1 + 3 + 20_001, 4));
    assert_eq!(disk.file(0).len(), 9 + 1 + 3 + 20_001);
    assert!(output.is_truncated);
}

/// A progress bar on one stream does not overwrite the other, and order is kept.
#[test]
fn streams_keep_their_order() {
    assert_eq!(text(&[out("a"), err("\rb\n"), out("c\n")]), "ab\nc\n");
    assert_eq!(text(&[err("10%\r"), err("20%"), out("x\n"), err("\r30%")]), "20%x\n30%");
    // A sequence interrupted by the other stream is still one sequence.
    assert_eq!(text(&[out("a\x1b[3"), err("e\n"), out("1mb\n")]), "ae\nb\n");
}

/// Displays and tracebacks begin on a line of their own.
#[test]
fn displays_stand_on_their_own_lines() {
    let error = PyError {
        name: "E".to_owned(),
        value: "v".to_owned(),
        traceback: vec!["\x1b[31mTrace\x1b[0m".to_owned(), "E: v".to_owned()],
        plain: Vec::new(),
    };
    let events = [
        out("no end"),
        ExecEvent::Result { count: 1, id: None, data: plain("5") },
        display(None, plain("shown\n")),
        ExecEvent::Finished(Outcome::Error(error)),
    ];
    assert_eq!(text(&events), "no end\n5\nshown\nTrace\nE: v\n");
}

/// One display may have a limit of its own.
#[test]
fn one_display_has_its_own_limit() {
    let limits = OutputLimits { display_bytes: 50, ..OutputLimits::head_and_tail() };
    let long: String = ('a'..='z').cycle().take(200).collect();
    let output =
        run(limits, &Disk::default(), &[out("x\n"), display(None, plain(&long)), out("y\n")]);
    let end = &long[200 - 39..];
    assert_eq!(
        output.text(),
        format!("x\nabcdefghij\n[… part of a line elided (151B) …]\n{end}\ny\n")
    );
    assert_eq!(output.counts.elided_bytes, 151);
    assert_eq!(output.notices, []);
    let over =
        run(limits, &Disk::default(), &[display(None, plain(&long)), out("z\nw\n".repeat(20_000))]);
    assert!(over.notices[0].to_string().starts_with("[Showing "), "{:?}", over.notices);
    assert!(over.notices[0].to_string().contains(" of 40001 lines ("), "{:?}", over.notices);
    assert_eq!(output.counts.total_bytes, 2 + 201 + 2);
}

/// B:X-25: the notice is a mark, not text.
#[test]
fn a_request_for_input_is_marked() {
    let events =
        [out("x"), ExecEvent::InputRequested { prompt: "name? ".to_owned(), password: false }];
    let output = run(OutputLimits::head_and_tail(), &Disk::default(), &events);
    assert!(output.stdin_requested);
    assert_eq!(output.parts, [Part::Text("x".to_owned()), Part::Mark(Mark::InputRequested)]);
}

/// F-040: storms of displays, updates and frames are bounded, and the final state is right.
#[test]
fn storms_are_bounded() {
    let clear = ExecEvent::ClearOutput { wait: true };
    let frames: Vec<ExecEvent> =
        (0..5000).flat_map(|n| [clear.clone(), out(format!("frame {n}\n"))]).collect();
    assert_eq!(text(&frames), "frame 4999\n");

    let mut events = vec![display(Some("bar"), plain("0%"))];
    events.extend((0..10_000).map(|n| update("bar", plain(&format!("{n}")))));
    events.push(out("end\n"));
    assert_eq!(text(&events), "9999\nend\n");

    let json = |n: u32| {
        let data = vec![("application/json".to_owned(), MimeData::Json(format!("{n}")))];
        display(None, MimeBundle { data, metadata: String::new() })
    };
    let events: Vec<ExecEvent> = (0..20_000).map(json).collect();
    let output = run(OutputLimits::head_and_tail(), &Disk::default(), &events);
    assert_eq!((output.rich.len(), output.counts.rich), (50, 20_000));
    let numbers: Vec<u64> = output.rich.iter().map(|item| item.number).collect();
    assert_eq!((numbers[0], numbers[9], numbers[10], numbers[49]), (1, 10, 19_961, 20_000));
    assert_eq!(output.notices, [Notice::RichDropped { items: 19_950 }]);
    assert!(output.parts.len() <= 50);
}

/// An update changes its display in place; an unknown one is shown as new.
#[test]
fn updates_reach_their_display() {
    let events = [
        out("a\n"),
        display(Some("x"), plain("old")),
        out("b\n"),
        update("x", plain("new")),
        update("other", plain("from another cell")),
    ];
    assert_eq!(text(&events), "a\nnew\nb\nfrom another cell\n");
    let now = [out("a\n"), ExecEvent::ClearOutput { wait: false }, out("b\n")];
    assert_eq!(text(&now), "b\n");
}

/// F-041: giant forms go to artifacts, never inline.
#[test]
fn giant_forms_are_stored() {
    let disk = Disk::default();
    let json = format!("[{}1]", "1,".repeat(200_000));
    let data = vec![
        ("application/json".to_owned(), MimeData::Json(json.clone())),
        ("image/png".to_owned(), MimeData::Binary(Bytes::from(vec![7; 500_000]))),
    ];
    let output = run(
        OutputLimits::head_and_tail(),
        &disk,
        &[display(None, MimeBundle { data, metadata: String::new() })],
    );
    let [image, value] = &output.rich[..] else { panic!("{}", output.rich.len()) };
    let RichKind::Image(picture) = &image.kind else { panic!() };
    assert_eq!((picture.data.as_ref(), disk.file(0).len()), (None, 500_000));
    let RichKind::Json(item) = &value.kind else { panic!() };
    assert_eq!((item.raw.as_ref(), item.artifact.as_ref().map(|a| a.bytes)), (None, Some(400_003)));
    assert_eq!(disk.file(1), json.as_bytes());
    assert!(item.shown.chars().count() < 8100 && item.shown.ends_with(" chars truncated)"));
    assert_eq!(value.digest, "JSON array of 200001, first number");
}

/// B:O-20, B:X-10: the preview is the end of the text so far, with the current line.
#[test]
fn a_preview_shows_the_end() {
    let limits = OutputLimits::head_and_tail().with_max_bytes(10);
    let mut sink = OutputSink::new(limits, Spill::none());
    sink.push(&out("012345\n10%\r20%"));
    let whole = sink.preview();
    assert_eq!((&*whole.text, whole.total_bytes, whole.elided), ("012345\n20%", 7, None));

    // It begins with a whole line, and says which lines it shows.
    sink.push(&out("\nlast"));
    let end = sink.preview();
    assert_eq!((&*end.text, end.total_bytes, end.total_lines), ("20%\nlast", 11, 3));
    let said = end.elided.unwrap().to_string();
    assert_eq!(said, "[Showing lines 2-3 of 3 (10B limit)]");

    // Only a line that is too long by itself begins in the middle.
    sink.push(&out("0123456789"));
    let part = sink.preview();
    assert_eq!(part.text, "0123456789");
    let said = part.elided.unwrap().to_string();
    assert_eq!(said, "[Showing last 10B of line 3 (line is 14B)]");

    // It is cut between characters.
    sink.push(&out("é".repeat(30)));
    assert_eq!(sink.preview().text, "é".repeat(5));

    // Output that the program cleared is not missing.
    sink.push(&ExecEvent::ClearOutput { wait: false });
    sink.push(&out("new\n"));
    assert_eq!((sink.preview().text.as_str(), sink.preview().elided), ("new\n", None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any chunks, the reader gets the same output and the artifact has all bytes.
    #[test]
    fn chunks_do_not_matter(
        lines in prop::collection::vec("([a-c]{0,3}|\x1b\\[31m[a-z]{0,20}\x1b\\[0m|[a-z]{1,4}\r[A-Z]{1,3}|é😀)\n?", 0..60),
        size in 1usize..50,
        budget in 10usize..200,
        count in any::<bool>(),
    ) {
        let bytes = lines.concat().into_bytes();
        let repeats = if count { Repeats::Count } else { Repeats::Keep };
        let limits = OutputLimits { repeats, ..small(budget) };
        let (one, many) = (Disk::default(), Disk::default());
        let whole = run(limits, &one, &[out(&bytes)]);
        let chunks: Vec<ExecEvent> = bytes.chunks(size).map(out).collect();
        let cut = run(limits, &many, &chunks);
        prop_assert_eq!(&cut.parts, &whole.parts);
        prop_assert_eq!(cut.counts, whole.counts);
        prop_assert_eq!(&cut.notices, &whole.notices);
        if whole.is_truncated {
            prop_assert_eq!(&one.file(0), &bytes);
            prop_assert_eq!(&many.file(0), &bytes);
        } else {
            prop_assert_eq!(many.count(), 0);
        }
    }
}
