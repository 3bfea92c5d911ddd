//! Changes of configurations: the inserted text, and the proof that the rest stays as it is.

use super::*;

const ALL: [Client; 6] =
    [Client::ClaudeCode, Client::Cursor, Client::VsCode, Client::Codex, Client::Zed, Client::Goose];

fn server() -> Server {
    let args = vec!["mcp".to_owned()];
    Server { name: "inkcell".to_owned(), command: "inkcell".to_owned(), args }
}

fn edited(client: Client, text: &str) -> Result<(String, Change), Refusal> {
    edit(client.format(), text, &client.entry(&server()))
}

/// The text after the edit; a second edit must not change it.
#[track_caller]
fn after(client: Client, text: &str, wanted: Change) -> String {
    let (new, change) = edited(client, text).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    assert_eq!(change, wanted, "{new}");
    let again = edited(client, &new);
    assert_eq!(again, Ok((new.clone(), Change::Nothing)), "a second time");
    new
}

/// Compares with a text where `«»` marks the inserted part; the rest must equal the old text.
#[track_caller]
fn put_in(client: Client, marked: &str) {
    let mut before = String::new();
    let mut rest = marked;
    while let Some((kept, new)) = rest.split_once('«') {
        before.push_str(kept);
        rest = new.split_once('»').expect("an end").1;
    }
    before.push_str(rest);
    let wanted = marked.replace(['«', '»'], "");
    let change = if before.contains("inkcell") { Change::Changed } else { Change::Added };
    assert_eq!(after(client, &before, change), wanted);
}

