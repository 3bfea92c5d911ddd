//! Blocks of an answer within a number of bytes.
//!
//! Owns how blocks share the room: short ones stay whole, failures and remarks get more than output does, and marks
//! stand where something is left out. The engine has bounded outputs before; titles, tracebacks and large numbers of
//! cells are bounded here.

use inkcell_engine::output::{size, without_ranges};

use crate::words;

/// How much of an answer its reader wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Room {
    /// Bytes of text at most.
    pub(crate) max_bytes: usize,
    /// Whether the end is wanted and not the beginning.
    pub(crate) is_end: bool,
}

impl Room {
    /// Everything, for people and programs.
    pub(crate) const UNBOUNDED: Room = Room { max_bytes: usize::MAX, is_end: false };
}

/// A part of an answer, with an empty line around it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Block {
    text: String,
    /// How much of the room it gets, compared with others.
    shares: usize,
}

impl Block {
    /// Output of a cell that did not fail.
    pub(crate) fn output(text: String) -> Block {
        Block { text, shares: 1 }
    }

    /// A failure, or a remark about the call: the reader needs it more than any output.
    pub(crate) fn remark(text: String) -> Block {
        Block { text, shares: 4 }
    }

    /// The block with another text.
    pub(crate) fn map(self, change: impl FnOnce(&str) -> String) -> Block {
        Block { text: change(&self.text), ..self }
    }
}

/// The least that is shown of a block. If there is no room for that, whole blocks are left out.
const LEAST_BYTES: usize = 200;
/// Bytes for the mark in place of blocks.
const MARK_BYTES: usize = 80;
const GAP: &str = "\n\n";

/// The blocks as one text of the room's size at most, and whether that left anything out.
pub(super) fn joined(blocks: Vec<Block>, room: Room) -> (String, bool) {
    let mut blocks: Vec<Block> = blocks.into_iter().filter(|one| !one.text.is_empty()).collect();
    let bytes =
        |blocks: &[Block]| blocks.iter().map(|one| one.text.len() + GAP.len()).sum::<usize>();
    let is_cut = bytes(&blocks) > room.max_bytes;
    if is_cut {
        blocks = fewer(blocks, (room.max_bytes / LEAST_BYTES).max(1));
        let gaps = blocks.len() * GAP.len();
        let level = level(&blocks, room.max_bytes.saturating_sub(gaps));
        for block in &mut blocks {
            let most = level.saturating_mul(block.shares);
            if block.text.len() > most {
                // The notice in it tells of lines that are left out now.
                let text = without_ranges(&block.text);
                block.text = cut(text, Room { max_bytes: most, ..room });
            }
        }
    }
    (blocks.into_iter().map(|one| one.text).collect::<Vec<_>>().join(GAP), is_cut)
}

/// The bytes of one share, so that all blocks together have `most`: a short block leaves its share to the others.
fn level(blocks: &[Block], mut most: usize) -> usize {
    let mut wanted: Vec<(usize, &Block)> =
        blocks.iter().map(|one| (one.text.len().div_ceil(one.shares), one)).collect();
    wanted.sort_by_key(|(level, _)| *level);
    let mut shares: usize = blocks.iter().map(|one| one.shares).sum();
    for (level, block) in wanted {
        let each = most / shares.max(1);
        if level > each {
            return each;
        }
        most -= block.text.len().min(most);
        shares -= block.shares;
    }
    usize::MAX
}

/// At most `most` blocks: remarks before outputs, the first and the last before those between. A mark says how many
/// are missing.
fn fewer(blocks: Vec<Block>, most: usize) -> Vec<Block> {
    if blocks.len() <= most {
        return blocks;
    }
    // A mark needs the room of half a block.
    let most = (most * LEAST_BYTES / (LEAST_BYTES + MARK_BYTES)).max(1);
    let (remarks, outputs): (Vec<usize>, Vec<usize>) =
        (0..blocks.len()).partition(|at| blocks[*at].shares > 1);
    let mut kept = ends(&remarks, most.saturating_sub(outputs.len().min(most / 4)).max(1));
    let left = most.saturating_sub(kept.len());
    kept.extend(ends(&outputs, left));
    kept.sort_unstable();
    let mut shown = Vec::new();
    let (mut kept, mut missing) = (kept.into_iter().peekable(), 0);
    let told = |missing: usize| Block::remark(words::output::blocks_left_out(missing));
    for (at, block) in blocks.into_iter().enumerate() {
        if kept.peek() != Some(&at) {
            missing += 1;
            continue;
        }
        kept.next();
        if missing > 0 {
            shown.push(told(std::mem::take(&mut missing)));
        }
        shown.push(block);
    }
    if missing > 0 {
        shown.push(told(missing));
    }
    shown
}

/// At most `most` entries of a list, from both of its ends.
fn ends(list: &[usize], most: usize) -> Vec<usize> {
    if list.len() <= most {
        return list.to_vec();
    }
    let first = most / 2;
    [&list[..first], &list[list.len() - (most - first)..]].concat()
}

