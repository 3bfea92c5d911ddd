//! Protection against mistakes: whole notebooks as JSON, words in markers, half-written files.

use inkcell_testkit::notebooks::{jupyter, small};

use crate::env;

/// B:V-24: a whole notebook is checked before it replaces another.
#[test]
fn json_that_is_no_whole_notebook_is_refused() {
    let env = env();
    env.put("nb.ipynb", small());
    let table = [
        ("{\"cells\": []}", "\"nbformat\" must be 4"),
        (
            "{\"cells\": [{\"cell_type\": \"code\"}], \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": 5}",
            "cell 0: \"source\" must be",
        ),
        (
            "{\"cells\": [], \"metadata\": {}, \"nbformat\": 3, \"nbformat_minor\": 0}",
            "\"nbformat\" must be 4",
        ),
        (
            "{\"cells\": [], \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": 5}",
            "the text leaves out 3 cells",
        ),
    ];
    for (text, wanted) in table {
        let ran = env.run_with(&["write", "nb.ipynb"], text).exits(2);
        assert!(ran.stderr.contains(wanted), "{text}: {}", ran.stderr);
        assert_eq!(env.get("nb.ipynb"), small().as_bytes());
    }
    let fewer = jupyter(&[("markdown", "intro-md", "kept")]);
    env.run_with(&["write", "nb.ipynb"], &fewer).exits(2);
    env.run_with(&["write", "nb.ipynb", "--drop", "2"], &fewer).ok();
    assert_eq!(env.get("nb.ipynb"), fewer.as_bytes());
}

/// A word that also occurs in markers is replaced in sources only.
#[test]
fn replacing_a_word_everywhere_leaves_the_markers() {
    let env = env();
    env.put(
        "nb.ipynb",
        jupyter(&[("code", "aaaa1111", "code = 1"), ("code", "bbbb2222", "print(code)")]),
    );
    env.run(&["edit", "nb.ipynb", "--old", "code", "--new", "markdown", "--all", "--keep-outputs"])
        .ok();
    let text = env.run(&["read", "nb.ipynb", "--no-ids"]).ok().stdout;
    assert_eq!(text, "# %% [code] cell:0\nmarkdown = 1\n# %% [code] cell:1\nprint(markdown)");
    env.run(&["edit", "nb.ipynb", "--old", "cell:1", "--new", "cell:0"]).exits(2);
}
