//! The archive with the binary, and the script that installs it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::sandbox::Sandbox;
use super::workshop::{Workshop, copy_into};
use crate::child;

/// Makes both, and runs the script in an empty home, with a server of files on this machine.
pub(super) fn make(workshop: &mut Workshop<'_>) -> Result<Vec<String>> {
    let binary = workshop.binary()?;
    let scratch = workshop.scratch("archive")?;
    let name = format!("inkcell-{}-{}", workshop.product.version, workshop.platform.triple);
    let folder = scratch.join(&name);
    copy_into(&binary, &folder)?;
    for file in ["LICENSE", "README.md", "CHANGELOG.md"] {
        copy_into(&workshop.workspace.path(file), &folder)?;
    }
    let served = workshop.scratch("served")?;
    let archive = served.join(format!("{name}.tar.xz"));
    workshop.pack(["tar".as_ref(), archive.as_path(), &folder])?;
    let checksum = workshop.checksum(&archive)?;
    let script = scratch.join("install.sh");
    fs::write(&script, workshop.template("packaging/install.sh")?)?;

    let sandbox = Sandbox::new(&[])?;
    let url = serve(served)?;
    let mut install = sandbox.command("sh");
    child::stream(install.arg(&script).env("INKCELL_DOWNLOAD_URL", &url))?;
    let installed = sandbox.home().join(".local/bin/inkcell");
    sandbox
        .expect_version(sandbox.command(installed).arg("--version"), &workshop.product.version)?;

    // A broken download is refused.
    let broken = workshop.scratch("broken")?;
    copy_into(&checksum, &broken)?;
    fs::write(broken.join(format!("{name}.tar.xz")), &fs::read(&archive)?[1..])?;
    let mut install = sandbox.command("sh");
    let refused = install.arg(&script).env("INKCELL_DOWNLOAD_URL", serve(broken)?).output()?;
    let said = String::from_utf8_lossy(&refused.stderr);
    ensure!(!refused.status.success() && said.contains("checksum"), "a broken archive: {said}");

    workshop.finish(&archive)?;
    workshop.finish(&checksum)?;
    workshop.finish(&script)?;
    Ok(Vec::new())
}

/// Serves the files of a folder on a port of this machine until the program ends. Returns its address.
fn serve(folder: PathBuf) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", listener.local_addr()?);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that went away is the client's affair.
            let _ = answer(stream, &folder);
        }
    });
    Ok(url)
}

fn answer(mut stream: TcpStream, folder: &Path) -> Result<()> {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !request.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        let count = stream.read(&mut buffer)?;
        ensure!(count > 0, "the request was cut");
        request.extend_from_slice(&buffer[..count]);
    }
    let request = String::from_utf8(request)?;
    let path = request.split(' ').nth(1).context("a request names a path")?;
    let name = path.rsplit('/').next().unwrap_or_default();
    match fs::read(folder.join(name)) {
        Ok(body) => {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n", body.len());
            stream.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes())?;
            stream.write_all(&body)?;
        }
        Err(_) => stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")?,
    }
    Ok(())
}
