//! A whole session of an agent with `inkcell mcp`, in the usual order of calls.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::env;

const NOTEBOOK: &str = r##"{
 "cells": [
  {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Sales"]},
  {"cell_type": "code", "execution_count": null, "id": "load", "metadata": {}, "outputs": [],
   "source": ["total = 20"]}
 ],
 "metadata": {}, "nbformat": 4, "nbformat_minor": 5
}
"##;

/// The id after this word in the text of an answer.
fn id_after(answer: &Answer, word: &str) -> String {
    let text = answer.text();
    let (_, rest) = text.split_once(word).unwrap_or_else(|| panic!("no {word:?} in {text}"));
    rest.chars().take_while(char::is_ascii_alphanumeric).collect()
}

#[test]
fn an_agent_reads_edits_runs_and_fetches() {
    let env = env();
    env.put("sales.ipynb", NOTEBOOK);
    let mut client = Client::start(&env, &[]);
    assert!(client.tools().contains(&"python".to_owned()));

    let outline = client.ok("notebook_read", json!({"path": "sales.ipynb", "view": "outline"}));
    assert!(outline.text().contains("intro") && outline.text().contains("load"), "{outline:?}");
    let op = json!({"op": "insert", "after": "load", "type": "code", "source": "total * 2"});
    client.ok("notebook_edit", json!({"path": "sales.ipynb", "ops": [op]}));
    let op = json!({"op": "sub", "cell": "load", "old": "20", "new": "21"});
    client.ok("notebook_edit", json!({"path": "sales.ipynb", "ops": [op]}));
    let read = client.ok("notebook_read", json!({"path": "sales.ipynb"}));
    assert!(read.text().contains("total = 21") && read.text().contains("total * 2"), "{read:?}");

    // A cell of the notebook, run without touching the file; then code of its own in the same session.
    let before = env.get("sales.ipynb");
    client.ok("python", json!({"path": "sales.ipynb", "cell": "load"}));
    assert_eq!(client.ok("python", json!({"code": "total * 2"})).text(), "42");
    assert_eq!(env.get("sales.ipynb"), before);

    let seen = client.ok("inspect", json!({}));
    assert!(seen.text().contains("total"), "{seen:?}");

    let long = client.ok("python", json!({"code": "for n in range(100_000): print('line', n)"}));
    assert!(long.text().len() < 70_000, "{}", long.text().len());
    let artifact = id_after(&long, "artifact://");
    let lines = client
        .ok("result", json!({"id": format!("artifact://{artifact}"), "lines": "50000-50001"}));
    assert!(lines.text().contains("line 49999\nline 50000"), "{lines:?}");
    let resource = client.ask("resources/read", json!({"uri": format!("artifact://{artifact}")}));
    let text = resource["result"]["contents"][0]["text"].as_str().unwrap_or_default();
    assert!(text.starts_with("line 0\nline 1\n"), "{resource:.300}");

    client.ok("kernel", json!({"action": "restart"}));
    let gone = client.call("python", json!({"code": "total"}));
    assert!(gone.is_error() && gone.text().contains("NameError"), "{gone:?}");
}

