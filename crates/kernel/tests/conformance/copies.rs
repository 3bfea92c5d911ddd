//! Copies of a kernel that has run code: each continues on its own from the same state, if that is sound.

use std::sync::Arc;

use inkcell_kernel::{Backend, DeathCause, Kernel, KernelEvents};
use inkcell_testkit::wait::until_async;
use tokio_util::sync::CancellationToken;

use crate::bench::{Bench, LIMIT, Start};

/// The original kernel, while copies of it exist.
struct Original {
    backend: Arc<dyn Backend>,
    kernel: Option<Box<dyn Kernel>>,
    _events: KernelEvents,
}

/// Turns the kernel of a bench into an original, and puts a copy into the bench.
async fn copied(bench: &mut Bench) -> Original {
    let backend = bench.kernel().copies().await.expect("it can be copied");
    let kernel = bench.kernel.take().expect("a kernel");
    let (_, none) = KernelEvents::channel(1);
    let events = std::mem::replace(&mut bench.events, none);
    let original = Original { backend, kernel: Some(kernel), _events: events };
    another(bench, &original).await;
    original
}

/// Replaces the copy with a new one.
async fn another(bench: &mut Bench, original: &Original) {
    let cancel = CancellationToken::new();
    let launched = original.backend.launch(&bench.spec, &cancel).await.expect("a copy");
    (bench.kernel, bench.events) = (Some(launched.kernel), launched.events);
}

/// A copy has the original's names, folder, variables, counts and history, and its changes are its own.
async fn a_copy_goes_on_where_the_original_was(start: Start) {
    let mut bench = Bench::start(start).await;
    let code = "import os\nx = [1]\nos.makedirs('deep', exist_ok=True)\nos.chdir('deep')\nos.environ['OWN'] = 'yes'";
    bench.run(code).await.ok();
    let first = bench.value("os.getpid()").await;
    let original = copied(&mut bench).await;
    let code = "x.append(2)\nx, os.path.basename(os.getcwd()), os.environ['OWN'], In[-2], os.getpgrp() == os.getpid()";
    let wanted = "([1, 2], 'deep', 'yes', 'os.getpid()', True)";
    assert_eq!(bench.value(code).await, wanted);
    assert_ne!(bench.value("os.getpid()").await, first);
    let ran = bench.run("print('said')\nos.system('echo raw')\n1 / 0").await;
    assert_eq!(ran.error().name, "ZeroDivisionError");
    let said = ran.stdout();
    assert!(said.contains("said") && said.contains("raw"), "{said}");
    // The next copy does not see those changes.
    another(&mut bench, &original).await;
    assert_eq!(bench.value("x").await, "[1]");
    let ran = bench.run("os._exit(9)").await;
    assert_eq!(ran.death.expect("a death").cause, DeathCause::Exit { code: 9 });
    another(&mut bench, &original).await;
    assert_eq!(bench.value("x").await, "[1]");
}

/// A copy has the same descriptors as any kernel, and processes that its cells fork hold none of them.
async fn a_copy_holds_nothing_of_the_original(start: Start) {
    let mut bench = Bench::start(start).await;
    let code = "import asyncio, os\ndef held():\n    found = []\n    for fd in os.listdir('/proc/self/fd'):\n        try: \
                found.append(os.readlink('/proc/self/fd/' + fd).split(':')[0])\n        except OSError: pass\n    \
                return sorted(found)";
    bench.run(code).await.ok();
    let alone = bench.value("held()").await;
    // The child has the two sockets of the event loop.
    let child = "r, w = os.pipe()\npid = os.fork()\nif pid == 0:\n    os.write(w, str(held().count('socket')).encode())\n    \
                 os._exit(0)\nos.waitpid(pid, 0)\nread = os.read(r, 9)\nos.close(r)\nos.close(w)\nread";
    assert_eq!(bench.value(child).await, "b'2'");
    let _original = copied(&mut bench).await;
    assert_eq!(bench.value("held()").await, alone);
    assert_eq!(bench.value(child).await, "b'2'");
}

/// Each copy draws its own random numbers, unless a cell has set the seed or the state.
async fn copies_draw_their_own_numbers(start: Start) {
    for (code, is_same) in [
        ("import random", false),
        ("import random\nlinseed = 1", false),
        ("import random\nrandom.seed(42)", true),
        ("import random\nrandom.setstate(random.getstate())", true),
    ] {
        let mut bench = Bench::start(start).await;
        bench.run(code).await.ok();
        let original = copied(&mut bench).await;
        let one = bench.value("random.random()").await;
        another(&mut bench, &original).await;
        let other = bench.value("random.random()").await;
        assert_eq!(one == other, is_same, "{code}: {one} and {other}");
    }
}

