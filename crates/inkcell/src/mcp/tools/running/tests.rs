//! Calls of the code tools with a real kernel, through their specs.

use futures_util::future::join_all;
use inkcell_engine::Kind;
use inkcell_engine::api::KernelMode;
use inkcell_engine::registry::OwnerId;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::mcp::desk::{CallContext, Content, ToolReply};
use crate::mcp::exposure::ToolSet;
use crate::mcp::find;
use crate::mcp::tools::tests::{TestDesk, text, until_there};

/// B:X-01 B:X-05 B:X-08: code, cells, and a session that remembers.
#[tokio::test]
async fn code_runs_in_a_session_that_remembers() {
    let desk = TestDesk::new(ToolSet::Default);
    let one = desk.call("python", json!({"code": "x = 20\nx + 1"})).await;
    assert_eq!((text(&one).as_str(), one.is_error), ("21", false));
    assert_eq!(one.structured, None, "a client must not show it in place of the text");
    assert_eq!(desk.text("python", json!({"code": "y = x"})).await, "(no output)");
    let cells = json!({"cells": [{"code": "print(x)"}, {"code": "z = 1", "title": "quiet"}]});
    assert_eq!(desk.text("python", cells).await, "[1/2]\n20\n\n[2/2] quiet (ok)");
    let other = json!({"code": "'x' in globals()", "kernelId": "other", "timeout": null});
    assert_eq!(desk.text("python", other).await, "False");
    let reset = json!({"code": "'x' in globals()", "reset": true});
    assert_eq!(desk.text("python", reset).await, "False");
    desk.end().await;
}

/// B:X-01: a session that nobody has is named in its answer, and found by name whatever its folder.
#[tokio::test]
async fn a_new_session_is_named() {
    let desk = TestDesk::new(ToolSet::Default);
    std::fs::create_dir(desk.path("sub")).unwrap();
    let code = "import os; a = 5; os.path.basename(os.getcwd())";
    let new = json!({"code": code, "kernelId": "new", "cwd": "sub"});
    let said = desk.text("python", new).await;
    let name = said.strip_prefix("'sub'\n\n[session ").and_then(|rest| rest.strip_suffix(']'));
    let name = name.unwrap_or_else(|| panic!("{said}"));
    let again = desk.text("python", json!({"code": "a", "session": name})).await;
    assert_eq!(again, "5");
    let seen = desk.text("inspect", json!({"session": name, "name": "a"})).await;
    assert!(seen.starts_with("a: int"), "{seen}");
    desk.end().await;
}

/// B:X-06 word for word, with the traceback above it.
#[tokio::test]
async fn a_failure_says_what_to_mend() {
    let desk = TestDesk::new(ToolSet::Default);
    let one = desk.call("python", json!({"code": "print('so far')\n1/0"})).await;
    let said = text(&one);
    assert!(one.is_error);
    assert!(said.starts_with("so far\n"), "{said}");
    let end = "ZeroDivisionError: division by zero\n\nCommand exited with code 1";
    assert!(said.ends_with(end), "{said}");
    let cells = [json!({"code": "a = 1"}), json!({"code": "1/0"}), json!({"code": "b = 1"})];
    let several = text(&desk.call("python", json!({"cells": cells})).await);
    let end = "ZeroDivisionError: division by zero\n\nCell 2 failed (exit code 1). Earlier cells \
               succeeded—their state persists. Fix only cell 2.";
    assert!(several.starts_with("[1/3] (ok)\n\n[2/3]\n"), "{several}");
    assert!(several.ends_with(end), "{several}");
    let kept = desk.text("python", json!({"code": "(a, 'b' in globals())"})).await;
    assert_eq!(kept, "(1, False)");
    desk.end().await;
}

