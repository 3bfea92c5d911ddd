//! Faults of output, as callers see them: floods, odd bytes, storms of displays, giants, threads that go on, watchers
//! that do not read.

use std::time::Duration;

use inkcell_engine::api::State;
use inkcell_engine::artifact::ArtifactLimits;
use inkcell_engine::journal::{JournalItem, Seq};
use inkcell_engine::output::{Notice, RichKind};
use inkcell_testkit::need::is_quick;

use crate::faults_kit::{Desk, text, told, wait_for};

/// F-030: the artifact has every byte of a flood; the report has both ends, the totals and the id.
#[tokio::test]
async fn a_flood_is_stored_whole_and_shown_by_its_ends() {
    let lines = if is_quick() { 200_000 } else { 2_000_000 };
    let desk = Desk::new();
    let code = format!("for n in range({lines}): print('%08d' % n + 'x' * 91)");
    let report = desk.run(&[&code]).await;
    assert_eq!(report.state, State::Done, "{:?}", report.cells[0].end);
    let output = &report.cells[0].output;
    let stored = desk.stored(output);
    let mut wanted = blake3::Hasher::new();
    for n in 0..lines {
        wanted.update(format!("{n:08}{}\n", "x".repeat(91)).as_bytes());
    }
    assert_eq!(stored.len(), lines * 100);
    assert_eq!(blake3::hash(&stored), wanted.finalize());
    let (counts, total) = (output.counts, lines as u64 * 100);
    assert_eq!((counts.raw_bytes, counts.total_bytes), (total, total));
    assert_eq!(counts.total_lines, lines as u64 + 1);
    let shown = output.text();
    let last = format!("{:08}", lines - 1);
    assert!(shown.starts_with("00000000xx") && shown.contains(&last), "both ends are shown");
    assert!(shown.len() <= 60_000 && output.is_truncated, "{}", shown.len());
    let id = output.artifact.as_ref().map(|stored| stored.id.clone());
    let [Notice::Truncated { artifact, .. }] = &output.notices[..] else {
        panic!("{:?}", output.notices)
    };
    assert_eq!(*artifact, id);
    desk.engine.shutdown().await;
}

/// F-031: one line of 50 MB is stored completely, and both its ends are shown.
#[tokio::test]
async fn one_long_line_is_stored_whole() {
    let desk = Desk::new();
    let code = "import sys\n_ = sys.stdout.write('begin' + '0123456789' * 5_000_000 + 'end')";
    let report = desk.run(&[code]).await;
    assert_eq!(report.state, State::Done);
    let output = &report.cells[0].output;
    let stored = desk.stored(output);
    assert_eq!(stored.len(), 50_000_008);
    assert!(stored.starts_with(b"begin0123") && stored.ends_with(b"789end"));
    assert!(stored[5..stored.len() - 3].chunks(10).all(|ten| ten == b"0123456789"));
    let shown = output.text();
    assert!(shown.starts_with("begin01") && shown.contains("789end") && shown.len() < 60_000);
    desk.engine.shutdown().await;
}

/// F-033: bytes that are not text are marked for the reader and exact in the artifact.
#[tokio::test]
async fn odd_bytes_are_marked_and_stored_as_they_were() {
    let desk = Desk::new();
    assert_eq!(
        told(&desk.run(&["print('\\ud800|\\ufeff|\\x00|\\x9b31m|ok')"]).await).lines().count(),
        1
    );
    let code = "import os\nodd = bytes(range(256)) + 'ä€😀'.encode() + b'\\xe2\\x82' + b'\\n'\n\
                data = odd * 1000\nfor at in range(0, len(data), 7):\n    os.write(1, data[at:at + 7])";
    let report = desk.run(&[code]).await;
    assert_eq!(report.state, State::Done);
    let output = &report.cells[0].output;
    let mut odd: Vec<u8> = (0..=255).collect();
    odd.extend("ä€😀".bytes().chain(*b"\xe2\x82\n"));
    assert_eq!(desk.stored(output), odd.repeat(1000));
    let shown = output.text();
    assert!(output.counts.invalid > 1000 && shown.contains('\u{fffd}') && shown.contains("ä€😀"));
    let is_control = |c: char| c.is_control() && c != '\n' && c != '\t';
    assert!(!shown.contains(is_control), "nothing that drives a terminal");
    desk.engine.shutdown().await;
}

