//! Faults of tier 2: floods, odd bytes, streams that a cell broke, slow readers.

use inkcell_kernel::{ExecEvent, ExecId, History, KernelEvent, Outcome, StreamName};
use inkcell_testkit::wait::until_async;
use sha2::{Digest as _, Sha256};

use crate::bench::{Bench, LIMIT, Start};
use crate::faults_death::host_memory;

/// The most memory that the host may hold for a flood, in bytes.
const ROOM: u64 = 64 << 20;

/// Reads an execution to its end without keeping the output, and returns length and digest of standard output. At any
/// time, the host may hold only [`ROOM`] more memory than before.
async fn digest(bench: &mut Bench, exec: ExecId, before: u64) -> (u64, Vec<u8>) {
    let (mut hasher, mut size) = (Sha256::new(), 0);
    for at in 0u64.. {
        if at % 64 == 0 {
            let grown = host_memory().saturating_sub(before);
            assert!(grown < ROOM, "{grown} bytes more than before");
        }
        let next = tokio::time::timeout(LIMIT, bench.events.next()).await.expect("in time");
        match next.expect("an event") {
            KernelEvent::Exec { event: ExecEvent::Stream { data, .. }, exec: of } if of == exec => {
                hasher.update(&data);
                size += data.len() as u64;
            }
            KernelEvent::Exec { event: ExecEvent::Finished(outcome), .. } => {
                assert_eq!(outcome, Outcome::Ok);
                return (size, hasher.finalize().to_vec());
            }
            KernelEvent::Exec { event: ExecEvent::Started { .. }, .. } => {}
            other => panic!("{other:?}"),
        }
    }
    unreachable!("a flood has an end")
}

/// Length and digest of bytes that the test makes itself.
fn digest_of(pieces: impl Iterator<Item = Vec<u8>>) -> (u64, Vec<u8>) {
    let (mut hasher, mut size) = (Sha256::new(), 0);
    for piece in pieces {
        hasher.update(&piece);
        size += piece.len() as u64;
    }
    (size, hasher.finalize().to_vec())
}

/// F-030 F-031: every byte of a flood arrives, in lines or in one piece, and the host stays small.
async fn a_flood_arrives_whole_and_the_host_stays_small(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("1").await.ok();
    let before = host_memory();
    let lines = "for n in range(500_000): print('%08d' % n + 'x' * 91)";
    let exec = bench.post(lines, History::Store);
    let wanted = (0..500_000).map(|n| format!("{n:08}{}\n", "x".repeat(91)).into_bytes());
    assert_eq!(digest(&mut bench, exec, before).await, digest_of(wanted));
    let one = "import sys\n_ = sys.stdout.write('0123456789' * 15_000_000)";
    let exec = bench.post(one, History::Store);
    let wanted = (0..15_000).map(|_| b"0123456789".repeat(1000));
    assert_eq!(digest(&mut bench, exec, before).await, digest_of(wanted));
    let raw = "import os\nos.system('seq 1 2000000')\nNone";
    let exec = bench.post(raw, History::Store);
    let wanted = (1..=2_000_000).map(|n| format!("{n}\n").into_bytes());
    assert_eq!(digest(&mut bench, exec, before).await, digest_of(wanted));
    let grown = host_memory().saturating_sub(before);
    assert!(grown < ROOM, "{grown} bytes more than before");
}

/// F-033: bytes arrive unchanged, at any cut.
async fn odd_bytes_arrive_at_every_cut(start: Start) {
    let mut bench = Bench::start(start).await;
    // Characters of two to four bytes, a byte order mark, C0 and C1, NUL, and invalid UTF-8.
    let odd = "odd = 'aé€😀\\ufeff\\x00\\x1b[31m\\x85\\r\\b'.encode() + b'\\xff\\xfe\\xc3\\x28\\xed\\xa0\\x80\\xf8' + b'z'";
    bench.run(odd).await.ok();
    let wanted = "aé€😀\u{feff}\0\u{1b}[31m\u{85}\r\u{8}".as_bytes();
    let wanted = [wanted, b"\xff\xfe\xc3\x28\xed\xa0\x80\xf8z"].concat();
    let ways = [
        "import sys\nfor cut in range(len(odd)):\n    for part in (odd[:cut], odd[cut:]):\n        \
         sys.stdout.buffer.write(part); sys.stdout.flush()",
        "import os\nfor cut in range(len(odd)):\n    os.write(1, odd[:cut]); os.write(1, odd[cut:])",
        "import subprocess\nfor cut in range(len(odd)):\n    \
         subprocess.run(['cat'], input=odd[:cut]); subprocess.run(['cat'], input=odd[cut:])",
    ];
    for code in ways {
        let ran = bench.run(code).await.ok();
        assert!(ran.bytes(StreamName::Stdout) == wanted.repeat(wanted.len()), "{code}");
    }
    let table = [
        ("print('\\ud800')", "\\ud800\n"),
        ("print('a\\x00b')", "a\0b\n"),
        ("print('\\udcff', end='')", "\\udcff"),
        ("'\\ud800'", ""),
    ];
    for (code, text) in table {
        let ran = bench.run(code).await.ok();
        assert_eq!((ran.stdout().as_str(), ran.stderr().as_str()), (text, ""), "{code}");
    }
    assert_eq!(bench.run("raise ValueError('\\ud800')").await.error().value, "\\ud800");
}

