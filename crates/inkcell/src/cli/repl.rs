//! `inkcell repl`: a prompt in a session that outlives it.
//!
//! Owns the choice of the session and whether a user sits at a terminal. The prompt itself is in `repl`.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use inkcell_engine::api::{KernelRequest, KernelWishes};

use crate::app::python;
use crate::args;
use crate::client::Step;
use crate::client::hosts;
use crate::exit::{Exit, Failure};
use crate::host::{Ask, Attention, KernelOptions};
use crate::output::Output;
use crate::settings::Settings;
use crate::term::repl::face::Face;
use crate::term::repl::piped::PipeRepl;
use crate::term::repl::plain::Plain;
use crate::term::repl::talk::Talk;
use crate::term::repl::{Repl, Shared, Terminal, locked};
use crate::view::live::Live;
use crate::view::paint::Colour;
use crate::words;

/// The time in which a kernel that cannot start usually fails.
const AT_ONCE: Duration = Duration::from_millis(300);

pub(crate) fn run(
    args: &args::Repl,
    settings: &Arc<Settings>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if output.is_json() {
        let problem = words::repl::FOR_PEOPLE;
        return Err(Failure::argument("--json", problem));
    }
    let cwd = python::working_folder(&args.python, settings)?;
    let named = args.session.as_deref().map(|given| hosts::named(given, settings)).transpose()?;
    let (session, folder) = named.unzip();
    // An explicit folder takes precedence over that of a named notebook.
    let folder = folder.flatten().filter(|_| args.python.cwd.is_none());
    let wanted = python::wanted(&args.python, &args.kernel, settings);
    if wanted != KernelWishes::default() {
        check(folder.as_deref().unwrap_or(&cwd), &wanted, settings)?;
    }
    let whom = hosts::for_prompt(args.host, session.as_ref(), settings)?;
    whom.report_silent(output);
    let talk = Talk {
        client: whom.client,
        settings: Arc::clone(settings),
        session,
        cwd: whom.cwd.or(folder).unwrap_or(cwd),
        wanted,
        kernel: (&args.kernel).into(),
        attention: if args.verbose { Attention::Verbose } else { Attention::Usual },
    };
    let stays = talk.stays();
    let talk: Shared = Arc::new(Mutex::new(talk));
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        let colour = Colour::when(settings.may_colour());
        let mut face = PipeRepl::new(io::stdin().lock(), Live::new(colour));
        let failed = Repl::new(Arc::clone(&talk), &mut face).run()?;
        return Ok(failed.unwrap_or(Exit::Ok));
    }
    start(&talk)?;
    let mut face: Box<dyn Face> = match settings.can_draw() {
        true => Box::new(Terminal::new(&talk)?),
        false => Box::new(Plain::new()?),
    };
    let kept = if stays { words::repl::STAYS } else { words::repl::ENDS };
    face.say(&words::repl::greeting(
        env!("CARGO_PKG_VERSION"),
        &locked(&talk).cwd.display(),
        kept,
    ))?;
    if !settings.can_draw() {
        face.say(words::repl::NO_DRAWING)?;
    }
    Repl::new(Arc::clone(&talk), &mut *face).run()?;
    if stays {
        face.say(words::repl::LEAVING)?;
    }
    Ok(Exit::Ok)
}

/// Checks that the kernel that the arguments name exists, before a host starts for it.
fn check(cwd: &Path, wanted: &KernelWishes, settings: &Settings) -> Result<(), Failure> {
    let engine = python::engine(settings)?;
    super::runtime()?.block_on(engine.choose(cwd, wanted))?;
    Ok(())
}

/// Starts the kernel. It starts while the user types the first cell; what fails at once is reported before the prompt
/// appears. A kernel with special options is started by the first cell.
fn start(talk: &Shared) -> Result<(), Failure> {
    let mut asked = {
        let talk = locked(talk);
        if talk.kernel != KernelOptions::default() {
            return Ok(());
        }
        let start = KernelRequest::Start(talk.reference());
        talk.client.ask(Ask::Kernel(start))?
    };
    let until = Instant::now() + AT_ONCE;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        if let Step::Done(done) = asked.next(Some(left)) {
            return done.map(drop).map_err(Failure::from);
        }
    }
    // An error that comes later is reported when a cell is run.
    let wait = move || while !matches!(asked.next(None), Step::Done(_)) {};
    let _ = std::thread::Builder::new().name("start".to_owned()).spawn(wait);
    Ok(())
}