/// F-036: endless output stops at the time limit, and its artifact at the quota.
#[tokio::test]
async fn endless_output_ends_with_its_time_and_its_quota() {
    let limits = ArtifactLimits { session_bytes: 200_000, ..ArtifactLimits::STANDARD };
    let desk = Desk::with(|config| config.artifacts.limits = limits);
    let mut request = desk.request(&["n = 0\nwhile True:\n    n += 1\n    print('y', n)"]);
    request.timeout = Some(Duration::from_secs(2));
    let report = desk.ask(request).await;
    assert_eq!(report.state, State::TimedOut, "{:?}", report.cells[0].end);
    let output = &report.cells[0].output;
    let told = output.notices.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(told.contains("artifact incomplete: quota reached after"), "{told}");
    let stored = desk.stored(output);
    assert!(stored.starts_with(b"y 1\ny 2\n") && stored.len() <= 200_000, "{}", stored.len());
    assert_eq!(desk.run(&["n > 1000"]).await.state, State::Done);
    desk.engine.shutdown().await;
}

/// F-037: a watcher that does not read delays nothing, costs bounded memory, and learns how much it missed.
#[tokio::test]
async fn a_watcher_that_does_not_read_is_told_what_it_missed() {
    let desk = Desk::new();
    let code = format!(
        "{}\nfor n in range(200_000): print('%09d' % n + 'x' * 90)\nprint('last')",
        wait_for("gate")
    );
    let begun = desk.begin(&[&code]).await;
    let mut watch = desk.engine.find_call(&begun.execution).expect("it runs").watch(Seq(0));
    desk.touch("gate");
    let report = desk.end(&begun).await;
    assert_eq!(report.state, State::Done);
    assert_eq!(desk.stored(&report.cells[0].output).len(), 200_000 * 100 + 5, "nothing is lost");
    let (mut next, mut missed, mut held) = (0, 0, 0);
    while let Some(item) = watch.next().await {
        match item {
            JournalItem::Gap { missed: some } => {
                missed += some;
                next += some;
            }
            JournalItem::Entry(seq, event) => {
                assert_eq!(seq.0, next);
                next += 1;
                held += format!("{event:?}").len().min(1 << 20);
            }
        }
    }
    assert!(missed > 0 && next > missed, "{missed} of {next}");
    // The buffer for it is a quarter of a mebibyte, printed here byte by byte as text.
    assert!(held < 4 << 20, "{held}");
    desk.engine.shutdown().await;
}

/// F-038: output of a thread after its cell is never lost, harms no cell, and is not an error.
#[tokio::test]
async fn a_thread_that_prints_on_harms_no_cell() {
    let desk = Desk::new();
    let code = "import threading, time, os\ndef tick():\n    for n in range(30):\n        \
                print('tick', n)\n        time.sleep(0.01)\n    open('ticked', 'w').close()\n\
                threading.Thread(target=tick).start()\nprint('begun')";
    let mut all = text(&desk.run(&[code]).await, 0);
    let second = desk.run(&["time.sleep(0.05)\nprint('second')"]).await;
    assert_eq!(second.state, State::Done);
    all.push_str(&text(&second, 0));
    desk.seen("ticked").await;
    for _ in 0..2 {
        // Output between cells comes with the next cell; a moment later none is in flight.
        let third = desk.run(&["time.sleep(0.05)\nprint('third')"]).await;
        assert_eq!(third.state, State::Done);
        all.push_str(&text(&third, 0));
    }
    let ticks: Vec<u32> =
        all.lines().filter_map(|line| line.strip_prefix("tick ")?.parse().ok()).collect();
    assert_eq!(ticks, (0..30).collect::<Vec<u32>>(), "{all}");
    for own in ["begun", "second", "third"] {
        assert!(all.contains(own), "{all}");
    }
    desk.engine.shutdown().await;
}