/// Frames of libraries have a line each; `result` has their code.
#[tokio::test]
async fn code_of_libraries_is_told_on_demand() {
    let desk = TestDesk::new(ToolSet::Default);
    let code = "import json\ndef parse(text):\n    return json.loads(text)\nparse('')";
    let said = text(&desk.call("python", json!({"code": code})).await);
    assert!(said.contains("return json.loads(text)"), "own code is there: {said}");
    let is_frame = |line: &&str| line.contains("/json/") && line.contains(", in ");
    assert!(said.lines().filter(is_frame).count() >= 2, "{said}");
    let of_library = "self.scan_once(s, idx)";
    assert!(!said.contains("def loads(") && !said.contains(of_library), "{said}");
    let (_, id) = said.split_once("[… library code left out; result with id ").unwrap();
    let (id, _) = id.split_once(' ').unwrap();
    let all = text(&desk.call("result", json!({"id": id, "raw": true})).await);
    assert!(all.contains(of_library) && !all.contains("left out"), "{all}");
    let own = text(&desk.call("python", json!({"code": "1/0"})).await);
    assert!(own.contains("ZeroDivisionError") && !own.contains("left out"), "{own}");
    desk.end().await;
}

/// `display` shows a dictionary or a list once.
#[tokio::test]
async fn a_displayed_value_is_told_once() {
    let desk = TestDesk::new(ToolSet::Default);
    let table = [
        ("display({'a': 1, 'b': [True, None]})", "{'a': 1, 'b': [True, None]}"),
        ("display([1, 'é'])", "[1, 'é']"),
        ("display({'application/json': {'a': 1}}, raw=True)", "display[1]:\n{\n  \"a\": 1\n}"),
    ];
    for (code, wanted) in table {
        assert_eq!(desk.text("python", json!({"code": code})).await, wanted);
    }
    desk.end().await;
}

/// B:X-22 B:X-23 word for word.
#[tokio::test]
async fn a_timeout_is_told_with_what_became_of_the_kernel() {
    let desk = TestDesk::new(ToolSet::Default);
    let code = "print('half')\nimport time\nx = 3\ntime.sleep(60)";
    let late = desk.call("python", json!({"code": code, "timeout": 5})).await;
    let said = text(&late);
    let head = "[Command timed out after 5 seconds; the kernel stopped at the interrupt. Its variables \
         are kept.]\nhalf\n";
    assert!(late.is_error);
    assert!(said.starts_with(head), "{said}");
    assert!(said.ends_with("\nNext: allow more time with timeout"), "{said}");
    assert_eq!(desk.text("python", json!({"code": "x"})).await, "3");
    let clamped = desk.text("python", json!({"code": "1", "timeout": 6000})).await;
    let wanted = "1\n\n[timeout 6000 is outside 1 to 600 seconds; 600 was used]";
    assert_eq!(clamped, wanted);
    let nan = desk.call("python", json!({"code": "1", "timeout": "NaN"})).await;
    assert_eq!(text(&nan), "Error: timeout: NaN is not a number of seconds");
    desk.end().await;
}

/// B:X-07 word for word: a call that is given up is interrupted, and only that one.
#[tokio::test]
async fn a_call_that_is_given_up_still_answers() {
    let desk = TestDesk::new(ToolSet::Default);
    let wait_for = |name: &str| format!("open('{name}', 'w').close()\nimport time\ntime.sleep(60)");
    let cancel = CancellationToken::new();
    let one = async {
        let cells = [json!({"code": "print('a')"}), json!({"code": wait_for("one")})];
        desk.call_with("python", json!({"cells": cells}), cancel.clone(), None).await
    };
    let other = CancellationToken::new();
    let two = async {
        let arguments = json!({"code": wait_for("two"), "session": "b"});
        desk.call_with("python", arguments, other.clone(), None).await
    };
    let give_up = async {
        until_there(&desk.path("one")).await;
        until_there(&desk.path("two")).await;
        cancel.cancel();
    };
    let both = async {
        let (one, ()) = tokio::join!(one, give_up);
        other.cancel();
        one
    };
    let (one, two) = tokio::join!(both, two);
    assert_eq!(text(&one), "[1/2]\na\n\n[2/2]\n\nCell 2 aborted: Command aborted");
    assert!(one.is_error);
    assert_eq!((text(&two).as_str(), two.is_error), ("Command aborted", true));
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let arguments = json!({"code": "open('never', 'w')"});
    let before = desk.call_with("python", arguments, cancelled, None).await;
    assert!(before.is_error, "B:X-21");
    assert!(!desk.path("never").exists(), "B:X-21");
    desk.end().await;
}