/// F-037: if the host does not read, the kernel waits; no buffer grows, and no output is lost.
async fn a_reader_that_lags_slows_the_kernel_down(start: Start) {
    let mut bench = Bench::start(start).await;
    let before = host_memory();
    // `seen` is the progress of the cell before any read; a file appears once the progress stops.
    let code = "import os, threading, time\nseen = done = 0\n\
                def watch():\n    global seen\n    same = 0\n    while True:\n        now = done\n        \
                if os.path.exists('reader'): return\n        \
                same = same + 1 if now == seen > 0 else 0\n        seen = now\n        \
                if same == 20: open('stuck', 'w').close()\n        time.sleep(0.01)\n\
                threading.Thread(target=watch).start()\n\
                for n in range(200):\n    print('x' * 499_999)\n    done = n";
    let exec = bench.post(code, History::Store);
    let stuck = bench.cwd().join("stuck");
    until_async("a kernel that waits for its reader", async || stuck.exists()).await;
    assert!(host_memory().saturating_sub(before) < ROOM, "a host that does not read must not grow");
    std::fs::write(bench.cwd().join("reader"), "").expect("a file");
    let wanted = (0..200).map(|_| [vec![b'x'; 499_999], b"\n".to_vec()].concat());
    assert_eq!(digest(&mut bench, exec, before).await, digest_of(wanted));
    assert_eq!(bench.value("seen < 199").await, "True", "it must have waited for the reader");
    assert!(host_memory().saturating_sub(before) < ROOM);
}

/// F-038: the output of a thread that goes on belongs to the current cell or to none, and harms neither.
async fn a_thread_that_prints_on_harms_no_cell(start: Start) {
    let mut bench = Bench::start(start).await;
    let code = "import threading, time\ncan = threading.Semaphore(0)\n\
                def on():\n    for n in range(30):\n        can.acquire()\n        print('t%d;' % n)\n\
                thread = threading.Thread(target=on)\nthread.start()\ncan.release(10)";
    let mut text = String::new();
    for code in [code, "can.release(10)\ntime.sleep(0.05)", "can.release(10)\nthread.join()"] {
        let ran = bench.run(code).await.ok();
        assert_eq!(ran.stderr(), "");
        text.push_str(&ran.orphaned());
        text.push_str(&ran.stdout());
    }
    let wanted: String = (0..30).map(|n| format!("t{n};\n")).collect();
    let all: Vec<&str> = wanted.lines().collect();
    let mut seen: Vec<&str> = text.lines().collect();
    seen.sort_by_key(|line| line[1..line.len() - 1].parse::<u32>().expect("a number"));
    assert_eq!(seen, all, "nothing is lost and nothing comes twice");
    // A thread that fails reports it, and does not change the outcome of a cell.
    let ran =
        bench.run("t = threading.Thread(target=lambda: 1 / 0)\nt.start()\nt.join()").await.ok();
    assert!(ran.stderr().contains("ZeroDivisionError"), "{:?}", ran.stderr());
}

