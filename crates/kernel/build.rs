//! Lists the files of the embedded runner, so that the binary carries them.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = Path::new("python/inkcell_runner");
    println!("cargo:rerun-if-changed=build.rs");
    let mut files = Vec::new();
    collect(root, &mut files)?;
    files.sort();
    let mut text = String::from("&[\n");
    for file in files {
        // Not the folder: Python writes compiled files into it, and each would be a reason to build everything again. A
        // new file comes with a change of the one that imports it.
        println!("cargo:rerun-if-changed={file}");
        let full = fs::canonicalize(&file)?;
        let name = file.strip_prefix("python/").unwrap_or(&file);
        writeln!(text, "    ({name:?}, include_str!({full:?})),").map_err(io::Error::other)?;
    }
    text.push(']');
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("runner_files.rs"), text)
}

fn collect(dir: &Path, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        if path.is_dir() && name.as_deref() != Some("__pycache__") {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "py") {
            files.push(path.to_string_lossy().into_owned());
        }
    }
    Ok(())
}