/// The beginning and the end of a text that is too long, in whole lines where that leaves enough.
pub(crate) fn cut(text: String, room: Room) -> String {
    if text.len() <= room.max_bytes {
        return text;
    }
    let most = room.max_bytes.saturating_sub(MARK_BYTES);
    let head = if room.is_end { 0 } else { text.floor_char_boundary(most / 3) };
    let tail = text.ceil_char_boundary(text.len() - (most - head));
    let head = match text[..head].rfind('\n') {
        Some(feed) if feed > head / 2 => feed + 1,
        _ => head,
    };
    let tail = match text[tail..].find('\n') {
        Some(feed) if feed < (text.len() - tail) / 2 => tail + feed + 1,
        _ => tail,
    };
    let mark = words::output::left_out(&size((tail - head) as u64));
    let line = if head == 0 || text[..head].ends_with('\n') { "" } else { "\n" };
    format!("{}{line}{mark}\n{}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn room(max_bytes: usize) -> Room {
        Room { max_bytes, is_end: false }
    }

    #[test]
    fn text_that_fits_stays_as_it_is() {
        let blocks = vec![Block::output("a".to_owned()), Block::output(String::new())];
        assert_eq!(
            joined([blocks, vec![Block::remark("b".to_owned())]].concat(), room(100)),
            ("a\n\nb".to_owned(), false)
        );
    }

    #[test]
    fn a_long_text_keeps_lines_at_both_ends() {
        let text: String = (0..100).map(|number| format!("line {number}\n")).collect();
        let shown = cut(text.clone(), room(200));
        assert!(shown.starts_with("line 0\n") && shown.ends_with("line 99\n"), "{shown}");
        assert!(shown.contains("\n[… 683B left out …]\nline "), "{shown}");
        let end = cut(text, Room { is_end: true, ..room(200) });
        assert!(end.starts_with("[… ") && end.ends_with("line 98\nline 99\n"), "{end}");
    }

    #[test]
    fn a_failure_keeps_its_end_beside_loud_cells() {
        let loud = || Block::output("out\n".repeat(5000));
        let error = Block::remark(format!("{}ValueError: no", "frame\n".repeat(100)));
        let (shown, is_cut) = joined(vec![loud(), loud(), error.clone(), loud()], room(4000));
        assert!(is_cut && shown.contains(&error.text), "{shown}");
    }

    /// A notice does not name lines that its block lost after the notice was made.
    #[test]
    fn a_notice_names_no_lines_that_are_left_out() {
        let notice = "[Showing lines 1-200 and 300-500 of 500 (8.0KB limit). Read artifact://x for full output]";
        let loud = Block::output(format!("{}\n{notice}", "line\n".repeat(400)));
        let (whole, _) = joined(vec![loud.clone()], room(10_000));
        assert!(whole.ends_with(notice), "{whole}");
        let (shown, is_cut) = joined(vec![loud], room(1000));
        let notice =
            "[Showing a part of 500 lines (8.0KB limit). Read artifact://x for full output]";
        assert!(is_cut && shown.ends_with(notice), "{shown}");
    }

    #[test]
    fn many_blocks_are_counted_and_remarks_stay() {
        let mut blocks: Vec<Block> = (0..500)
            .map(|number| Block::output(format!("[cell {number}]\n{}", "x".repeat(100))))
            .collect();
        blocks[250] = Block::remark("Cell 250 failed".to_owned());
        blocks.push(Block::remark("[250 of 500 cells ran]".to_owned()));
        let (shown, _) = joined(blocks, room(3000));
        assert!(
            shown.starts_with("[cell 0]") && shown.ends_with("[250 of 500 cells ran]"),
            "{shown}"
        );
        assert!(
            shown.contains("Cell 250 failed") && shown.contains(" parts of the answer left out")
        );
    }

    proptest! {
        /// Whatever the blocks are, the text fits, and the last remark is in it.
        #[test]
        fn any_blocks_fit(
            lengths in prop::collection::vec((0usize..5000, any::<bool>(), any::<bool>()), 0..80),
            max_bytes in 500usize..30_000,
            is_end in any::<bool>(),
        ) {
            let mut blocks: Vec<Block> = lengths
                .into_iter()
                .map(|(length, is_remark, has_lines)| {
                    let text = if has_lines { "é line\n".repeat(length / 8) } else { "é".repeat(length / 2) };
                    if is_remark { Block::remark(text) } else { Block::output(text) }
                })
                .collect();
            blocks.push(Block::remark("[the end]".to_owned()));
            let (shown, _) = joined(blocks, Room { max_bytes, is_end });
            prop_assert!(shown.len() <= max_bytes, "{} of {max_bytes}", shown.len());
            prop_assert!(shown.ends_with("[the end]"));
        }
    }
}
