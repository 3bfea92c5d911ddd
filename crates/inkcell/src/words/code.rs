//! Sentences about code that was given to run, and about the options beside it.

pub(crate) const NONE: &str =
    "there is none; give it, for example: inkcell py '1 + 1', or inkcell py -f FILE";

pub(crate) const STDIN_TWICE: &str = "- is there more than once; standard input can be read once";

pub(crate) const NONE_BETWEEN_MARKS: &str = "there is no code between the # %% lines";

pub(crate) const PIPE_IT_IN: &str =
    "it is a terminal; pipe the code in, for example: echo 'print(1)' | inkcell py -";

pub(crate) const NAME_A_FILE: &str = "it is empty; name a file, or - for standard input";

pub(crate) fn is_notebook(path: &str) -> String {
    format!(
        "{path} is a notebook, not Python code; its Python, with magics and shell lines as \
         comments, is shown by: inkcell to script {path}"
    )
}

pub(crate) fn too_long(path: &str, bytes: u64) -> String {
    format!("{path} goes on for more than {bytes} bytes; it is no program")
}

pub(crate) const CHECK_PATH: &str =
    "check the path; it begins at the folder inkcell was started in";

pub(crate) fn other_encoding(name: &str) -> String {
    format!(
        "its first lines say that it is {name}, which inkcell does not read; convert it \
         first: iconv -f {name} -t UTF-8"
    )
}

pub(crate) const DETACH_NEEDS_HOST: &str =
    "code goes on in a host, and there is to be none here; leave this out, or set host.use to on";