/// A long run: progress while it is waited for, an answer with an id, and the rest by that id.
#[tokio::test]
async fn a_long_run_is_told_of_and_fetched() {
    let desk = TestDesk::new(ToolSet::Default);
    let code = "import os, time\nprint('first', flush=True)\nwhile not os.path.exists('go'):\n    \
                time.sleep(0.01)\nprint('last')\n42";
    let (sender, mut heard) = mpsc::channel(64);
    // Start the kernel first: its start counts as waiting, and may take longer on a busy machine.
    desk.text("python", json!({"code": "1"})).await;
    let arguments = json!({"code": code, "timeout": 0, "wait": 5});
    let none = CancellationToken::new();
    let so_far = desk.call_with("python", arguments, none, Some(sender)).await;
    let said = text(&so_far);
    assert!(!so_far.is_error);
    let id = said.split("execution ").nth(1).and_then(|rest| rest.split(']').next()).unwrap();
    let wanted = format!(
        "[still running cell 1 of 1; execution {id}]\n\
         Next: get the new output with result, id: \"{id}\", since: \"0:1:6:0\""
    );
    assert!(said.ends_with(&wanted), "{said}");
    let told = heard.recv().await.unwrap();
    assert_eq!(told.message, "first\n");
    let running = desk.text("result", json!({"id": id, "wait": 0})).await;
    assert!(running.contains("still running cell 1 of 1"), "{running}");
    let busy = desk.text("inspect", json!({})).await;
    assert!(busy.starts_with("Error: session default is running"), "{busy}");
    let listed = desk.text("kernel", json!({"action": "list"})).await;
    assert!(listed.contains(&format!("busy; running `import os, time` ({id}, ")), "{listed}");
    // A caller that stops waiting for the call does not stop it.
    let gone = CancellationToken::new();
    gone.cancel();
    let still = desk.call_with("result", json!({"id": id}), gone, None).await;
    assert!(text(&still).contains("still running"));
    std::fs::write(desk.path("go"), "").unwrap();
    let over = desk.text("result", json!({"id": id})).await;
    assert_eq!(over, "first\nlast\n42");
    let wrong = desk.text("result", json!({"id": "xnothing"})).await;
    assert!(wrong.starts_with("Error: "), "{wrong}");
    desk.end().await;
}

/// An answer that does not wait for the end of a cell has its output so far.
#[tokio::test]
async fn the_answer_holds_the_output_so_far() {
    let desk = TestDesk::new(ToolSet::Default);
    let code = "import time\nprint('so far', flush=True)\ntime.sleep(60)";
    desk.text("python", json!({"code": "1"})).await;
    let said = desk.text("python", json!({"code": code, "timeout": 0, "wait": 5})).await;
    assert!(said.starts_with("so far\n\n[still running"), "{said}");
    desk.end().await;
}

/// A picture comes as one, within its budget, with its digest and its artifact.
#[tokio::test]
async fn a_picture_comes_back() {
    let code = "import zlib, struct, random\n\
        def chunk(kind, data):\n    body = kind + data\n    \
            return struct.pack('>I', len(data)) + body + struct.pack('>I', zlib.crc32(body))\n\
        side = 400\n\
        rows = b''.join(b'\\0' + random.randbytes(side * 3) for _ in range(side))\n\
        head = struct.pack('>IIBBBBB', side, side, 8, 2, 0, 0, 0)\n\
        png = b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', head) + \
            chunk(b'IDAT', zlib.compress(rows, 1)) + chunk(b'IEND', b'')\n\
        display({'image/png': png}, raw=True)";
    let desk = TestDesk::new(ToolSet::All);
    let reply = desk.call("python", json!({"code": code})).await;
    let said = text(&reply);
    assert!(said.starts_with("(displayed 1 image; no text output)\nimage/png 400×400"), "{said}");
    let id = said.split("artifact://").nth(1).unwrap().to_owned();
    assert_eq!(reply.structured, None);
    let [Content::Text(_), Content::Image { mime, data }, Content::Link { uri, .. }] =
        &*reply.content
    else {
        panic!("{:?}", reply.content.len());
    };
    assert_eq!(*uri, format!("artifact://{id}"));
    assert!(data.len() <= 256 << 10, "{}", data.len());
    let is_whole = match &**mime {
        "image/png" => data.starts_with(b"\x89PNG\r\n\x1a\n") && data.ends_with(b"IEND\xaeB`\x82"),
        "image/jpeg" => data.starts_with(b"\xff\xd8") && data.ends_with(b"\xff\xd9"),
        _ => false,
    };
    assert!(is_whole, "{mime}");
    // The original is larger than an answer may be, so the store shows a copy, too.
    let stored = desk.call("result", json!({"id": uri})).await;
    let [Content::Text(said), Content::Image { data: copy, .. }] = &*stored.content else {
        panic!("{:?}", stored.content.len());
    };
    assert!(said.starts_with("image/png 400×400, 4"), "{said}");
    assert_eq!(copy, data);
    desk.end().await;

    for (images, files) in [("path", 1), ("off", 0)] {
        let desk = TestDesk::with(ToolSet::Compat, &[("INKCELL_OUTPUT_IMAGES", images)]);
        let reply = desk.call("python", json!({"code": code.replace("400", "20")})).await;
        let said = text(&reply);
        assert!(!reply.content.iter().any(|part| matches!(part, Content::Image { .. })));
        assert_eq!(said.matches("[image file: /").count(), files, "{said}");
        let images = &reply.structured.unwrap()["images"];
        assert_eq!(images[0]["mimeType"], "image/png");
        desk.end().await;
    }
}