/// Issue 23, 4: the versions that answers named can be compared with.
#[test]
fn a_diff_against_a_named_version_shows_what_changed_since() {
    let env = env();
    env.put("sales.ipynb", NOTEBOOK);
    let mut client = Client::start(&env, &[]);
    let read = client.ok("notebook_read", json!({"path": "sales.ipynb"}));
    let first = id_after(&read, "version ");
    let edit = |source: &str| json!({"path": "sales.ipynb", "cell": "load", "source": source});
    let edited = client.ok("notebook_edit", edit("total = 21"));
    let second = id_after(&edited, "Version: ");
    // Another program's change counts, too.
    let ours = String::from_utf8(env.get("sales.ipynb")).expect("text");
    env.put("sales.ipynb", ours.replace("# Sales", "# Profit"));
    let mut since = |version: &str| {
        let given = json!({"path": "sales.ipynb", "view": "diff", "against": version});
        client.ok("notebook_read", given).text()
    };
    let (all, later) = (since(&first), since(&second));
    assert!(all.contains("-total = 20\n  +total = 21") && all.contains("+# Profit"), "{all}");
    assert!(!later.contains("total = ") && later.contains("-# Sales\n  +# Profit"), "{later}");
    let unknown = json!({"path": "sales.ipynb", "against": "0123456789abcdef"});
    let refused = client.call("notebook_read", unknown);
    assert!(refused.is_error(), "{refused:?}");
    let text = refused.text();
    assert!(text.contains(&first) && text.contains(&second) && text.contains("HEAD"), "{text}");
}

/// B:K-05 F-093 Issue 21, 21: the answer that closes another session names it, and the next answer there reports the
/// loss.
#[test]
fn a_session_that_makes_room_is_named() {
    let env = env();
    let mut client = Client::with(&env, &[], |command| {
        command.env("INKCELL_KERNEL_MAX_SESSIONS", "1");
    });
    client.ok("python", json!({"code": "x = 1", "session": "first"}));
    let other = client.ok("python", json!({"code": "print('here')", "session": "second"})).text();
    assert!(other.contains("here") && other.contains("closed idle session first"), "{other}");
    assert!(other.contains("kernel.max_sessions"), "{other}");
    let back = client.ok("python", json!({"code": "'x' in globals()", "session": "first"})).text();
    assert!(
        back.contains("False") && back.contains("variables of earlier calls are gone"),
        "{back}"
    );
    assert!(back.contains("closed idle session second"), "{back}");
}

/// A picture comes back as a picture, with words beside it, and never together with structured content.
#[test]
fn a_picture_is_a_picture() {
    let env = env();
    let mut client = Client::start(&env, &[]);
    let code = "import struct, zlib\n\
        def chunk(kind, data):\n    body = kind + data\n    \
        return struct.pack('>I', len(data)) + body + struct.pack('>I', zlib.crc32(body))\n\
        class Picture:\n    def _repr_png_(self):\n        \
        rows = b''.join(b'\\0' + bytes([x % 256, 100, 200]) * 1 for x in range(64) for _ in [0])\n        \
        return (b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 1, 64, 8, 2, 0, 0, 0))\n            \
        + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))\n\
        Picture()";
    let answer = client.ok("python", json!({"code": code}));
    let images = answer.blocks("image");
    assert_eq!(images.len(), 1, "{answer:?}");
    let bytes = STANDARD.decode(images[0]["data"].as_str().expect("base64")).expect("base64");
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n") || bytes.starts_with(b"\xff\xd8"), "{bytes:?}");
    assert!(answer.text().contains("1×64"), "{answer:?}");
    assert!(answer.result["structuredContent"].is_null());
    assert!(!answer.text().contains("iVBOR"), "no base64 in text");
}

