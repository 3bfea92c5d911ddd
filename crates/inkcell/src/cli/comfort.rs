//! `inkcell completions` and `inkcell man`: both are generated from the definition of the arguments, so that they
//! always agree with it.

use std::io;

use clap_mangen::Man as Page;
use clap_mangen::roff::{Roff, bold, roman};

use crate::args::{self, Completions, GROUPS, Man};
use crate::exit::{self, Exit, Failure};
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
            open.push((format!("{name}-{}", below.get_name()), below.clone()));
        }
    }
    output
        .line(&format!("{} written to {}", count(written, "page"), dir.display()))
        .map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}

fn page(command: &clap::Command, name: &str) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    let page = Page::new(command.clone()).title(name);
    let made = match name {
        NAME => program_page(command, &page, &mut text),
        _ => page.render(&mut text),
    };
    made.map_err(|error| Failure::Io(words::failure::MAKE_MANUAL, error))?;
    Ok(text)
}

/// The page of the program: its commands in groups, and the exit codes.
fn program_page(command: &clap::Command, page: &Page, text: &mut Vec<u8>) -> io::Result<()> {
    page.render_title(text)?;
    page.render_name_section(text)?;
    page.render_synopsis_section(text)?;
    page.render_description_section(text)?;
    let mut roff = Roff::new();
    let row = |roff: &mut Roff, name: &str, about: &str| {
        roff.control("TP", []);
        roff.text([bold(name)]);
        roff.text([roman(about)]);
    };
    for (title, names) in GROUPS {
        roff.control("SH", [title.to_uppercase().as_str()]);
        for below in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = below.get_about().map(ToString::to_string).unwrap_or_default();
            row(&mut roff, &format!("{NAME}-{}(1)", below.get_name()), &about);
        }
    }
    roff.to_writer(text)?;
    page.render_options_section(text)?;
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]);
    exit::codes().iter().for_each(|(code, meaning)| row(&mut roff, code, meaning));
    roff.to_writer(text)?;
    page.render_version_section(text)
}