/// The error names what a fork cannot copy, and the kernel then goes on as before.
async fn what_cannot_be_copied_is_told(start: Start) {
    let table = [
        (
            "import threading\nstop = threading.Event()\nthreading.Thread(target=stop.wait).start()",
            "the cells left 1 thread running",
            "stop.set()",
        ),
        // Issue 25, 1: a thread is judged by its name, and an event loop by what is left in it.
        (
            "import ctypes\nlibc = ctypes.CDLL(None)\nthread = ctypes.c_ulong()\n\
             pause = ctypes.cast(libc.pause, ctypes.c_void_p)\n\
             started = libc.pthread_create(ctypes.byref(thread), None, pause, None)\n\
             named = libc.pthread_setname_np(thread, b'stranger')",
            "the cells left 1 thread running that is not Python's (stranger)",
            "libc.pthread_cancel(thread)",
        ),
        (
            "import asyncio\ntask = asyncio.ensure_future(asyncio.sleep(600))",
            "the cells left 1 task unfinished",
            "task.cancel()",
        ),
        ("f = open('left.txt', 'w')", "left.txt open", "f.close()"),
        ("import socket\ns = socket.socket()", "the cells left a connection open", "s.close()"),
        (
            "import subprocess\np = subprocess.Popen(['sleep', '600'])",
            "the cells left a process running",
            "p.kill(); p.wait()",
        ),
        (
            "import tempfile\nt = tempfile.TemporaryDirectory()",
            "removed when the process ends",
            "t.cleanup()",
        ),
        (
            "import mmap\nm = mmap.mmap(-1, 4096)",
            "the cells share memory with other processes",
            "m.close()",
        ),
        (
            "import os\nname = '/dev/shm/inkcell-test-%d' % os.getpid()\nf = open(name, 'w')",
            "the cells left shared memory open",
            "f.close(); os.remove(name)",
        ),
        // Issue 21, 22: a descriptor that pretends to belong to a device.
        (
            "import os\nkept, read = open(os.devnull), os.readlink\n\
             def readlink(path, *rest, **more):\n    is_it = path == '/proc/self/fd/%d' % kept.fileno()\n    \
             return '/dev/nvidia0' if is_it else read(path, *rest, **more)\nos.readlink = readlink",
            "the cells use a GPU (/dev/nvidia0)",
            "os.readlink = read; kept.close()",
        ),
    ];
    for (code, reason, undo) in table {
        let mut bench = Bench::start(start).await;
        bench.run(code).await.ok();
        let told = bench.kernel().copies().await.err().expect("it cannot be copied").to_string();
        assert!(told.contains(reason), "{told}");
        bench.run(undo).await.ok();
        assert_eq!(bench.value("6 * 7").await, "42");
    }
}

/// Every copy ends like any kernel and runs its exit handlers. The original, whose work they continue, runs none.
/// Names are released, although Python still counts threads that a fork has left behind.
async fn a_copy_ends_as_a_kernel_does(start: Start) {
    let mut bench = Bench::start(start).await;
    let code = "import atexit, os\n\
                def mark(what, os=os): os.close(os.open('%s-%d' % (what, os.getpid()), os.O_CREAT | os.O_WRONLY))\n\
                class Held:\n    def __del__(self, mark=mark): mark('let-go')\n\
                held = Held()\n_ = atexit.register(mark, 'ended')";
    bench.run(code).await.ok();
    let mut original = copied(&mut bench).await;
    let mut wanted = Vec::new();
    for number in 0..2 {
        if number > 0 {
            another(&mut bench, &original).await;
        }
        let pid = bench.value("os.getpid()").await;
        bench.shut_down().await;
        wanted.extend([format!("ended-{pid}"), format!("let-go-{pid}")]);
    }
    let kernel = original.kernel.take().expect("the original");
    kernel.shutdown(LIMIT).await;
    let entries = std::fs::read_dir(bench.cwd()).expect("the folder").flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut found: Vec<String> =
        names.filter(|name| name.starts_with("ended-") || name.starts_with("let-go-")).collect();
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
}

/// A failed fork gives an error, and the next one may succeed.
async fn a_failed_fork_is_told(start: Start) {
    let mut bench = Bench::start(start).await;
    let code = "import os\nreal, times = os.fork, []\ndef fork():\n    times.append(1)\n    \
                if len(times) == 2: raise BlockingIOError(11, 'no room')\n    return real()\nos.fork = fork";
    bench.run(code).await.ok();
    let original = copied(&mut bench).await;
    let cancel = CancellationToken::new();
    let failed = original.backend.launch(&bench.spec, &cancel).await.err().expect("no copy");
    let told = std::error::Error::source(&failed).map(|cause| cause.to_string());
    let told = format!("{failed} {}", told.unwrap_or_default());
    assert!(told.contains("no process can be made") && told.contains("no room"), "{told}");
    another(&mut bench, &original).await;
    assert_eq!(bench.value("len(times)").await, "3");
}

/// Copies end on interrupts and with their host, like any kernel.
async fn a_copy_listens_to_interrupts(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("import time").await.ok();
    let _original = copied(&mut bench).await;
    let request = bench.request("open('on', 'w').close()\ntime.sleep(600)");
    let exec = request.exec;
    bench.kernel().execute(request).expect("the kernel is there");
    let begun = bench.cwd().join("on");
    until_async("the cell to begin", async || begun.exists()).await;
    bench.kernel().interrupt().expect("the kernel is there");
    assert_eq!(bench.collect(exec).await.error().name, "KeyboardInterrupt");
    assert_eq!(bench.value("1").await, "1");
}

crate::on_every_backend!(
    a_copy_goes_on_where_the_original_was,
    a_copy_holds_nothing_of_the_original,
    copies_draw_their_own_numbers,
    what_cannot_be_copied_is_told,
    a_copy_ends_as_a_kernel_does,
    a_failed_fork_is_told,
    a_copy_listens_to_interrupts,
);
