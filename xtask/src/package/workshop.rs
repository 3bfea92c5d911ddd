//! The place where packages are made: the tools, the wheel with the binary, and the folders.
//!
//! Must not know any package.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::product::Product;
use super::{OUT, wheel};
use crate::child;
use crate::python_env::{self, Environment};
use crate::workspace::Workspace;

const TOOLS: Environment<'_> = Environment {
    dir: "target/package-env",
    requirements: "xtask/requirements-package.txt",
    modules: "yaml, elftools, ziglang, pre_commit, check_jsonschema",
};

/// The files of a package while it is made and tried.
const SCRATCH: &str = "target/package-scratch";

/// The binary of a wheel, unpacked.
const BINARY: &str = "binary/inkcell";

pub(crate) struct Workshop<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) product: Product,
    pub(crate) platform: Platform,
    /// The interpreter of the environment with the tools, once a package needs one of them.
    python: OnceCell<PathBuf>,
    wheel: Option<PathBuf>,
    has_binary: bool,
}

/// The names of this machine's system and processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Platform {
    /// As Rust names it; archives have it in their names.
    pub(crate) triple: String,
    /// As Node names the system; bundles do so too.
    pub(crate) system: &'static str,
    pub(crate) processor: &'static str,
}

impl Platform {
    fn here() -> Result<Platform> {
        Platform::of(std::env::consts::OS, std::env::consts::ARCH)
    }

    fn of(system: &str, processor: &str) -> Result<Platform> {
        let (vendor, system) = match system {
            "linux" => ("unknown-linux-gnu", "linux"),
            "macos" => ("apple-darwin", "darwin"),
            other => bail!("there are no packages for {other}"),
        };
        let triple = format!("{processor}-{vendor}");
        let processor = match processor {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            other => bail!("there are no packages for {other}"),
        };
        Ok(Platform { triple, system, processor })
    }
}

impl<'a> Workshop<'a> {
    pub(crate) fn open(workspace: &'a Workspace, wheel: Option<PathBuf>) -> Result<Workshop<'a>> {
        let wheel =
            wheel.map(|path| path.canonicalize().with_context(|| path.display().to_string()));
        std::fs::create_dir_all(workspace.path(OUT))?;
        Ok(Workshop {
            workspace,
            product: Product::read(workspace)?,
            platform: Platform::here()?,
            python: OnceCell::new(),
            wheel: wheel.transpose()?,
            has_binary: false,
        })
    }

    /// A path in the folder of finished packages.
    pub(crate) fn out(&self, name: &str) -> PathBuf {
        self.workspace.path(OUT).join(name)
    }

    /// An empty folder to make a package in.
    pub(crate) fn scratch(&self, name: &str) -> Result<PathBuf> {
        let folder = self.workspace.path(SCRATCH).join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Moves a package that worked to the finished ones. Prints its size.
    pub(crate) fn finish(&self, file: &Path) -> Result<PathBuf> {
        let name = file.file_name().context("a file has a name")?.to_string_lossy().into_owned();
        let to = self.out(&name);
        std::fs::copy(file, &to).with_context(|| format!("cannot write {}", to.display()))?;
        println!("{OUT}/{name}: {:.1} MB", to.metadata()?.len() as f64 / 1e6);
        Ok(to)
    }

    /// The wheel with the binary of all packages; the portable one is made unless there is one.
    pub(crate) fn wheel(&mut self) -> Result<PathBuf> {
        if self.wheel.is_none() {
            self.wheel = Some(wheel::portable(self)?);
        }
        self.wheel.clone().context("the wheel was made above")
    }

    /// The binary in the wheel.
    pub(crate) fn binary(&mut self) -> Result<PathBuf> {
        let path = self.workspace.path(SCRATCH).join(BINARY);
        if !self.has_binary {
            let unpacked = self.scratch("wheel")?;
            let wheel = self.wheel()?;
            self.pack(["unzip".as_ref(), wheel.as_path(), &unpacked])?;
            let data = format!("inkcell-{}.data/scripts/inkcell", self.product.version);
            self.scratch("binary")?;
            std::fs::rename(unpacked.join(data), &path).context("the wheel has no binary")?;
            self.has_binary = true;
        }
        Ok(path)
    }

    fn python(&self) -> Result<&Path> {
        if let Some(python) = self.python.get() {
            return Ok(python);
        }
        let (python, _) = TOOLS.ensure(self.workspace, &python_env::base_python()?)?;
        Ok(self.python.get_or_init(|| python))
    }

    /// A program of the environment with the tools.
    pub(crate) fn tool(&self, name: &str) -> Result<Command> {
        Ok(Command::new(self.python()?.with_file_name(name)))
    }

    /// The folder with the programs of the tools.
    pub(crate) fn tools(&self) -> Result<PathBuf> {
        Ok(self.python()?.parent().unwrap_or(Path::new(".")).to_owned())
    }

    /// uv, or the program of this name beside it.
    pub(crate) fn uv(&self, name: &str) -> Result<PathBuf> {
        Ok(python_env::uv(self.workspace)?.with_file_name(name))
    }

    /// Runs `pack.py` and returns what it prints.
    pub(crate) fn pack<const N: usize>(&self, args: [&Path; N]) -> Result<String> {
        let mut command = Command::new(self.python()?);
        command.arg("-B").arg(self.workspace.path("xtask/src/package/pack.py")).args(args);
        child::capture(&mut command)
    }

    /// Writes the checksum of a file beside it.
    pub(crate) fn checksum(&self, file: &Path) -> Result<PathBuf> {
        let mut name = file.as_os_str().to_owned();
        name.push(".sha256");
        std::fs::write(&name, self.pack(["checksum".as_ref(), file])?)?;
        Ok(name.into())
    }

    /// A file of the project, with the place of publication filled in.
    pub(crate) fn template(&self, file: &str) -> Result<String> {
        let text = std::fs::read_to_string(self.workspace.path(file));
        Ok(self.product.fill(&text.with_context(|| format!("cannot read {file}"))?))
    }

    pub(crate) fn json(&self, file: &str) -> Result<Value> {
        serde_json::from_str(&self.template(file)?).with_context(|| format!("{file} is not JSON"))
    }
}

/// Copies a file into a folder, with its name and its permissions.
pub(crate) fn copy_into(file: &Path, folder: &Path) -> Result<PathBuf> {
    let to = folder.join(file.file_name().context("a file has a name")?);
    std::fs::create_dir_all(folder)?;
    std::fs::copy(file, &to).with_context(|| format!("cannot copy {}", file.display()))?;
    Ok(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_have_the_names_that_each_package_uses() {
        let mac = Platform::of("macos", "aarch64").unwrap();
        assert_eq!(
            (&*mac.triple, mac.system, mac.processor),
            ("aarch64-apple-darwin", "darwin", "arm64")
        );
        let linux = Platform::of("linux", "x86_64").unwrap();
        assert_eq!(
            (&*linux.triple, linux.system, linux.processor),
            ("x86_64-unknown-linux-gnu", "linux", "x64")
        );
        assert!(
            Platform::of("windows", "x86_64").is_err() && Platform::of("linux", "riscv64").is_err()
        );
    }
}