/// F-040: storms of displays, updates and frames end in the right state, within bounds.
#[tokio::test]
async fn storms_of_displays_end_in_the_right_state() {
    let desk = Desk::new();
    let many = if is_quick() { 2000 } else { 20_000 };
    let displays =
        format!("from IPython.display import display\nfor n in range({many}): display(n)");
    let updates = format!(
        "h = display('first', display_id=True)\nfor n in range({}): h.update('update %d' % n)",
        many / 10
    );
    let frames = format!(
        "from IPython.display import clear_output\nfor n in range({}):\n    \
         clear_output(wait=True)\n    print('frame', n)",
        many / 10
    );
    let report = desk.run(&[&displays, &updates, &frames]).await;
    assert_eq!(
        report.state,
        State::Done,
        "{:?}",
        report.cells.iter().map(|c| &c.end).collect::<Vec<_>>()
    );
    let shown = text(&report, 0);
    assert!(shown.starts_with("0\n1\n") && shown.contains(&format!("{}\n", many - 1)));
    assert!(shown.len() < 60_000, "{}", shown.len());
    let last = many / 10 - 1;
    assert_eq!(text(&report, 1).trim_end(), format!("'update {last}'"));
    assert_eq!(text(&report, 2).trim_end(), format!("frame {last}"));
    desk.engine.shutdown().await;
}

/// F-041: giants go to artifacts and not into the answer.
#[tokio::test]
async fn giant_forms_are_stored_and_described() {
    let desk = Desk::new();
    let code = "from IPython.display import display\n\
        png = b'\\x89PNG\\r\\n\\x1a\\n' + b'\\x00\\x00\\x00\\rIHDR' + bytes(20_000_000)\n\
        display({'image/png': png, 'text/plain': 'a picture'}, raw=True)\n\
        display({'application/json': {'rows': ['value %d' % n for n in range(1_000_000)]}}, raw=True)\n\
        rows = ''.join('<tr><td>%d</td></tr>' % n for n in range(200_000))\n\
        display({'text/html': '<table>' + rows + '</table>'}, raw=True)";
    let report = desk.run(&[code]).await;
    assert_eq!(report.state, State::Done, "{:?}", report.cells[0].end);
    let output = &report.cells[0].output;
    assert!(output.text().len() < 60_000, "{}", output.text().len());
    let mut kinds = Vec::new();
    for item in &output.rich {
        match &item.kind {
            RichKind::Image(image) => {
                assert!(image.data.as_ref().is_none_or(|data| data.len() < 1 << 20));
                kinds.push("image");
            }
            RichKind::Json(json) => {
                assert!(json.raw.is_none() && json.shown.len() < 60_000);
                let stored = json.artifact.as_ref().expect("all of it is stored");
                assert!(stored.bytes > 10_000_000, "{stored:?}");
                kinds.push("json");
            }
            RichKind::Digest { mime, artifact } => {
                assert_eq!(mime, "text/html");
                assert!(artifact.as_ref().is_some_and(|stored| stored.bytes > 4_000_000));
                kinds.push("table");
            }
            RichKind::Status(other) => panic!("{other}"),
        }
    }
    assert_eq!(kinds, ["image", "json", "table"]);
    desk.engine.shutdown().await;
}

/// F-096: if one of fifty watchers stops reading, the others see everything and the code is not held up.
#[tokio::test]
async fn of_fifty_watchers_one_may_stand_still() {
    let desk = Desk::new();
    let code =
        format!("{}\nfor n in range(100_000): print('%09d' % n + 'x' * 90)", wait_for("gate"));
    let begun = desk.begin(&[&code]).await;
    let mut still = desk.engine.find_call(&begun.execution).expect("it runs").watch(Seq(0));
    let watchers: Vec<_> = (0..49)
        .map(|_| {
            let mut watch = desk.engine.find_call(&begun.execution).expect("it runs").watch(Seq(0));
            tokio::spawn(async move {
                let mut seen = 0;
                while let Some(item) = watch.next().await {
                    seen += match item {
                        JournalItem::Entry(..) => 1,
                        JournalItem::Gap { missed } => missed,
                    };
                }
                seen
            })
        })
        .collect();
    desk.touch("gate");
    let report = desk.end(&begun).await;
    assert_eq!((report.state, report.cells[0].output.counts.raw_bytes), (State::Done, 10_000_000));
    let mut all = Vec::new();
    for watcher in watchers {
        all.push(watcher.await.expect("a watcher"));
    }
    assert!(all[0] > 0 && all.iter().all(|seen| *seen == all[0]), "{all:?}");
    assert!(
        matches!(still.next().await, Some(JournalItem::Gap { .. })),
        "it is told what it missed"
    );
    desk.engine.shutdown().await;
}
