//! Many notebooks in one command: the arguments become rows, and the ends of the rows become an answer.
//!
//! Owns the refusals before anything runs. `crate::batch` schedules, `conduct` runs, `view/batch` shows.

mod conduct;
mod files;
mod prefix;

use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use inkcell_engine::Kind;
use inkcell_engine::api::RunStart;
use inkcell_engine::kernel::BackendKind;
use inkcell_engine::notebook::Parameters;
use serde_json::{Map, Value};

use super::super::inputs::Files;
use super::parameters::of_word;
use super::stopping::{RunLife, Stopping};
use super::{NotebookSource, PIPE, again, colour, request};
use crate::app::gateways::is_address;
use crate::app::python;
use crate::args::Run;
use crate::batch::{
    Machine, Matrix, Naming, OnFailure, Parallelism, Record, Retries, Row, RowId, RowKey, Template,
    TemplateError, Width, rows, shared,
};
use crate::client::Client;
use crate::exit::{Exit, Failure};
use crate::host::{Attention, Detachment, HostEvent, RunAsk};
use crate::output::Output;

use crate::settings::{Profile, Settings};
use crate::setup::quoted;
use crate::view::batch::{Board, Looks};
use crate::view::paint::Look;
use crate::view::run::Following;
use crate::words;
use conduct::{Conductor, News, Rules};
use files::RecordFile;
pub(in crate::cli) use files::{Reports, write_report};
use prefix::Prefix;

/// The interval at which the view is updated.
const TICK: Duration = Duration::from_millis(100);

/// Refuses several names without a destination for outputs: other programs take the second name as the output file,
/// and here it would be run and overwritten.
fn refuse_what_is_undecided(args: &Run) -> Result<(), Failure> {
    let (message, hint) = match &*args.undecided() {
        [] | [_] => return Ok(()),
        [one, other] => {
            let message = words::batch::unclear(other);
            let (one, other) = (quoted(one), quoted(other));
            let hint = words::batch::one_or_both(&one, &other);
            (message, hint)
        }
        [one, .., last] => {
            (words::batch::would_write_all(one, last), words::batch::ADD_IN_PLACE.to_owned())
        }
    };
    Err(Failure::new(Kind::Invalid, message, Some(hint)))
}

pub(super) fn run(
    args: &Run,
    parameters: &Parameters,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    refuse_what_is_for_one(args)?;
    refuse_what_is_undecided(args)?;
    let files = Files { cwd: &settings.cwd };
    let axes: Vec<&str> = args.given().filter(|given| args.is_axis(given)).collect();
    let matrix = Matrix::parse(args.batch.matrix.iter().map(String::as_str).chain(axes));
    let matrix = matrix.map_err(|error| Failure::argument("--matrix", error.to_string()))?;
    let inputs = files.inputs(args.given().filter(|given| !args.is_axis(given)))?;
    let mut rows = planned(args, (&inputs, &matrix), parameters, &files)?;
    for row in &mut rows {
        row.parameters = as_json(&values(row, parameters));
    }
    let places: Vec<(PathBuf, PathBuf)> = rows.iter().map(|row| places(row, &files)).collect();
    let keys = rows.iter().zip(&places);
    let keys = keys.map(|(row, (input, output))| RowKey::of(input, output, &row.values)).collect();
    let record = RecordFile::open(&settings.state_dir, &identity(args, parameters, settings))?;
    let start = if args.resume { RunStart::Resume } else { RunStart::First };
    let asked = args.batch.jobs.map_or(Parallelism::Usual, Parallelism::Jobs);
    let machine = machine(args, settings);
    let width = Width::of(asked, machine, rows.len());
    let mut rules = Rules {
        width: width.jobs,
        on_failure: if args.batch.fail_fast { OnFailure::Stop } else { OnFailure::GoOn },
        retries: if args.batch.retry_failed { Retries::Once } else { Retries::None },
        start,
        reports: Reports {
            junit: args.batch.junit.as_ref().map(|file| settings.cwd.join(file)),
            json: args.batch.report.as_ref().map(|file| settings.cwd.join(file)),
        },
        notes: width.doubt(asked, machine).into_iter().collect(),
        search_path: settings.program_folders(),
    };
    let taken: Vec<PathBuf> =
        places.into_iter().flat_map(|(input, output)| [input, output]).collect();
    rules.reports.must_be_writable(&taken)?;
    let prefixes = match args.batch.share_prefix {
        true => prefixes(&rows, &files, settings, &mut rules.notes),
        false => Vec::new(),
    };
    let asks = rows.iter().map(|row| ask(args, row, parameters, settings)).collect();
    // Each row needs time in this process, too; with a single thread the rows would wait for each other.
    let threads = width.jobs.min(machine.cores);
    let client = Client::local_on(threads, python::engine_for_many(settings)?, settings)?;
    let stopping = Stopping::listen(RunLife::Ours)?;
    let (news, heard) = mpsc::channel();
    let names: Vec<Row> = rows.clone();
    let conductor = Conductor::new(
        (rows, keys, asks),
        (client, record),
        rules,
        stopping.clone(),
        (settings.notebooks.clone(), news),
    )
    .sharing(prefixes);
    let thread = std::thread::Builder::new().name("batch".to_owned());
    let thread = thread.spawn(move || conductor.run());
    thread.map_err(Failure::of_thread)?;
    let following = match (args.quiet, output.is_json()) {
        (_, true) => {
            output.in_lines();
            Following::Json
        }
        (true, false) => Following::Quiet,
        (false, false) => Following::Lines,
    };
    let stderr = Look::of(std::io::stderr(), colour(settings));
    let looks = Looks {
        stdout: Look::of(std::io::stdout(), colour(settings)),
        stderr,
        can_draw: settings.can_draw() && stderr.width.is_some(),
    };
    let mut board = Board::new(following, names, looks);
    let (report, kept) = follow(&heard, &stopping, &mut board, output)?;
    let shown = board.end(&report, output).and_then(|()| output.flush());
    let is_cut_short = report.stopped.is_some() && following == Following::Lines;
    if let Some(command) =
        again::resumed(args, settings).filter(|_| is_cut_short && !settings.is_in_ci())
    {
        output.aside(&words::run::go_on(&command));
    }
    stopping.is_shown();
    shown.map_err(Failure::of_output)?;
    match stopping.signal() {
        Some(signal) => Err(Failure::Signal(signal)),
        None => kept.map(|()| report.exit()),
    }
}

