//! A power cut at any instant of a save: the content of the disk then, if only synced data is there.

use std::collections::BTreeSet;

use inkcell_testkit::need;
use inkcell_testkit::notebooks::jupyter;

use crate::trace::{self, Call};
use crate::{env, trace::FILE_CALLS};

/// The possible content of a disk after a power cut, as the save goes on.
#[derive(Default)]
struct Disk {
    /// The temporary file: its descriptor, and how many bytes were written and synced.
    temp: Option<(i64, u64, u64)>,
    is_renamed: bool,
    is_folder_synced: bool,
}

/// The possible content of the notebook after a power cut.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Found {
    Old,
    /// The first bytes of the new content, this many.
    New(u64),
}

/// Whether a call names the new file beside the notebook. Versions are written in the same way, by their whole path.
fn is_beside(call: &Call) -> bool {
    call.line.contains("\".inkcell-")
}

impl Disk {
    fn after(&mut self, call: &Call, folder: i64) {
        let is_temp = |fd: Option<i64>| self.temp.is_some_and(|(temp, _, _)| fd == Some(temp));
        match call.name.as_str() {
            "openat" if is_beside(call) => {
                assert!(
                    call.line.contains("O_EXCL") && call.line.contains("O_NOFOLLOW"),
                    "{call:?}"
                );
                self.temp = Some((call.result().expect("a descriptor"), 0, 0));
            }
            "write" | "pwrite64" if is_temp(call.fd()) => {
                let size = call.result().and_then(|size| u64::try_from(size).ok()).expect("a size");
                if let Some((_, written, _)) = &mut self.temp {
                    *written += size;
                }
            }
            "fsync" if is_temp(call.fd()) => {
                if let Some((_, written, synced)) = &mut self.temp {
                    *synced = *written;
                }
            }
            "close" if is_temp(call.fd()) => {
                // The system may reuse the number for another file.
                if let Some((fd, _, _)) = &mut self.temp {
                    *fd = -1;
                }
            }
            "fsync" if call.fd() == Some(folder) => self.is_folder_synced = self.is_renamed,
            name if name.starts_with("rename") && is_beside(call) => {
                self.is_renamed = true;
            }
            _ => {}
        }
    }

    /// Every possible content of the notebook: data that was not synced is there, not there, or torn at a block.
    fn found(&self) -> BTreeSet<Found> {
        const BLOCK: u64 = 4096;
        let mut found = BTreeSet::new();
        if !self.is_folder_synced {
            found.insert(Found::Old);
        }
        if let (true, Some((_, written, synced))) = (self.is_renamed, self.temp) {
            found.insert(Found::New(written));
            found.extend((synced..written).step_by(BLOCK as usize).map(Found::New));
        }
        found
    }
}

/// F-061
#[test]
fn a_power_cut_leaves_the_old_or_the_new_file() {
    if !need::strace("a_power_cut_leaves_the_old_or_the_new_file") {
        return;
    }
    let long = "x = 1\n".repeat(5000);
    for text in [
        jupyter(&[("code", "aaaa1111", "x")]),
        jupyter(&[("raw", "r", &long), ("code", "aaaa1111", "x")]),
    ] {
        let env = env();
        env.put("nb.ipynb", &text);
        env.run(&["read", "nb.ipynb"]).ok();
        let args = ["edit", "nb.ipynb", "replace", "aaaa1111", "--source", "z = 26"];
        let calls = trace::record(&env, &args, FILE_CALLS);
        let size = env.get("nb.ipynb").len() as u64;
        let temp = calls.iter().find(|call| call.name == "openat" && is_beside(call));
        let folder = temp.and_then(Call::fd).expect("it is made in the folder of the notebook");

        let mut disk = Disk::default();
        let mut seen = BTreeSet::new();
        for call in &calls {
            if call.name == "exit_group" {
                // Success is reported: from here on only the new content may be found.
                assert_eq!(disk.found(), BTreeSet::from([Found::New(size)]), "{call:?}");
                seen.insert("end");
                continue;
            }
            disk.after(call, folder);
            for found in disk.found() {
                assert!(
                    matches!(found, Found::Old) || found == Found::New(size),
                    "{found:?} after {call:?}"
                );
                seen.insert(if found == Found::Old { "old" } else { "new" });
            }
            // The notebook itself is never opened for writing.
            let opens = call.name == "openat" && call.line.contains("\"nb.ipynb\"");
            assert!(!opens || call.line.contains("O_RDONLY"), "{call:?}");
        }
        assert_eq!(seen, BTreeSet::from(["end", "new", "old"]));
    }
}

/// F-061: the model itself tells a save without a sync from one with it.
#[test]
fn the_model_finds_a_missing_sync() {
    let call =
        |name: &str, line: &str| Call { name: name.to_owned(), nth: 1, line: line.to_owned() };
    let save = [
        call("openat", "3, \".inkcell-0.tmp\", O_WRONLY|O_CREAT|O_EXCL|O_NOFOLLOW) = 6"),
        call("write", "6, \"...\", 9000) = 9000"),
        call("fsync", "6) = 0"),
        call("renameat", "3, \".inkcell-0.tmp\", 3, \"nb.ipynb\") = 0"),
        call("fsync", "3) = 0"),
    ];
    let end = |skip: Option<usize>| {
        let mut disk = Disk::default();
        for (at, call) in save.iter().enumerate() {
            if Some(at) != skip {
                disk.after(call, 3);
            }
        }
        disk.found()
    };
    assert_eq!(end(None), BTreeSet::from([Found::New(9000)]));
    let torn = [0, 4096, 8192, 9000].map(Found::New);
    assert_eq!(end(Some(2)), BTreeSet::from(torn));
    assert_eq!(end(Some(4)), BTreeSet::from([Found::Old, Found::New(9000)]));
}
