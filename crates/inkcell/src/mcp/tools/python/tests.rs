//! `python` as each profile has it, with a real kernel.

use inkcell_testkit::notebooks::jupyter;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::mcp::desk::Content;
use crate::mcp::desk::weight;
use crate::mcp::exposure::ToolSet;
use crate::mcp::tools::tests::{TestDesk, has_ipykernel, text, until_there};

/// B:X-01: the documents' `python` takes their arguments and none of ours but `max_bytes` and `tail`, and says so.
#[tokio::test]
async fn the_documents_python_has_their_arguments_only() {
    let desk = TestDesk::new(ToolSet::Compat);
    let refused = [
        json!({"path": "n.ipynb", "cell": 0}),
        json!({"code": "1", "wait": 1}),
        json!({"code": "1", "backend": "runner"}),
        json!({"cells": [{"code": "1", "timeout": 1}]}),
        json!({"cells": [{"code": "1", "reset": true}]}),
    ];
    for given in refused {
        assert_eq!(desk.error("python", given.clone()).await.kind.name(), "invalid", "{given}");
    }
    let error = desk.error("python", json!({"code": "1", "wait": 1})).await;
    assert_eq!(error.message, "no argument named 'wait'");
    let next = "use these: cells, code, timeout, cwd, reset, kernelId, max_bytes, tail";
    assert_eq!(error.next.as_deref(), Some(next));
    let error = desk.error("python", json!({})).await;
    assert_eq!(error.next.as_deref(), Some("give one of: cells, code"));
    assert!(desk.desk.engine.sessions().is_empty(), "nothing was run");

    let other = json!({"cells": [{"code": "x = 5"}], "kernelId": "other"});
    assert_eq!(desk.text("python", other).await, "(no output)");
    let again = json!({"code": "x", "session": "other", "workdir": "."});
    assert_eq!(desk.text("python", again).await, "5");
    let reset = json!({"code": "'x' in globals()", "kernelId": "other", "reset": true});
    assert_eq!(desk.text("python", reset).await, "False");
    let made = desk.text("python", json!({"code": "1", "kernelId": "new"})).await;
    assert!(made.starts_with("1\n\n[session s"), "{made}");
    // B:X-02: 0 is below the range here.
    let low = desk.text("python", json!({"code": "1", "timeout": 0})).await;
    assert_eq!(low, "1\n\n[timeout 0 is outside 1 to 600 seconds; 1 was used]");
    desk.end().await;
}

/// B:X-06 B:X-07 B:X-22 word for word, with the records of B:X-09 beside them.
#[tokio::test]
async fn the_documents_python_fails_in_their_words() {
    let desk = TestDesk::new(ToolSet::Compat);
    let cells = [json!({"code": "a = 1"}), json!({"code": "1/0"}), json!({"code": "b = 1"})];
    let failed = desk.call("python", json!({"cells": cells})).await;
    let end = "ZeroDivisionError: division by zero\n\nCell 2 failed (exit code 1). Earlier cells \
               succeeded—their state persists. Fix only cell 2.";
    assert!(failed.is_error && text(&failed).ends_with(end), "{}", text(&failed));
    let details = failed.structured.unwrap();
    let status = |at: usize| details["cells"][at]["status"].clone();
    assert_eq!([status(0), status(1), status(2)], ["complete", "error", "pending"]);
    assert_eq!(details["cells"][1]["exitCode"], 1);
    assert_eq!(details["isError"], true);

    let one = desk.call("python", json!({"code": "1/0"})).await;
    let end = "ZeroDivisionError: division by zero\n\nCommand exited with code 1";
    assert!(one.is_error && text(&one).ends_with(end), "{}", text(&one));

    let code = "print('half')\nimport time\ntime.sleep(60)";
    let late = desk.call("python", json!({"code": code, "timeout": 1})).await;
    let said = text(&late);
    assert!(late.is_error && said.starts_with("[Command timed out after 1 seconds;"), "{said}");
    assert!(said.contains("]\nhalf\n"), "B:X-23 {said}");
    assert_eq!(late.structured.unwrap()["cells"][0].get("exitCode"), None, "B:X-20");

    let cancel = CancellationToken::new();
    let waits = "open('begun', 'w').close()\nimport time\ntime.sleep(60)";
    let cells = json!({"cells": [{"code": "1"}, {"code": waits}]});
    let call = desk.call_with("python", cells, cancel.clone(), None);
    let give_up = async {
        until_there(&desk.path("begun")).await;
        cancel.cancel();
    };
    let (aborted, ()) = tokio::join!(call, give_up);
    assert_eq!(text(&aborted), "[1/2]\n1\n\n[2/2]\n\nCell 2 aborted: Command aborted");
    assert!(aborted.is_error);
    desk.end().await;
}