/// Follows the batch to its end, and shows its progress.
fn follow(
    heard: &mpsc::Receiver<News>,
    stopping: &Stopping,
    board: &mut Board,
    output: &mut Output,
) -> Result<(crate::batch::BatchReport, Result<(), Failure>), Failure> {
    loop {
        // A reader that is gone does not stop the batch.
        match heard.recv_timeout(TICK) {
            Ok(News::Over { report, kept }) => return Ok((*report, kept)),
            Ok(News::Began(RowId(row))) => drop(board.began(row, output)),
            Ok(News::Event(RowId(row), event)) => match *event {
                HostEvent::Aside(line) => board.said(&line, output),
                event => event.news().into_iter().for_each(|news| board.apply(row, news)),
            },
            Ok(News::Tried { row: RowId(row), tried, again }) => {
                drop(board.tried(row, &tried, again, output));
            }
            Ok(News::Unchanged(RowId(row))) => drop(board.unchanged(row, output)),
            Ok(News::Said(line)) => board.said(&line, output),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return Err(Failure::Pipe),
        }
        if stopping.signal().is_some() {
            board.stop();
        }
        drop(board.tick());
    }
}

/// Refuses each option that only makes sense for one notebook, with an error of its own.
fn refuse_what_is_for_one(args: &Run) -> Result<(), Failure> {
    let kept = words::batch::NO_SESSION;
    let table = [
        (args.given().any(|given| given == PIPE), "-", words::batch::TAKES_FILES),
        (args.output.as_deref() == Some(PIPE), "--output", words::batch::WRITES_FILES),
        (
            args.on_server || args.given().any(is_address),
            "--on-server",
            words::batch::OF_THIS_MACHINE,
        ),
        (args.is_kept(), "--keep", kept),
        (args.inspect, "--inspect", words::batch::PARAMETERS_OF_ONE),
        (args.log_output, "--log-output", words::batch::OUTPUTS_OF_ONE),
        (args.kernel.which.existing.is_some(), "--existing", words::batch::KERNEL_FOR_ONE),
    ];
    match table.into_iter().find(|(is_given, ..)| *is_given) {
        Some((_, argument, problem)) => Err(Failure::argument(argument, problem)),
        None => Ok(()),
    }
}

fn planned(
    args: &Run,
    (inputs, matrix): (&[String], &Matrix),
    parameters: &Parameters,
    files: &Files<'_>,
) -> Result<Vec<Row>, Failure> {
    let failed = |problem: String| Failure::argument("--output", problem);
    let template = args.output.as_deref().map(Template::parse).transpose();
    let template = template.map_err(|error| failed(error.to_string()))?;
    let naming = Naming {
        template: template.as_ref(),
        fixed: &fixed(args, parameters),
        real: &|name: &str| files.real(name),
    };
    rows(inputs, matrix, &naming).map_err(|error| failed(error.to_string()))
}