#[test]
fn a_new_file_of_every_client() {
    let mut all = String::new();
    for client in ALL {
        let new = after(client, "", Change::Added);
        all.push_str(&format!("--- {}\n{new}", client.argument()));
    }
    insta::assert_snapshot!(all, @r#"
    --- claude-code
    {
      "mcpServers": {
        "inkcell": {
          "type": "stdio",
          "command": "inkcell",
          "args": ["mcp"]
        }
      }
    }
    --- cursor
    {
      "mcpServers": {
        "inkcell": {
          "type": "stdio",
          "command": "inkcell",
          "args": ["mcp"]
        }
      }
    }
    --- vscode
    {
      "servers": {
        "inkcell": {
          "type": "stdio",
          "command": "inkcell",
          "args": ["mcp"]
        }
      }
    }
    --- codex
    [mcp_servers.inkcell]
    command = "inkcell"
    args = ["mcp"]
    tool_timeout_sec = 660
    --- zed
    {
      "context_servers": {
        "inkcell": {
          "command": "inkcell",
          "args": ["mcp"]
        }
      }
    }
    --- goose
    extensions:
      inkcell:
        enabled: true
        type: stdio
        name: inkcell
        description: "Edit and run Jupyter notebooks, and run Python that remembers"
        cmd: inkcell
        args: [mcp]
        timeout: 660
    "#);
}

#[test]
fn json_keeps_comments_layout_and_line_ends() {
    put_in(
        Client::Zed,
        "// mine\n{\n\t\"theme\": \"x\", // dark\n\t/* two */ \"tabs\" :4«,\n\t\"context_servers\": {\n\t\t\"inkcell\": {\n\
         \t\t\t\"command\": \"inkcell\",\n\t\t\t\"args\": [\"mcp\"]\n\t\t}\n\t}»\n}\n// end\n",
    );
    put_in(
        Client::VsCode,
        "{\r\n  \"servers\": {\r\n    // first\r\n    \"a\": { \"url\": \"http://x\" },\r\n«    \"inkcell\": {\r\n      \
         \"type\": \"stdio\",\r\n      \"command\": \"inkcell\",\r\n      \"args\": [\"mcp\"],\r\n    },\r\n»  },\r\n}",
    );
    put_in(
        Client::Cursor,
        "{\"mcpServers\": {«\n    \"inkcell\": {\n      \"type\": \"stdio\",\n      \"command\": \"inkcell\",\n      \
         \"args\": [\"mcp\"]\n    }\n  »}}",
    );
}

#[test]
fn json_sets_what_differs_and_leaves_what_is_the_users() {
    let before = "{\"mcpServers\": {\"inkcell\": {\n  \"command\": \"/old/inkcell\", \"env\": {\"A\": \"1\"},\n  \
                  \"type\": \"stdio\", \"args\": [\"mcp\"] } } , \"n\": 1e400, \"big\": 12345678901234567890 }";
    let new = after(Client::ClaudeCode, before, Change::Changed);
    assert_eq!(new, before.replace("/old/inkcell", "inkcell"));
    // A missing field is added last.
    let before =
        "{\"context_servers\": {\"inkcell\": {\"enabled\": false, \"command\": \"inkcell\"}}}";
    let new = after(Client::Zed, before, Change::Changed);
    assert!(new.contains("\"enabled\": false"), "{new}");
    // A byte order mark stays at the beginning.
    let new = after(Client::VsCode, "\u{feff}{}", Change::Added);
    assert!(new.starts_with("\u{feff}{\n"), "{new}");
    // A table that is null counts as absent.
    let new = after(Client::VsCode, "{\"servers\": null, \"inputs\": []}", Change::Added);
    assert!(new.ends_with("\"inputs\": []}"), "{new}");
}

#[test]
fn toml_keeps_every_other_byte() {
    let block = "\n[mcp_servers.inkcell]\ncommand = \"inkcell\"\nargs = [\"mcp\"]\ntool_timeout_sec = 660\n";
    let table = [
        "# mine\nmodel   = 'x' # dark\n",
        "[mcp_servers.other]\ncommand = \"npx\"\n[mcp_servers.other.env]\nA = \"1\"\n",
        "[mcp_servers]\n[profiles.x]\ny = 1979-05-27\n",
        "a = \"\"\"\n[mcp_servers.inkcell]\n\"\"\"\n",
    ];
    for before in table {
        put_in(
            Client::Codex,
            &format!("{before}«{block}»").replace("inkcell]\n\"\"\"", "ink]\n\"\"\""),
        );
    }
    put_in(Client::Codex, &format!("x = 1«\n{block}»"));
    put_in(Client::Codex, &format!("x = 1\r\n«{}»", block.replace('\n', "\r\n")));
}

#[test]
fn toml_sets_what_differs() {
    let table = [
        (
            "[mcp_servers.inkcell]\ncommand = '/old' # mine\nargs = [\n  \"mcp\",\n]\nenabled = false\n",
            "[mcp_servers.inkcell]\ncommand = \"inkcell\" # mine\nargs = [\n  \"mcp\",\n]\nenabled = false\n",
        ),
        (
            "[mcp_servers.inkcell]\n  command = \"inkcell\"\n\n[mcp_servers.inkcell.env]\nA = \"1\"\n",
            "[mcp_servers.inkcell]\n  args = [\"mcp\"]\n  command = \"inkcell\"\n\n[mcp_servers.inkcell.env]\n\
             A = \"1\"\n",
        ),
        (
            "mcp_servers = { inkcell = { command = \"inkcell\" } }\n",
            "mcp_servers = { inkcell = { args = [\"mcp\"], command = \"inkcell\" } }\n",
        ),
        (
            "mcp_servers.inkcell.command = \"/old\"\nmcp_servers.inkcell.args = [\"mcp\"]\n",
            "mcp_servers.inkcell.command = \"inkcell\"\nmcp_servers.inkcell.args = [\"mcp\"]\n",
        ),
    ];
    for (before, wanted) in table {
        assert_eq!(after(Client::Codex, before, Change::Changed), wanted);
    }
    // These spellings leave no position for one more key, or for one more table.
    let odd = [
        "[mcp_servers.inkcell]\n[mcp_servers.inkcell.env]\nA = \"1\"\n",
        "mcp_servers = { other = { command = \"x\" } }\n",
    ];
    for before in odd {
        assert_eq!(edited(Client::Codex, before), Err(Refusal::Odd), "{before}");
    }
}

#[test]
fn yaml_keeps_every_other_byte() {
    let block = |indent: &str| {
        let lines = [
            "inkcell:",
            "  enabled: true",
            "  type: stdio",
            "  name: inkcell",
            "  description: \"Edit and run Jupyter notebooks, and run Python that remembers\"",
            "  cmd: inkcell",
            "  args: [mcp]",
            "  timeout: 660",
        ];
        lines.map(|line| format!("{indent}{line}\n")).concat()
    };
    let (two, four) = (block("  "), block("    "));
    let table = [
        format!("# mine\nGOOSE_MODEL:   x # dark\n«extensions:\n{two}»"),
        format!("GOOSE_MODEL: x«\nextensions:\n{two}»"),
        format!(
            "extensions: # all\n«{two}»  # the first\n  developer:\n    enabled: true\nA: |\n  b\n"
        ),
        format!(
            "---\né: ü\nextensions:\n«{four}»    developer:\n        args:\n        - a\n\n\n# end\n"
        ),
        format!("A: &a {{x: 1}}\nextensions:\n«{two}»\nB: *a\n"),
        format!("«extensions:\n{two}»"),
        format!("# nothing yet\n«extensions:\n{two}»"),
    ];
    for marked in table {
        put_in(Client::Goose, &marked);
    }
    let crlf =
        format!("A: 1\r\nextensions:\r\n«{}»  b:\r\n    type: sse\r\n", two.replace('\n', "\r\n"));
    put_in(Client::Goose, &crlf);
    // An empty value is replaced; the comment about it stays.
    let new = after(Client::Goose, "extensions: {} # none\nA: 1\n", Change::Added);
    assert_eq!(new, format!("extensions: # none\n{two}A: 1\n"));
    let new = after(Client::Goose, "extensions: null", Change::Added);
    assert_eq!(new, format!("extensions:\n{two}"));
}

#[test]
fn yaml_sets_what_differs() {
    let table = [
        (
            "extensions:\n  inkcell:\n    enabled: false # off\n    type: stdio\n    cmd: /old/inkcell # here\n    \
             args: [\"mcp\"]\n",
            "extensions:\n  inkcell:\n    enabled: false # off\n    type: stdio\n    cmd: inkcell # here\n    \
             args: [\"mcp\"]\n",
        ),
        (
            "extensions:\n  inkcell:\n    type: 'stdio'\n    args:\n    - x\n    - y # last\n    cmd: inkcell\nB: 1\n",
            "extensions:\n  inkcell:\n    type: 'stdio'\n    args: [mcp] # last\n    cmd: inkcell\nB: 1\n",
        ),
        (
            "extensions:\n  inkcell:\n    type: stdio\n    args:\n      - mcp\n  b: {type: sse}\n",
            "extensions:\n  inkcell:\n    cmd: inkcell\n    type: stdio\n    args:\n      - mcp\n  b: {type: sse}\n",
        ),
    ];
    for (before, wanted) in table {
        assert_eq!(after(Client::Goose, before, Change::Changed), wanted);
    }
    let odd = [
        "{A: 1}\n",
        "extensions: {b: {type: sse}}\n",
        "extensions:\n  inkcell: {type: stdio}\n",
        "A: 1\n...\n",
        "? [a]\n: 1\n",
        "extensions: &a\nb: 1\n",
        "extensions:\n  inkcell:\n    type: stdio\n    cmd: &c x\n",
    ];
    for before in odd {
        assert_eq!(edited(Client::Goose, before), Err(Refusal::Odd), "{before}");
    }
}

/// The error gives the position of the mistake, and no content.
#[test]
fn a_broken_file_is_refused_with_its_place() {
    let table = [
        (Client::ClaudeCode, "{\n  // no comments here\n}", (2, 3)),
        (Client::ClaudeCode, "{\"a\": 1,}", (1, 9)),
        (Client::VsCode, "{\n  \"a\": 1\n  \"b\": 2\n}", (2, 9)),
        (Client::Zed, "{\"a\": ", (1, 7)),
        (Client::Codex, "a = 1\nb = = 2\n", (2, 5)),
        (Client::Codex, "a = 1\na = 2\n", (2, 1)),
        (Client::Goose, "a: 1\nb: [1\nc: 2\n", (3, 2)),
        (Client::Goose, "a: 1\n\tb: 2\n", (1, 4)),
    ];
    for (client, text, wanted) in table {
        match edited(client, text) {
            Err(Refusal::Broken { line, column, problem }) => {
                assert_eq!((line, column), wanted, "{text}: {problem}");
                assert!(!problem.is_empty());
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn what_is_something_else_is_left_alone() {
    let shape = |words: &str| Err(Refusal::Shape(words.to_owned()));
    let taken = |words: &str| Err(Refusal::Taken(words.to_owned()));
    let top = "the top level is not a table of names and values";
    let table = [
        (Client::Cursor, "[]", shape(top)),
        (Client::Goose, "- a\n", shape(top)),
        (Client::Goose, "a: 1\n---\nb: 2\n", shape("the file has more than one document")),
        (
            Client::Zed,
            "{\"context_servers\": []}",
            shape("'context_servers' is not a table of servers"),
        ),
        (Client::Codex, "mcp_servers = 3\n", shape("'mcp_servers' is not a table of servers")),
        (
            Client::Cursor,
            "{\"mcpServers\": {\"inkcell\": null}}",
            shape("'mcpServers.inkcell' is not a server"),
        ),
        (
            Client::Cursor,
            "{\"mcpServers\": {}, \"mcpServers\": {}}",
            shape("'mcpServers' appears twice"),
        ),
        (
            Client::VsCode,
            "{\"servers\": {\"inkcell\": {\"url\": \"http://x\"}}}",
            taken("'servers.inkcell' is a remote server with its own 'url'"),
        ),
        (
            Client::Goose,
            "extensions:\n  inkcell:\n    type: builtin\n",
            taken("'extensions.inkcell' is a server of type 'builtin'"),
        ),
    ];
    for (client, text, wanted) in table {
        assert_eq!(edited(client, text), wanted, "{text}");
    }
}

/// Deep nesting does not overflow the stack.
#[test]
fn endless_nesting_is_refused() {
    for client in ALL {
        let open = match client.format() {
            Format::Toml => "a = [".to_owned() + &"[".repeat(100_000),
            _ => "[".repeat(100_000),
        };
        assert!(edited(client, &open).is_err(), "{}", client.argument());
    }
}

/// The text of a command survives a round trip in every format.
#[test]
fn odd_commands_are_quoted() {
    for command in
        ["/a b/c", "C:\\x", "a\"b", "true", "12", "é\u{1f600}", "a: b #c", "-x", "x'y", "~"]
    {
        for client in ALL {
            let server = Server { command: command.to_owned(), ..server() };
            let entry = client.entry(&server);
            let (new, _) = edit(client.format(), "", &entry).unwrap();
            let again = edit(client.format(), &new, &entry);
            assert_eq!(again, Ok((new, Change::Nothing)), "{command}");
        }
    }
}

#[test]
fn every_client_has_its_places() {
    let places = Places {
        project: "/p".into(),
        home: Some("/h".into()),
        config: Some("/h/.config".into()),
        ..Places::default()
    };
    let set = Places {
        claude: Some("/c".into()),
        codex: Some("/x".into()),
        vscode_portable: Some("/v".into()),
        flatpak_config: Some("/f".into()),
        goose: Some("/g".into()),
        ..places.clone()
    };
    let vscode = if cfg!(target_os = "macos") {
        "/h/Library/Application Support/Code/User/mcp.json"
    } else {
        "/h/.config/Code/User/mcp.json"
    };
    let table = [
        (Client::ClaudeCode, "/h/.claude.json", "/c/.claude.json", Some("/p/.mcp.json")),
        (Client::Cursor, "/h/.cursor/mcp.json", "/h/.cursor/mcp.json", Some("/p/.cursor/mcp.json")),
        (Client::VsCode, vscode, "/v/user-data/User/mcp.json", Some("/p/.vscode/mcp.json")),
        (Client::Codex, "/h/.codex/config.toml", "/x/config.toml", Some("/p/.codex/config.toml")),
        (
            Client::Zed,
            "/h/.config/zed/settings.json",
            "/f/zed/settings.json",
            Some("/p/.zed/settings.json"),
        ),
        (Client::Goose, "/h/.config/goose/config.yaml", "/g/config/config.yaml", None),
    ];
    for (client, user, elsewhere, project) in table {
        assert_eq!(client.file(Scope::User, &places), Ok(user.into()));
        assert_eq!(client.file(Scope::User, &set), Ok(elsewhere.into()));
        let wanted = project.map(Into::into).ok_or(NoPlace::NoProjectFile);
        assert_eq!(client.file(Scope::Project, &places), wanted);
        let homeless = Places { project: "/p".into(), ..Places::default() };
        assert_eq!(client.file(Scope::User, &homeless), Err(NoPlace::NoHome));
    }
}

#[test]
fn words_are_quoted_for_a_shell() {
    let table = [("inkcell", "inkcell"), ("a b", "'a b'"), ("it's", "'it'\\''s'"), ("", "''")];
    for (word, wanted) in table {
        assert_eq!(quoted(word), wanted);
    }
}

/// Returns whether every character of one text occurs in the other, in order.
fn is_inside(one: &str, other: &str) -> bool {
    let mut rest = other.chars();
    one.chars().filter(|any| !any.is_whitespace()).all(|wanted| rest.any(|any| any == wanted))
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(512))]

    /// For any file: it is refused, or afterwards it has the entry and everything that it had
    /// before.
    #[test]
    fn nothing_is_lost_whatever_a_file_holds(
        words in proptest::collection::vec(
            proptest::sample::select(vec![
                "{", "}", "[", "]", ":", ": ", ",", "\n", "\r\n", "\n  ", "\n    ", " ", "\t", "- ", "# é\n", "// x\n",
                "/* y */", "\"a\"", "'b'", "null", "1", "=", " = ", "true", "&a ", "*a", "|\n", "\u{feff}", "---\n",
                "extensions:", "extensions", "\n  inkcell:", "\n    cmd: x", "\n    args:", "\n    - y",
                "[mcp_servers.inkcell]\n", "[mcp_servers]\n", "command = 'x'\n", "args = []\n", "[a.b]\nc = 1\n",
                "\"mcpServers\": {", "\"inkcell\": {", "\"command\": 1", "\"servers\":", "\"context_servers\": {}",
                "mcp_servers.inkcell.args = [1]\n", "inkcell = { args = 1 }\n", "\"\"\"", "\\u00e9", "😀",
            ]),
            0..14,
        ),
    ) {
        let text = words.concat();
        for client in ALL {
            if let Ok((new, change)) = edited(client, &text) {
                proptest::prop_assert_eq!(edited(client, &new), Ok((new.clone(), Change::Nothing)));
                if change == Change::Added {
                    // A table that is null or empty is replaced by one that holds something.
                    let before = text.replace("null", "").replace(['{', '}', '~'], "");
                    proptest::prop_assert!(is_inside(&before, &new), "{} became {}", text, new);
                }
            }
        }
    }
}