/// Issue 21, 3: after a cell that ended its kernel no profile says that state persists, whichever backend made the
/// kernel.
#[tokio::test]
async fn death_of_a_kernel_leaves_no_state() {
    let second = "Cell 2 failed (exit code 1). The kernel and the state of earlier cells are gone. Fix cell 2 and run \
                  all cells again.";
    let first = "Cell 1 failed (exit code 1). The kernel and its variables are gone. Fix cell 1.";
    let dies = json!({"code": "import os; os._exit(3)"});
    let other = json!({"code": "x = 1"});
    let zmq = has_ipykernel("death_of_a_kernel_leaves_no_state").then_some("zmq");
    for backend in ["runner"].into_iter().chain(zmq) {
        for set in [ToolSet::Default, ToolSet::Compat] {
            let variables =
                [("INKCELL_PYTHON_BACKEND", backend), ("INKCELL_PYTHON_START_TIMEOUT", "180")];
            let desk = TestDesk::with(set, &variables);
            for (cells, wanted) in
                [([&other, &dies, &other], second), ([&dies, &other, &other], first)]
            {
                let died = desk.call("python", json!({"cells": cells})).await;
                let said = text(&died);
                assert!(died.is_error && said.contains(wanted), "{backend}: {said}");
                assert!(!said.contains("persist"), "{backend}: {said}");
            }
            desk.end().await;
        }
    }
}

/// B:X-09b: beside an image the details are not structured content, and they are not lost.
#[tokio::test]
async fn details_travel_beside_an_image() {
    let desk = TestDesk::new(ToolSet::Compat);
    let code = "import zlib, struct\n\
        def chunk(kind, data):\n    body = kind + data\n    \
            return struct.pack('>I', len(data)) + body + struct.pack('>I', zlib.crc32(body))\n\
        png = (b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 1, 1, 8, 2, 0, 0, 0))\n    \
            + chunk(b'IDAT', zlib.compress(b'\\0abc')) + chunk(b'IEND', b''))\n\
        display({'image/png': png}, raw=True)";
    let reply = desk.call("python", json!({"code": code})).await;
    assert!(reply.content.iter().any(|part| matches!(part, Content::Image { .. })), "{reply:?}");
    assert_eq!(reply.structured, None);
    let details = reply.details.unwrap();
    assert_eq!(details["cells"][0]["status"], "complete");
    assert_eq!(details["images"][0]["mimeType"], "image/png");
    desk.end().await;
}

/// Beside the answer for a model, and in the details of the documents' tool.
#[tokio::test]
async fn every_tool_that_runs_code_tells_the_same_facts() {
    let code = "for n in range(12_000): print('line', n)\n1 / 0";
    let desk = TestDesk::new(ToolSet::Default);
    desk.put("nb.ipynb", jupyter(&[("code", "aaaa", code)]));
    let again = format!("{code}  # again");
    let edit = json!({"path": "nb.ipynb", "cell": 0, "source": again, "run": "changed"});
    let mut told = Vec::new();
    for (tool, given) in [
        ("python", json!({"code": code})),
        ("notebook_run", json!({"path": "nb.ipynb"})),
        ("notebook_edit", edit),
    ] {
        let reply = desk.call(tool, given).await;
        assert_eq!(reply.structured, None, "{tool}: no client must show it in place of the text");
        told.push((tool, reply.details.unwrap()));
    }
    desk.end().await;
    let desk = TestDesk::new(ToolSet::Compat);
    let reply = desk.call("python", json!({"code": code})).await;
    told.push(("python of the documents", reply.structured.unwrap()));
    desk.end().await;
    for (tool, facts) in told {
        let cell = &facts["cells"][0];
        assert_eq!([&facts["isError"], &facts["cancelled"]], [true, false], "{tool}: {facts}");
        assert_eq!([&cell["cancelled"], &cell["timedOut"]], [false, false], "{tool}: {cell}");
        assert_eq!(cell["ename"], "ZeroDivisionError", "{tool}");
        assert_eq!(cell["evalue"], "division by zero", "{tool}");
        let traceback = cell["traceback"].as_array().and_then(|lines| lines.last()?.as_str());
        assert!(traceback.is_some_and(|line| line.contains("ZeroDivisionError")), "{tool}: {cell}");
        assert!(cell["executionCount"].is_u64(), "{tool}: {cell}");
        assert!(cell["truncation"]["artifactId"].is_string(), "{tool}: {cell}");
    }
}

