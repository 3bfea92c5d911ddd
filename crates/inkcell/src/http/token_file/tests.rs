use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn put(path: &Path, text: &str, mode: u32) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// S-021: closed to other users, and removed with its server.
#[test]
fn a_made_token_is_in_a_private_file_while_it_counts() {
    let dir = tempfile::tempdir().unwrap();
    let (state, token) = (dir.path().join("state"), Token::make().unwrap());
    let file = TokenFile::write(&state, "one", &token).unwrap();
    assert_eq!((mode(&state.join("http")), mode(file.path())), (0o700, 0o600));
    let held = std::fs::read_to_string(file.path()).unwrap();
    assert_eq!(held.trim(), token.reveal());
    let path = file.path().to_owned();
    drop(file);
    assert!(!path.exists());
}

/// S-021: a file that another user put there before is neither followed nor filled.
#[test]
fn a_link_where_the_token_goes_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let (state, elsewhere) = (dir.path().join("state"), dir.path().join("elsewhere"));
    std::fs::create_dir_all(state.join("http")).unwrap();
    put(&elsewhere, "before", 0o644);
    symlink(&elsewhere, state.join("http/one")).unwrap();
    let file = TokenFile::write(&state, "one", &Token::make().unwrap()).unwrap();
    assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "before");
    assert!(std::fs::symlink_metadata(file.path()).unwrap().is_file());
    assert_eq!(mode(file.path()), 0o600);
    assert_eq!(mode(&state.join("http")), 0o700, "a folder that was open is closed");
}

/// S-021
#[test]
fn a_folder_that_is_not_ours_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let token = Token::make().unwrap();
    let other = dir.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let linked = dir.path().join("linked");
    std::fs::create_dir(&linked).unwrap();
    symlink(&other, linked.join("http")).unwrap();
    assert!(matches!(TokenFile::write(&linked, "one", &token), Err(FileError::Exposed(_))));
    let open = dir.path().join("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(TokenFile::write(&open, "one", &token), Err(FileError::Exposed(_))));
    assert!(std::fs::read_dir(&other).unwrap().next().is_none());
}

/// S-021: a token that others can read is refused.
#[test]
fn a_file_of_tokens_is_for_its_owner_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tokens");
    let (one, other) = ("a".repeat(40), "b".repeat(40));
    let text = format!("# for the team\n\n{one}\nanna {other}\n");
    put(&path, &text, 0o600);
    let tokens = read(&path).unwrap();
    let tokens: Vec<&str> = tokens.iter().map(Token::reveal).collect();
    assert_eq!(tokens, [&*one, &*other]);
    for open in [0o644, 0o640, 0o604, 0o620] {
        put(&path, &text, open);
        assert!(matches!(read(&path), Err(FileError::Exposed(_))), "{open:o}");
    }
    let long = |bytes: usize| format!("{one}\n#{}\n", "x".repeat(bytes - one.len() - 3));
    put(&path, &long(64 << 10), 0o600);
    assert_eq!(read(&path).unwrap().len(), 1);
    put(&path, &long((64 << 10) + 1), 0o600);
    let said = read(&path).unwrap_err().to_string();
    assert_eq!(said, "it has more than 64 KiB");
    assert!(matches!(read(dir.path()), Err(FileError::Exposed(_))));
    assert!(matches!(read(&dir.path().join("none")), Err(FileError::Io(..))));
}

/// S-020: the error about a line does not repeat the line.
#[test]
fn an_error_names_the_line_and_not_the_token() {
    let canary = "canary-too-short";
    let long = "a".repeat(40);
    let cases = [
        (format!("{long}\n{canary}\n"), "line 2: a token has at least 32 characters"),
        (format!("{long}\nname {long}\n"), "line 2 repeats a token"),
        (format!("{canary}%{long}\n"), "line 1: a token is made of letters"),
        ("# nothing\n".to_owned(), "it has no token"),
    ];
    for (text, wanted) in cases {
        let said = parse(&text).unwrap_err().to_string();
        assert!(said.starts_with(wanted) && !said.contains(canary), "{said}");
    }
    let many: String = (0..65).map(|n| format!("{n:064}\n")).collect();
    assert!(matches!(parse(&many), Err(FileError::TooMany)));
}