/// B:O-06 B:O-30: long output is cut, and all of it can be read by lines, by pattern and by bytes.
#[tokio::test]
async fn long_output_is_fetched_in_parts() {
    let desk = TestDesk::new(ToolSet::Default);
    let code = "for n in range(20000): print('line', n)";
    let reply = desk.call("python", json!({"code": code})).await;
    let said = text(&reply);
    assert!(said.starts_with("line 0\n"), "{said}");
    assert!(said.contains("lines elided"), "{said}");
    let id = said.split("artifact://").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    assert!(said.ends_with(" for full output]"), "{said}");
    assert!(said.contains("-20000 of 20000 ("), "as many lines as `result` counts: {said}");
    let linked = |part: &Content| matches!(part, Content::Link { uri, .. } if uri.ends_with(id));
    assert!(reply.content.iter().any(linked));
    let uri = format!("artifact://{id}");
    let lines = desk.text("result", json!({"id": uri, "lines": "500-501"})).await;
    assert_eq!(lines, "line 499\nline 500\n\n[Showing lines 500-501 of 20000]");
    let lines = desk.text("result", json!({"id": format!("{uri}:3,19999-")})).await;
    assert!(lines.starts_with("line 2\n"), "{lines}");
    let found = desk.text("result", json!({"id": uri, "grep": "^line 1999[0-1]$"})).await;
    assert_eq!(found, "19991: line 19990\n19992: line 19991\n\n[2 of 20000 lines match]");
    let whole = desk.text("result", json!({"id": id})).await;
    assert!(whole.starts_with("line 0\nline 1\n"), "{whole}");
    assert!(whole.ends_with("-\" to continue]"), "{}", &whole[whole.len() - 80..]);
    let bytes = desk.text("result", json!({"id": id, "offset": 188_886})).await;
    assert!(bytes.contains("[Bytes 188886 to "), "{bytes}");
    let both = desk.text("result", json!({"id": id, "lines": "1", "json_path": "x"})).await;
    assert!(both.starts_with("Error: only one part can be asked for at a time"), "{both}");
    let given = json!({"id": id, "lines": "5-12,99-100", "grep": "line 1?9$", "context": 1});
    let found = desk.text("result", given).await;
    assert_eq!(found.lines().next(), Some("9- line 8"), "{found}");
    assert!(found.starts_with("9- line 8\n10: line 9\n11- line 10\n\n[1 of "), "{found}");
    let alone = desk.text("result", json!({"id": id, "context": 1})).await;
    assert!(alone.starts_with("Error: context: give grep too"), "{alone}");
    let nothing = desk.text("result", json!({"id": id, "lines": "last"})).await;
    assert!(
        nothing.starts_with("Error: lines: \"last\" is not a range of lines\nNext: "),
        "{nothing}"
    );
    desk.end().await;
}

/// X-03 and F-021: twenty calls at once on two sessions all answer, in each session one at a time.
#[tokio::test]
async fn twenty_calls_at_once() {
    let desk = TestDesk::new(ToolSet::Default);
    for session in ["a", "b"] {
        desk.text("python", json!({"code": "n = 0", "session": session})).await;
    }
    let calls = (0..20).map(|at| {
        let session = if at % 2 == 0 { "a" } else { "b" };
        let code = "seen = n\nimport time\ntime.sleep(0.01)\nn = seen + 1";
        desk.call("python", json!({"code": code, "session": session}))
    });
    let replies: Vec<ToolReply> = join_all(calls).await;
    assert!(replies.iter().all(|reply| !reply.is_error && text(reply) == "(no output)"));
    for session in ["a", "b"] {
        assert_eq!(desk.text("python", json!({"code": "n", "session": session})).await, "10");
    }
    desk.end().await;
}