/// A backend that cannot be had is refused with why; there is no other.
#[tokio::test]
async fn a_backend_that_is_not_there_is_refused() {
    let desk = TestDesk::new(ToolSet::Default);
    let error = desk.error("python", json!({"code": "1", "backend": "jupyter"})).await;
    assert_eq!(error.kind.name(), "invalid");
    assert_eq!(error.message, "backend: no backend named \"jupyter\"");
    let next = "remove backend, or give runner, zmq or gateway";
    assert_eq!(error.next.as_deref(), Some(next));
    assert!(desk.desk.engine.sessions().is_empty());
    // The Python of the tests has no gateway installed.
    let gateway = json!({"code": "1", "backend": "gateway", "session": "elsewhere"});
    let error = desk.error("python", gateway).await;
    assert_eq!(error.kind.name(), "unavailable");
    let wanted = "Shared Python gateway unavailable: kernel_gateway";
    assert!(error.message.starts_with(wanted), "{error:?}");
    let runner = json!({"code": "1 + 1", "backend": "runner"});
    assert_eq!(desk.text("python", runner).await, "2");
    if has_ipykernel("a_backend_that_is_not_there_is_refused") {
        let zmq = json!({"code": "1 + 2", "backend": "zmq", "session": "other"});
        assert_eq!(desk.text("python", zmq).await, "3");
    }
    desk.end().await;
}

/// `eval` gives its details also where both families are offered; `python` is ours there.
#[tokio::test]
async fn both_families_side_by_side() {
    let desk = TestDesk::new(ToolSet::All);
    let eval = json!({"cells": [{"language": "py", "code": "1 + 1"}]});
    let reply = desk.call("eval", eval).await;
    assert_eq!(text(&reply), "2");
    assert_eq!(reply.structured.unwrap()["cells"][0]["language"], "py");
    let reply = desk.call("python", json!({"code": "1 + 1", "kernelId": "other"})).await;
    assert_eq!((text(&reply).as_str(), reply.structured), ("2", None));
    desk.end().await;
}

/// However many pictures there are and however large they are, the answer has a bound: those that do not fit are
/// named with their files.
#[tokio::test]
async fn pictures_beyond_the_bound_are_left_as_files() {
    let code = "import os, struct, zlib\n\
        def chunk(kind, data):\n    \
            return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))\n\
        for n in range(6):\n    \
            rows = b''.join(b'\\0' + os.urandom(3 * 280) for _ in range(290))\n    \
            head = struct.pack('>IIBBBBB', 280, 290, 8, 2, 0, 0, 0)\n    \
            png = b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', head) + chunk(b'IDAT', zlib.compress(rows, 0))\n    \
            display({'image/png': png + chunk(b'IEND', b'')}, raw=True)";
    for set in [ToolSet::Default, ToolSet::Compat] {
        let desk = TestDesk::new(set);
        let reply = desk.call("python", json!({"code": code})).await;
        let said = text(&reply);
        let is_image = |part: &&Content| matches!(part, Content::Image { .. });
        assert_eq!(reply.content.iter().filter(is_image).count(), 2, "{said}");
        let files: Vec<&str> =
            said.lines().filter_map(|line| line.split(". Its file: ").nth(1)).collect();
        assert_eq!(files.len(), 4, "{said}");
        for file in files {
            let bytes = std::fs::read(file.trim_end_matches(']')).unwrap();
            assert!(bytes.starts_with(b"\x89PNG"), "{file}");
        }
        assert_eq!(weight::within(reply.clone(), weight::MOST_BYTES), reply);
        desk.end().await;
    }
}