/// F-039: a cell that breaks its streams gets a true report, and the next cell has sound streams.
async fn broken_streams_are_whole_in_the_next_cell(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("import io, os, sys\nclass Bad:\n    def write(self, text): raise OSError('bad stream')").await.ok();
    // Code that harms the stream, and the error of a print in the same cell.
    let table = [
        ("del sys.stdout", Some("RuntimeError")),
        ("sys.stdout = None", None),
        ("sys.stdout = Bad()", Some("OSError")),
        ("sys.stdout.close()", Some("ValueError")),
        ("sys.stdout.buffer.close()", Some("ValueError")),
        ("sys.stdout.detach()", Some("ValueError")),
        ("sys.stdout.buffer.detach()", Some("ValueError")),
        (
            "sys.stdout.reconfigure(encoding='ascii', errors='strict'); print('é')",
            Some("UnicodeEncodeError"),
        ),
        ("sys.stdout.buffer.raw.close()", Some("ValueError")),
        ("del sys.stderr", None),
        ("sys.stderr.close()", None),
        ("sys.stderr = Bad()", None),
        ("sys.__stdout__ = None; sys.stdout = None", None),
        ("os.close(1)", None),
        ("os.close(2)", None),
        ("os.dup2(os.open('/dev/null', os.O_WRONLY), 1)", None),
        ("os.closerange(0, 3)", None),
        ("sys.stdin.close()", None),
        ("os.close(0)", None),
    ];
    for (harm, error) in table {
        let ran = bench.run(&format!("{harm}\nprint('here')")).await;
        match (ran.outcome(), error) {
            (Outcome::Ok, None) => {}
            (Outcome::Error(found), Some(wanted)) => assert_eq!(found.name, wanted, "{harm}"),
            (found, _) => panic!("{harm}: {found:?}"),
        }
        let ran = bench
            .run("print('é')\nprint('err', file=sys.stderr)\nos.system('echo child; echo bad >&2; cat');")
            .await
            .ok();
        assert_eq!(
            (ran.stdout().as_str(), ran.stderr().as_str()),
            ("é\nchild\n", "err\nbad\n"),
            "{harm}"
        );
    }
}

/// F-045: warnings, logs and output of C code arrive before the end.
async fn warnings_logs_and_c_code_are_there_before_the_end(start: Start) {
    let mut bench = Bench::start(start).await;
    let ran = bench.run("import warnings\nwarnings.warn('careful')").await.ok();
    assert!(ran.stderr().contains("UserWarning: careful"), "{:?}", ran.stderr());
    let ran = bench.run("import logging\nlogging.warning('logged')").await.ok();
    assert!(ran.stderr().contains("WARNING:root:logged"), "{:?}", ran.stderr());
    let code = "import faulthandler\nfaulthandler.dump_traceback()\nfaulthandler.enable()\nfaulthandler.is_enabled()";
    let ran = bench.run(code).await.ok();
    assert!(ran.stderr().contains("most recent call first"), "{:?}", ran.stderr());
    let code =
        "import ctypes\nlibc = ctypes.CDLL(None)\nfor n in range(3): libc.printf(b'%d;', n)\nNone";
    assert_eq!(bench.run(code).await.ok().stdout(), "0;1;2;");
    assert_eq!(bench.run("libc.puts(b'before')\nraise ValueError").await.stdout(), "before\n");
}

/// F-035 F-037: a gateway takes all output of its kernels, so output for a slow reader waits on the disk: the host
/// stays small and loses nothing. Each line is a message, so no single one is large.
async fn a_reader_that_lags_finds_everything(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("1").await.ok();
    let before = host_memory();
    let code = "for n in range(200): print('x' * 499_999, flush=True)\nopen('done', 'w').close()";
    let exec = bench.post(code, History::Store);
    let done = bench.cwd().join("done");
    until_async("the end of a kernel that nobody holds up", async || done.exists()).await;
    assert!(host_memory().saturating_sub(before) < ROOM, "a host that does not read must not grow");
    let wanted = (0..200).map(|_| [vec![b'x'; 499_999], b"\n".to_vec()].concat());
    assert_eq!(digest(&mut bench, exec, before).await, digest_of(wanted));
    assert!(host_memory().saturating_sub(before) < ROOM);
}

crate::on_gateways!(
    a_flood_arrives_whole_and_the_host_stays_small,
    a_reader_that_lags_finds_everything,
    a_thread_that_prints_on_harms_no_cell,
);

crate::on_every_backend!(
    a_flood_arrives_whole_and_the_host_stays_small,
    odd_bytes_arrive_at_every_cut,
    a_reader_that_lags_slows_the_kernel_down,
    a_thread_that_prints_on_harms_no_cell,
    broken_streams_are_whole_in_the_next_cell,
    warnings_logs_and_c_code_are_there_before_the_end,
);

crate::on_jupyter!(
    a_flood_arrives_whole_and_the_host_stays_small,
    a_thread_that_prints_on_harms_no_cell,
);