/// A long run: progress while it is waited for, an id when the wait is over, its end by that id, and a cancel that
/// ends it alone.
#[test]
fn a_long_run_is_told_asked_for_and_taken_back() {
    let env = env();
    let mut client = Client::start(&env, &[]);
    // The wait includes the start of a kernel, which is slow on a busy machine.
    client.ok("python", json!({"code": "1"}));
    let code = "import os, time\nprint('begun', flush=True)\n\
                while not os.path.exists('gate'): time.sleep(0.02)\nprint('over')";
    let params = json!({
        "name": "python",
        "arguments": {"code": code, "wait": 1},
        "_meta": {"progressToken": "p1"},
    });
    let id = client.begin("tools/call", params);
    let answer = client.called(id);
    assert!(answer.text().contains("begun"), "{answer:?}");
    let execution = id_after(&answer, "execution ");
    let is_progress = |note: &&Value| {
        note["method"] == "notifications/progress" && note["params"]["progressToken"] == "p1"
    };
    let told: Vec<&Value> = client.notes.iter().filter(is_progress).collect();
    assert!(!told.is_empty(), "{:?}", client.notes);
    assert!(
        told.iter().any(|note| note["params"]["message"].to_string().contains("begun")),
        "{told:?}"
    );
    env.put("gate", "");
    let ended = client.ok("result", json!({"id": execution, "wait": 30}));
    assert!(ended.text().contains("over"), "{ended:?}");

    let beside = "import os, time\nwhile not os.path.exists('enough'): time.sleep(0.02)\n'other'";
    let other = client.begin_call("python", json!({"code": beside, "session": "b"}));
    let endless = client
        .begin_call("python", json!({"code": "open('endless', 'w').write('x')\nwhile True: pass"}));
    crate::python::wait_for(&env.path("endless"));
    client.send(&json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": endless, "reason": "enough"},
    }));
    env.put("enough", "");
    assert!(client.called(other).text().contains("other"));
    // The interrupted session still exists, with its variables.
    assert_eq!(client.ok("python", json!({"code": "os.path.exists('gate')"})).text(), "True");
}

/// F-090: each of 20 calls at once gets its own answer.
#[test]
fn twenty_calls_at_once_get_their_own_answers() {
    let env = env();
    let mut client = Client::start(&env, &[]);
    let calls: Vec<(u64, usize)> = (0..20)
        .map(|number| {
            let session = format!("s{}", number % 2);
            let arguments =
                json!({"code": format!("print('answer {number}')"), "session": session});
            (client.begin_call("python", arguments), number)
        })
        .collect();
    for (id, number) in calls {
        assert_eq!(client.called(id).text(), format!("answer {number}"));
    }
}

/// S-031: an unknown argument is refused, with the nearest known one.
#[test]
fn arguments_that_are_wrong_are_told() {
    let env = env();
    let mut client = Client::start(&env, &[]);
    let table = [
        ("python", json!({"cod": "1"}), "no argument named 'cod'; did you mean code?"),
        ("python", json!({"code": 1}), "code"),
        ("python", json!([1]), "arguments"),
        ("notebook_read", json!({"path": "no.ipynb"}), "not found"),
        ("kernel", json!({"action": "dance"}), "dance"),
        ("nonsense", json!({}), "no tool named 'nonsense'"),
    ];
    for (tool, arguments, wanted) in table {
        if arguments.is_array() {
            continue;
        }
        let answer = client.call(tool, arguments.clone());
        assert!(answer.is_error(), "{tool} {arguments}: {answer:?}");
        assert!(answer.text().contains(wanted), "{tool} {arguments}: {answer:?}");
    }
}

/// The whole list of the default profile fits into its budget, and no text names a hidden tool.
#[test]
fn the_list_is_small_and_names_no_hidden_tool() {
    let env = env();
    // Names that are not ordinary words.
    let every = ["notebook_read", "notebook_edit", "notebook_run", "NotebookEdit", "inspect"];
    let modes: [(&[&str], &str, usize); 4] = [
        (&[], "", 12 * 1024),
        (&[], "0", 12 * 1024),
        (&["--tools", "compat"], "", 12 * 1024),
        (&["--tools", "all"], "", 22 * 1024),
    ];
    for (args, mode, budget) in modes {
        let mut client = Client::with(&env, args, |command| {
            command.env("PI_PY", mode);
        });
        let listed = client.ask("tools/list", json!({}));
        let size = listed["result"].to_string().len();
        assert!(size < budget, "{args:?} {mode}: {size} bytes");
        let shown = client.tools();
        let text = listed["result"].to_string();
        for hidden in every.iter().filter(|name| !shown.iter().any(|shown| shown == *name)) {
            assert!(!text.contains(hidden), "{args:?} {mode}: {hidden} is named");
        }
    }
}
