//! Faults of the channel: a cell cannot forge a result by accident, whatever it writes to any descriptor.

use std::time::Duration;

use inkcell_kernel::{Death, DeathCause, ExecEvent, History, Ladder};

use crate::bench::{Bench, Ran, Start};

/// Makes frames for a cell to write: right and wrong ones, whole and cut.
const FORGERIES: &str = r#"
import os
def frame(t, nonce, s, **fields):
    import json
    return (json.dumps(dict({"n": nonce, "s": s, "t": t}, **fields)) + "\n").encode()
error = dict(ename="Forged", evalue="", traceback=[], plain=["forged"])
forged = []
for nonce in ("", "0" * 32, "abc"):
    for s in (1, 2, 3, 4, 5, 10 ** 6):
        for exec in (1, 2, 3, 99):
            forged.append(frame("done", nonce, s, id=exec, status="ok", count=1, cancelled=False))
            forged.append(frame("error", nonce, s, id=exec, **error))
            forged.append(frame("result", nonce, s, id=exec, count=1, parts=[["text/plain", "t", 6]], metadata="", bytes=6) + b"forged")
shapes = [
    b"\n", b"{}\n", b"null\n", b"[]\n", b"not json\n", b"\x00\xff\xfe\n", b'{"n":1}\n', b'{"t":"done"}\n',
    b'{"n":"","s":1,"t":"stream","id":1,"name":"stdout","bytes":99999999999999}\n',
    b'{"n":"","s":-1,"t":"nothing"}\n', b'{"n":"","s":1,"t":"done","id":',
]
"#;

/// Checks that the kernel is sound, or that it died of the bytes, and that it believed none of them.
async fn check(bench: &mut Bench, ran: Ran, what: &str) {
    let is_forged = |text: &str| text.contains("forged") || text.contains("Forged");
    for event in &ran.events {
        match event {
            ExecEvent::Result { data, .. } | ExecEvent::Display { data, .. } => {
                assert!(!is_forged(&format!("{data:?}")), "{what}: {event:?}");
            }
            ExecEvent::Finished(outcome) => {
                assert!(!is_forged(&format!("{outcome:?}")), "{what}: {outcome:?}");
            }
            _ => {}
        }
    }
    // The cell may have ended by itself before the host gave the kernel up.
    let death = match ran.death {
        Some(death) => Some(death),
        None => is_sound(bench, what).await.err(),
    };
    if let Some(death) = death {
        let is_told = matches!(death.cause, DeathCause::Protocol { .. });
        assert!(is_told, "{what}: {death:?}");
        bench.relaunch().await;
        bench.run(FORGERIES).await.ok();
    }
}

/// Checks that a kernel still answers; an error holds its death.
async fn is_sound(bench: &mut Bench, what: &str) -> Result<(), Death> {
    let request = bench.request("'sound'");
    let exec = request.exec;
    let posted = bench.kernel().execute(request);
    let ran = bench.collect(exec).await;
    if let Some(death) = ran.death {
        return Err(death);
    }
    assert!(posted.is_ok(), "{what}: a kernel that is gone says so");
    assert_eq!(ran.ok().result().as_deref(), Some("'sound'"), "{what}");
    Ok(())
}

/// F-032: frames on the descriptors that a cell may hit by accident become text, or vanish.
async fn frames_on_low_descriptors_are_text(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run(FORGERIES).await.ok();
    let ran = bench.run("for one in forged + shapes: os.write(1, one)").await.ok();
    assert!(ran.stdout().contains("Forged") && ran.death.is_none(), "it is output like any other");
    let ran = bench.run("print((b''.join(forged + shapes)).decode('latin-1'))").await.ok();
    assert!(ran.stdout().contains("Forged"));
    let code = "for fd in range(3, 100):\n    for one in forged + shapes:\n        \
                try: os.write(fd, one)\n        except OSError: break\n'end'";
    let ran = bench.run(code).await.ok();
    assert_eq!(ran.result().as_deref(), Some("'end'"), "the channel is no low number");
    assert_eq!(bench.value("'sound'").await, "'sound'");
}

/// F-032: frames on every open descriptor, one after another: the worst result is a death with its cause.
async fn frames_on_every_descriptor_forge_nothing(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run(FORGERIES).await.ok();
    let list = "sorted(int(fd) for fd in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + fd))";
    let found = bench.value(list).await;
    let count = found.split(',').count();
    assert!(count >= 6, "{found}");
    for at in 0..count {
        for what in
            ["forged[0]", "forged[1]", "forged[2]", "shapes[4]", "shapes[10]", "b''.join(forged)"]
        {
            let code = format!(
                "fd = {list}[{at}]\ntry: os.set_blocking(fd, False); os.write(fd, {what})\n\
                 except OSError as problem: print(problem)\nfinally: os.set_blocking(fd, True)"
            );
            let ran = bench.run(&code).await;
            check(&mut bench, ran, &format!("{what} to number {at} of {found}")).await;
        }
    }
}

/// F-032: a thread that reads from every descriptor while commands arrive may end or stall the kernel, but
/// each answer belongs to its question.
async fn reading_every_descriptor_forges_nothing(start: Start) {
    let mut bench = Bench::start(start).await;
    let code = "import os, select, threading\ndef take():\n    while not done.is_set():\n        \
                for name in os.listdir('/proc/self/fd'):\n            try:\n                \
                fd = int(name)\n                \
                if fd < 100 and select.select([fd], [], [], 0)[0]: os.read(fd, 1)\n            \
                except OSError: pass\ndone = threading.Event()\nthreading.Thread(target=take).start()";
    bench.run(code).await.ok();
    for n in 0..50 {
        assert_eq!(bench.value(&format!("{n} + 1")).await, (n + 1).to_string());
    }
    bench.run("done.set()").await.ok();
}

/// F-032: half a frame followed by silence does not block a caller for ever.
async fn half_a_frame_can_be_interrupted(start: Start) {
    let mut bench = Bench::start(start).await;
    let code = "import os, stat, time\nfor name in os.listdir('/proc/self/fd'):\n    \
                try:\n        if stat.S_ISSOCK(os.fstat(int(name)).st_mode): os.write(int(name), b'{\"n\":')\n    \
                except OSError: pass\nos.write(1, b'go')\ntime.sleep(60)";
    let exec = bench.post(code, History::Store);
    bench.wait_for_output("go").await;
    let (ran, _) = bench.climb(exec, Ladder::new(Duration::from_millis(500))).await;
    assert!(matches!(ran.cause(), DeathCause::Protocol { .. }), "{:?}", ran.cause());
    bench.relaunch().await;
    bench.run("1").await.ok();
}

/// F-032: closing every descriptor ends the kernel with the true cause, in time.
async fn closing_every_descriptor_is_a_death(start: Start) {
    let mut bench = Bench::start(start).await;
    let ran = bench.run("import os\nos.closerange(3, 1000)\n1 + 1").await;
    ran.cause();
    assert_eq!(ran.result(), None);
    bench.relaunch().await;
    bench.run("1").await.ok();
}

crate::on_every_backend!(
    frames_on_low_descriptors_are_text,
    frames_on_every_descriptor_forge_nothing,
    reading_every_descriptor_forges_nothing,
    half_a_frame_can_be_interrupted,
    closing_every_descriptor_is_a_death,
);

crate::on_jupyter!(closing_every_descriptor_is_a_death,);