/// A cell of a notebook runs from its file, which stays as it is.
#[tokio::test]
async fn a_cell_of_a_notebook_is_run_and_not_touched() {
    let desk = TestDesk::new(ToolSet::Default);
    let notebook = json!({
        "cells": [
            {"cell_type": "markdown", "id": "text0001", "metadata": {}, "source": "# Hi"},
            {"cell_type": "code", "id": "code0001", "metadata": {}, "source": ["a = 6\n", "a * 7"],
             "outputs": [], "execution_count": null},
        ],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
    });
    let bytes = notebook.to_string();
    std::fs::write(desk.path("n.ipynb"), &bytes).unwrap();
    let run = json!({"path": "n.ipynb", "cell": "code0001"});
    assert_eq!(desk.text("python", run).await, "42");
    let by_alias = json!({"notebook_path": "n.ipynb", "cell_id": 1});
    assert_eq!(desk.text("python", by_alias).await, "42");
    let prose = desk.text("python", json!({"path": "n.ipynb", "cell": 0})).await;
    assert_eq!(prose, "Error: cell 0 of n.ipynb is markdown, not code");
    let beyond = desk.text("python", json!({"path": "n.ipynb", "cell": 7})).await;
    assert!(beyond.starts_with("Error: n.ipynb: "), "{beyond}");
    assert_eq!(std::fs::read_to_string(desk.path("n.ipynb")).unwrap(), bytes);
    desk.end().await;
}

/// Arguments that cannot be are refused by name, before anything is run.
#[tokio::test]
async fn wrong_arguments_are_named() {
    let desk = TestDesk::new(ToolSet::Default);
    let table = [
        (
            "python",
            json!({"cod": "1"}),
            "Error: no argument named 'cod'; did you mean code?\nNext: use these: ",
        ),
        (
            "python",
            json!({}),
            "Error: no code given\nNext: give one of: code, cells, path and cell",
        ),
        (
            "python",
            json!({"code": "1", "cells": []}),
            "Error: the code is given in more than one way",
        ),
        ("python", json!({"cells": []}), "Error: cells: the list is empty"),
        (
            "python",
            json!({"cells": [{"cod": "1"}]}),
            "Error: no argument named 'cells[0].cod'; did you mean code?",
        ),
        ("python", json!({"code": "1", "session": "a\nb"}), "Error: session: a name has 1 to 100"),
        ("python", json!({"code": "1", "cwd": "nowhere"}), "Error: "),
        ("result", json!({"id": "x"}), "Error: "),
        (
            "eval",
            json!({"cells": [{"language": "js", "code": "1"}]}),
            "Error: cells[0].language: js is not one of its values",
        ),
    ];
    for (tool, arguments, wanted) in table {
        let reply = desk.call(tool, arguments).await;
        assert!(reply.is_error);
        assert!(text(&reply).starts_with(wanted), "{}", text(&reply));
    }
    assert!(desk.desk.engine.sessions().is_empty());
    let nowhere = desk.text("python", json!({"code": "1", "cwd": "nowhere"})).await;
    assert!(nowhere.contains("\nNext: create the folder first, or give another cwd"), "{nowhere}");
    desk.end().await;
}

