//! Sentences about code that was given to run, and about the options beside it.

pub(crate) const NO_CODE: &str =
    "no code given; give code or --file FILE, for example: inkcell py '1 + 1'";

pub(crate) const STDIN_TWICE: &str =
    "- is given more than once, but standard input can only be read once";

pub(crate) const NONE_BETWEEN_MARKS: &str = "the file has no code between its # %% lines";

pub(crate) const PIPE_IT_IN: &str =
    "it is a terminal; pipe the code in, for example: echo 'print(1)' | inkcell py -";

pub(crate) const NAME_A_FILE: &str = "the name is empty; give a file, or - for standard input";

pub(crate) fn is_notebook(path: &str) -> String {
    format!(
        "{path} is a notebook, not Python code; run it with 'inkcell run {path}', or show its \
         Python with 'inkcell to script {path}'"
    )
}

pub(crate) fn too_long(path: &str, bytes: u64) -> String {
    format!("{path} is too large for a program: it has more than {bytes} bytes")
}

pub(crate) const CHECK_PATH: &str =
    "check the path; it is relative to the folder where inkcell was started";

pub(crate) fn other_encoding(name: &str) -> String {
    format!(
        "its first lines declare the encoding {name}, which inkcell does not read; convert it \
         first with 'iconv -f {name} -t UTF-8'"
    )
}

pub(crate) const DETACH_NEEDS_HOST: &str = "code in the background needs the background host, which this command does not use; remove \
     this option, or set host.use to on";