/// The output of the only notebook. A name with braces, or one that ends with a slash, is a template.
pub(super) fn output(args: &Run, parameters: &Parameters) -> Result<Option<String>, Failure> {
    let failed = |problem: TemplateError| Failure::argument("--output", problem.to_string());
    let given = args.output.as_deref().filter(|output| *output != PIPE);
    let Some(template) = given.filter(|given| given.contains(['{', '}']) || given.ends_with('/'))
    else {
        return Ok(given.map(str::to_owned));
    };
    let (template, values) = (Template::parse(template).map_err(failed)?, fixed(args, parameters));
    let names: Vec<String> = values.iter().map(|(name, _)| name.clone()).collect();
    template.must_be_known(&names).map_err(failed)?;
    Ok(Some(template.fill(&args.path, 0, &values)))
}

/// The parameters that are the same for all rows, which templates may also name: words as they were written, and other
/// values if one word says them.
fn fixed(args: &Run, parameters: &Parameters) -> Vec<(String, String)> {
    let words = args.parameters.raw.iter().chain(&args.parameters.words);
    let words = words.map(|word| (word.name.clone(), word.value.clone()));
    let others = as_json(parameters).into_iter().filter_map(|(name, value)| match value {
        Value::String(text) => Some((name, text)),
        Value::Number(_) | Value::Bool(_) => Some((name, value.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    });
    // The first of two values for a name counts.
    words.chain(others).collect()
}

/// The values of a row: those of all rows, and its own.
fn values(row: &Row, parameters: &Parameters) -> Parameters {
    let mut all = parameters.clone();
    for (name, value) in &row.values {
        all.set(name, of_word(value));
    }
    all
}

/// Values as reports have them. Numbers stay numbers.
pub(super) fn as_json(parameters: &Parameters) -> Map<String, Value> {
    serde_json::from_str(&parameters.to_json()).unwrap_or_default()
}

/// The input and the output of a row, with links resolved.
fn places(row: &Row, files: &Files<'_>) -> (PathBuf, PathBuf) {
    let input = files.real(&row.input);
    let output = row.output.as_ref().map_or_else(|| input.clone(), |output| files.real(output));
    (input, output)
}

/// The common beginnings of rows. For rows without one, a note says why.
fn prefixes(
    rows: &[Row],
    files: &Files<'_>,
    settings: &Settings,
    notes: &mut Vec<String>,
) -> Vec<Prefix> {
    let mut found = Vec::new();
    for group in shared(rows) {
        let real = files.real(&group.input);
        match Prefix::of(&group, &real, &settings.notebooks, &settings.state_dir) {
            Ok(prefix) => found.push(prefix),
            Err(why) => notes.push(conduct::not_shared(&group.input, &why)),
        }
    }
    found
}

/// The identity of a batch: the arguments that decide about its rows and what they run.
fn identity(args: &Run, parameters: &Parameters, settings: &Settings) -> Record {
    let values = format!("{parameters:?}");
    let mut words: Vec<&str> = args.given().collect();
    words.extend([&values, "--matrix"]);
    words.extend(args.batch.matrix.iter().map(String::as_str));
    for (name, value) in [
        ("--output", &args.output),
        ("--cells", &args.cells),
        ("--from", &args.from),
        ("--to", &args.to),
    ] {
        words.push(name);
        words.extend(value.as_deref());
    }
    Record::of(&settings.cwd, words)
}

/// The resources to run on. Kernels of a server elsewhere take no memory of this machine.
fn machine(args: &Run, settings: &Settings) -> Machine {
    let backend = args.kernel.which.backend.map(BackendKind::from);
    let profile = Profile::CommandLine;
    let backend = backend.unwrap_or_else(|| settings.backend(profile));
    let is_elsewhere = backend == BackendKind::Gateway && settings.gateway(profile).url.is_some();
    Machine {
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        free: (!is_elsewhere).then(files::free_memory).flatten(),
    }
}

/// The request for one row.
fn ask(args: &Run, row: &Row, parameters: &Parameters, settings: &Settings) -> RunAsk {
    let mut request = request(args, &NotebookSource::File, (None, None), settings);
    request.path.clone_from(&row.input);
    request.output.clone_from(&row.output);
    request.start = RunStart::First;
    request.parameters = values(row, parameters);
    RunAsk {
        request,
        kernel: (&args.kernel).into(),
        state: None,
        copy_of: None,
        attention: match (args.quiet, args.verbose) {
            (true, _) => Attention::Quiet,
            (_, true) => Attention::Verbose,
            _ => Attention::Usual,
        },
        detached: Detachment::No,
        copied_from: None,
        shows_outputs: false,
    }
}