/// B:X-01 B:X-02 B:X-09 B:X-09b B:O-06: `eval` and the details of the compatible tools.
#[tokio::test]
async fn compatible_tools_give_details() {
    let desk = TestDesk::new(ToolSet::Compat);
    let cells = [
        json!({"language": "py", "code": "x = 2", "title": "set"}),
        json!({"language": "py", "code": "display({'a': x})\nx * 2"}),
    ];
    let reply = desk.call("eval", json!({"cells": cells})).await;
    let said = text(&reply);
    assert!(said.starts_with("[1/2] set (ok)\n\n[2/2]\n"), "{said}");
    assert!(said.contains("display[1]:\n{\n  \"a\": 2\n}"), "{said}");
    let details = reply.structured.unwrap();
    let first = &details["cells"][0];
    assert_eq!(first["title"], "set");
    assert_eq!(first["language"], "py");
    assert_eq!(first["status"], "complete");
    assert_eq!(first["exitCode"], 0);
    assert_eq!(details["jsonOutputs"], json!([{"a": 2}]));
    assert_eq!(details["isError"], false);
    let fails = [
        json!({"language": "py", "code": "1/0"}),
        json!({"language": "py", "code": "2", "timeout": 9999}),
    ];
    let failed = desk.call("eval", json!({"cells": fails})).await;
    let details = failed.structured.as_ref().unwrap();
    assert_eq!(details["cells"][0]["status"], "error");
    assert_eq!(details["cells"][0]["exitCode"], 1);
    assert_eq!(details["cells"][1]["status"], "pending");
    let clamped = "[a cell's timeout 9999 is outside 1 to 3600 seconds; 3600 was used]";
    assert!(text(&failed).ends_with(clamped), "{}", text(&failed));
    let late = json!({"language": "py", "code": "import time; time.sleep(60)", "timeout": 1});
    let late = desk.call("eval", json!({"cells": [late]})).await;
    let late = &late.structured.unwrap()["cells"][0];
    assert_eq!(late.get("exitCode"), None, "B:X-20");
    let long = json!({"code": "for n in range(12000): print('line', n)"});
    let long = desk.call("python", long).await;
    assert!(!text(&long).contains("line 0\n"), "only the end is kept");
    let details = long.structured.unwrap();
    assert_eq!(details["truncation"]["totalLines"], 12001);
    // With all of it, the form would be larger than a call may be.
    assert_eq!((details.get("fullOutput"), &details["leftOut"]), (None, &json!(["fullOutput"])));
    assert!(details.to_string().len() <= 100 << 10, "{}", details.to_string().len());
    let path = details["fullOutputPath"].as_str().unwrap();
    assert!(std::fs::read_to_string(path).unwrap().ends_with("line 11999\n"));
    desk.end().await;
}

/// B:C-08: what a project decides is told once, in the first answer of a session.
#[tokio::test]
async fn a_project_s_python_is_told_once() {
    let python = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let desk = TestDesk::in_project(&format!("[python]\ninterpreter = \"{python}\"\n"));
    let first = desk.text("python", json!({"code": "1"})).await;
    let file = desk.path(".inkcell/config.toml");
    let wanted = format!("1\n\n[python.interpreter is {python}, set by {}]", file.display());
    assert_eq!(first, wanted);
    assert_eq!(desk.text("python", json!({"code": "2"})).await, "2");
    desk.end().await;
}

/// B:X-40: code that asks for code to be run in the session that runs it is told that this is busy; it would wait
/// for itself for ever. Another session is free, and so is this one once the code is over.
#[tokio::test]
async fn code_cannot_wait_for_itself() {
    let desk = TestDesk::new(ToolSet::Default);
    desk.text("python", json!({"code": "x = 1"})).await;
    let sessions = desk.desk.engine.sessions();
    let key = &sessions.first().expect("a session").key;
    let inner = desk.desk.bridge.desk_within(&desk.desk, key, KernelMode::Session);
    let call = |arguments| {
        let cancel = CancellationToken::new();
        let context = CallContext::new(OwnerId(1), cancel);
        (find("python").expect("a tool").call)(&inner, arguments, context)
    };
    let refused = call(json!({"code": "x"})).await.expect_err("it is busy");
    assert_eq!(refused.kind, Kind::Busy);
    assert!(refused.message.starts_with("session default is busy"), "{refused:?}");
    let other = call(json!({"code": "'x' in globals()", "session": "other"})).await;
    assert_eq!(text(&other.expect("it is run")), "False");
    // Two sessions whose code waits for each other would deadlock as well.
    let other = desk.desk.engine.sessions().into_iter().find(|listed| listed.key.name.0 == "other");
    let other = other.expect("a session").key;
    let innermost = inner.bridge.desk_within(&inner, &other, KernelMode::Session);
    assert!(innermost.bridge.is_waited_for_in(key) && innermost.bridge.is_waited_for_in(&other));
    assert_eq!(desk.text("python", json!({"code": "x"})).await, "1");
    desk.end().await;
}
