//! `inkcell completions` and `inkcell man`: both are generated from the definition of the arguments, so that they
//! always agree with it.

use clap_mangen::Man as Page;

use crate::args::{self, Completions, Man};
use crate::exit::{Exit, Failure};
use crate::output::{Output, count};
use crate::settings::Settings;
use crate::words;

const NAME: &str = "inkcell";

pub(crate) fn completions(given: &Completions, output: &mut Output) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    let shell = clap_complete::Shell::from(given.shell);
    clap_complete::generate(shell, &mut args::command(), NAME, &mut script);
    output.raw(&script).map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}

pub(crate) fn man(given: &Man, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let mut command = args::command();
    command.build();
    let Some(dir) = &given.dir else {
        let page = page(&command, NAME)?;
        output.raw(&page).map_err(Failure::of_output)?;
        return Ok(Exit::Ok);
    };
    let dir = settings.cwd.join(dir);
    let failed = |error| Failure::Io(words::failure::WRITE_MANUALS, error);
    std::fs::create_dir_all(&dir).map_err(failed)?;
    let mut written = 0;
    let mut open = vec![(NAME.to_owned(), command)];
    while let Some((name, command)) = open.pop() {
        std::fs::write(dir.join(format!("{name}.1")), page(&command, &name)?).map_err(failed)?;
        written += 1;
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            if below.get_name() != "help" {
                open.push((format!("{name}-{}", below.get_name()), below.clone()));
            }
        }
    }
    output
        .line(&format!("{} written to {}", count(written, "page"), dir.display()))
        .map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}

fn page(command: &clap::Command, name: &str) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    let made = Page::new(command.clone()).title(name).render(&mut page);
    made.map_err(|error| Failure::Io(words::failure::MAKE_MANUAL, error))?;
    Ok(page)
}
