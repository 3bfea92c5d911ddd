//! Long chunks of plain lines take a faster path; the output must not show which.

use super::*;

/// Output before a long chunk: none, a begun line, and all kinds of unfinished input.
const BEFORE: [&[u8]; 9] = [
    b"",
    b"begun",
    b"50%\r",
    b"abc\x08",
    b"\x1b[3",
    b"\x1b]0;title",
    b"\x1bPpicture\n",
    b"\xe4\xbd",
    b"a\x1b[1G",
];

/// Plain lines of this many bytes: long runs of one line between lines that all differ.
fn lines(len: usize, seed: usize, run: usize) -> String {
    let mut text = String::with_capacity(len + 100);
    let mut number = seed;
    while text.len() < len {
        text += &format!("{number} different\n");
        text += &"same\n".repeat(if number.is_multiple_of(50) { run } else { 1 });
        number += 1;
    }
    text.truncate(len);
    text
}

/// The same bytes in pieces too short for the faster path.
fn in_pieces(events: &[ExecEvent], size: usize) -> Vec<ExecEvent> {
    let cut = |event: &ExecEvent| match event {
        ExecEvent::Stream { name, data } => data
            .chunks(size)
            .map(|piece| ExecEvent::Stream { name: *name, data: Bytes::copy_from_slice(piece) })
            .collect(),
        other => vec![other.clone()],
    };
    events.iter().flat_map(cut).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// B:O-03, B:O-04, B:O-06: text, counts and marks are the same on both paths.
    #[test]
    fn long_chunks_are_as_short_ones(
        chunks in prop::collection::vec(
            (0..BEFORE.len(), 15_000usize..70_000, 0usize..2000, any::<bool>()), 1..10),
        size in 500usize..9000,
        budget in prop::sample::select(vec![0usize, 60, 3000, 20_000, 51_200, 400_000]),
        count in any::<bool>(),
        with_head in any::<bool>(),
    ) {
        let repeats = if count { Repeats::Count } else { Repeats::Keep };
        let mut limits = OutputLimits { repeats, ..small(budget) };
        if !with_head {
            limits.head_bytes = 0;
        }
        let mut events = Vec::new();
        for (at, (before, len, run, is_other)) in chunks.iter().enumerate() {
            if *is_other {
                events.push(err("the other stream"));
            }
            events.push(out(BEFORE[*before]));
            events.push(out(lines(*len, 1000 * at, *run)));
        }
        let (long, short) = (Disk::default(), Disk::default());
        let quick = run_with_preview(limits, &long, &events);
        let slow = run_with_preview(limits, &short, &in_pieces(&events, size));
        prop_assert_eq!(quick.1, slow.1);
        let (quick, slow) = (quick.0, slow.0);
        prop_assert_eq!(quick.counts, slow.counts);
        prop_assert!(quick.parts == slow.parts, "{} != {}", quick.text(), slow.text());
        prop_assert_eq!(&quick.notices, &slow.notices);
        prop_assert_eq!(long.count(), short.count());
        if long.count() > 0 {
            prop_assert!(long.file(0) == short.file(0));
        }
    }
}

fn run_with_preview(
    limits: OutputLimits,
    disk: &Disk,
    events: &[ExecEvent],
) -> (ModelOutput, (u64, u64)) {
    let mut sink = OutputSink::new(limits, disk.spill());
    events.iter().for_each(|event| sink.push(event));
    let preview = sink.preview();
    (sink.finish(), (preview.total_bytes, preview.total_lines))
}
