//! Makes the pictures of the README: the prompt and the notebook in the terminal, as they really look.
//!
//! Owns the keys, the agent's edit, and the conversion of a screen to SVG. Nothing is drawn by hand.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use inkcell_testkit::pty::{Pty, Size};
use serde_json::{Value, json};
use vt100::{Color, Screen};

use crate::python_env;
use crate::workspace::Workspace;

const FOLDER: &str = "docs/pictures";

/// The size of a character, in units of the picture.
const WIDE: f32 = 8.4;
const HIGH: f32 = 17.0;

const DARK: &str = "#20242c";
const LIGHT: &str = "#d0d4dc";

/// The sixteen colours of a terminal with a dark background.
const COLOURS: [&str; 16] = [
    "#20242c", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d0d4dc",
    "#6b7280", "#ff7b86", "#b5e08a", "#ffd78a", "#82c4ff", "#df9bf2", "#7fdbe6", "#ffffff",
];

pub fn run(workspace: &Workspace) -> Result<()> {
    let python = python_env::prepare(workspace)?;
    let inkcell = workspace.path("target/release/inkcell");
    ensure!(inkcell.is_file(), "build it first: cargo build --release");
    let scratch = workspace.path("target/pictures");
    if scratch.exists() {
        fs::remove_dir_all(&scratch)?;
    }
    fs::create_dir_all(&scratch)?;
    fs::create_dir_all(workspace.path(FOLDER))?;
    let at = |args: &[&str]| {
        let mut command = Command::new(&inkcell);
        command
            .args(args)
            .current_dir(&scratch)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &scratch)
            .env("COLORTERM", "truecolor")
            .env("INKCELL_STATE_DIR", scratch.join("state"))
            .env("INKCELL_PYTHON_INTERPRETER", &python)
            .env("INKCELL_SCREEN_GLYPHS", "sextants");
        command
    };
    let size = Size { columns: 88, rows: 28 };
    draw_prompt(at(&["repl", "--no-host"]), size, &workspace.path(FOLDER).join("repl.svg"))?;
    fs::write(scratch.join("solar.ipynb"), solar().to_string())?;
    let ran = at(&["run", "--quiet", "solar.ipynb"]).env("CI", "true").status()?;
    ensure!(ran.success(), "the notebook did not run");
    let agent = at(&["mcp"]);
    let tui = at(&["tui", "solar.ipynb"]);
    let size = Size { columns: 92, rows: 46 };
    let done = draw_notebook(tui, agent, size, &workspace.path(FOLDER).join("tui.svg"));
    // The host of these sessions has a folder that goes away now.
    at(&["host", "stop", "--force"]).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    done?;
    fs::remove_dir_all(&scratch)?;
    println!("{FOLDER}/repl.svg, {FOLDER}/tui.svg");
    Ok(())
}

/// The notebook of the picture, before an agent edits it.
fn solar() -> Value {
    let cell = |kind: &str, id: &str, source: &str| {
        let mut cell = json!({"cell_type": kind, "id": id, "metadata": {}, "source": source});
        if kind == "code" {
            cell["outputs"] = json!([]);
            cell["execution_count"] = Value::Null;
        }
        cell
    };
    let load = "import matplotlib.pyplot as plt\n\
        months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split()\n\
        kwh = [61, 84, 142, 188, 214, 221, 226, 197, 151, 103, 66, 49]";
    let plot = "plt.figure(figsize=(6, 2))\nplt.bar(months, kwh, color='orange');";
    let cells = json!([
        cell("markdown", "intro", "# Solar yield\nWhich months need a second battery?"),
        cell("code", "load", load),
        cell("code", "plot", plot),
        cell("code", "low", "[m for m, yield_ in zip(months, kwh) if yield_ < 80]"),
    ]);
    let kernelspec = json!({"name": "python3", "display_name": "Python 3", "language": "python"});
    json!({"cells": cells, "metadata": {"kernelspec": kernelspec}, "nbformat": 4, "nbformat_minor": 5})
}

/// The messages of an agent that corrects the last cell and puts one after it. That cell runs for longer than the
/// picture takes.
fn messages() -> String {
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "agent", "version": "1"}});
    let train = "import time\n\
        for epoch in range(1, 900):\n    print(f'epoch {epoch}  loss {1 / epoch:.3f}')\n    time.sleep(1)";
    let ops = json!([
        {"op": "sub", "cell": "low", "old": "< 80", "new": "< 100"},
        {"op": "insert", "after": "low", "type": "code", "source": train},
    ]);
    let edit = json!({"name": "notebook_edit",
        "arguments": {"path": "solar.ipynb", "run": "stale", "ops": ops}});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": edit}),
    ];
    messages.iter().map(|message| format!("{message}\n")).collect()
}

fn draw_prompt(command: Command, size: Size, to: &Path) -> Result<()> {
    let mut pty = Pty::start(command, size);
    pty.wait_for(">>>");
    let cells = [
        ("rows = [(n, n * n) for n in range(1, 6)]\r", ">>>"),
        ("sum(square for _, square in rows)\r", "55"),
        ("1 / (rows[0][0] - 1)\r", "ZeroDivisionError: division by zero"),
        (
            "import matplotlib.pyplot as plt; plt.figure(figsize=(4, 1.6)); _ = plt.plot(*zip(*rows)); plt.show()\r",
            "Figure size",
        ),
    ];
    for (cell, shown) in cells {
        pty.send(cell);
        pty.wait_for(shown);
    }
    // The last prompt is below the picture.
    pty.wait_until("a prompt at the end", |screen| screen.contents().trim_end().ends_with(">>>"));
    fs::write(to, svg(pty.screen())).with_context(|| format!("{}", to.display()))?;
    pty.send("\x04");
    pty.end();
    Ok(())
}

/// Opens a notebook, lets an agent edit and run it, and draws the screen while the new cell runs.
fn draw_notebook(tui: Command, agent: Command, size: Size, to: &Path) -> Result<()> {
    let mut pty = Pty::start(tui, size);
    pty.wait_for("Solar yield");
    pty.wait_for("? keys");
    let _agent = Agent::start(agent)?;
    pty.wait_for("5 cells");
    pty.send("G");
    pty.wait_for("epoch 3");
    fs::write(to, svg(pty.screen())).with_context(|| format!("{}", to.display()))?;
    pty.send("q");
    pty.end();
    Ok(())
}

/// The server of an agent. Dropping it ends it.
struct Agent(Child);

impl Agent {
    fn start(mut server: Command) -> Result<Agent> {
        server.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut agent = Agent(server.spawn()?);
        // Leave the pipe open: the server ends with its input.
        let stdin = agent.0.stdin.as_mut().context("no pipe")?;
        stdin.write_all(messages().as_bytes())?;
        Ok(agent)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The look of a cell of the screen.
#[derive(Clone, PartialEq)]
struct Look {
    ink: String,
    ground: Option<String>,
    is_bold: bool,
    is_dim: bool,
}

impl Look {
    fn of(cell: &vt100::Cell) -> Look {
        let (ink, ground) = match cell.inverse() {
            true => (colour(cell.bgcolor(), DARK), Some(colour(cell.fgcolor(), LIGHT))),
            false => {
                let is_own = cell.bgcolor() != Color::Default;
                (colour(cell.fgcolor(), LIGHT), is_own.then(|| colour(cell.bgcolor(), DARK)))
            }
        };
        Look { ink, ground, is_bold: cell.bold(), is_dim: cell.dim() }
    }
}

/// Draws a screen, run by run of cells with one look: a rectangle for the background, a text for the characters.
fn svg(screen: &Screen) -> String {
    let (rows, columns) = screen.size();
    let (rows, columns): (u16, u16) = (rows.into(), columns.into());
    let (wide, high) = (f32::from(columns) * WIDE + 24.0, f32::from(rows) * HIGH + 24.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide:.0}\" height=\"{high:.0}\" \
         viewBox=\"0 0 {wide:.0} {high:.0}\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{DARK}\"/>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"14\" \
         shape-rendering=\"crispEdges\" xml:space=\"preserve\">\n"
    );
    for row in 0..rows {
        let mut column = 0;
        while column < columns {
            let Some(cell) = screen.cell(row, column) else { break };
            let look = Look::of(cell);
            let begin = column;
            let mut text = String::new();
            while let Some(cell) = screen.cell(row, column).filter(|cell| Look::of(cell) == look) {
                if !cell.is_wide_continuation() {
                    text.push_str(if cell.has_contents() { cell.contents() } else { " " });
                }
                column += 1;
            }
            draw_run(&mut out, &look, (row, begin, column), &text);
        }
    }
    out.push_str("</g>\n</svg>\n");
    out
}

fn draw_run(out: &mut String, look: &Look, (row, begin, end): (u16, u16, u16), text: &str) {
    let left = |column: u16| 12.0 + f32::from(column) * WIDE;
    let (top, width) = (12.0 + f32::from(row) * HIGH, f32::from(end - begin) * WIDE);
    let mut rect = |x: f32, y: f32, width: f32, height: f32, fill: &str| {
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\"/>"
        );
    };
    if let Some(ground) = &look.ground {
        rect(left(begin), top, width, HIGH, ground);
    }
    // Fonts leave gaps between block characters, so they are drawn as rectangles.
    let mut letters = String::new();
    for (at, c) in (begin..).zip(text.chars()) {
        let parts = block(c);
        letters.push(if parts.is_empty() { c } else { ' ' });
        for [x, y, wide, high] in parts {
            rect(left(at) + x * WIDE, top + y * HIGH, wide * WIDE, high * HIGH, &look.ink);
        }
    }
    let indent = letters.chars().take_while(|c| *c == ' ').count();
    let letters = letters.trim();
    if letters.is_empty() {
        return;
    }
    let x = left(begin) + indent as f32 * WIDE;
    let length = letters.chars().count() as f32 * WIDE;
    let weight = if look.is_bold { " font-weight=\"bold\"" } else { "" };
    let faint = if look.is_dim { " opacity=\"0.6\"" } else { "" };
    let letters = letters.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{length:.1}\" fill=\"{}\"{weight}{faint}>{letters}</text>",
        top + 13.0,
        look.ink
    );
}

/// The inked parts of a block character, as left, top, width and height in fractions of a cell; none for others.
fn block(c: char) -> Vec<[f32; 4]> {
    let lower = |eighths: u32| vec![[0.0, 1.0 - eighths as f32 / 8.0, 1.0, eighths as f32 / 8.0]];
    let leftmost = |eighths: u32| vec![[0.0, 0.0, eighths as f32 / 8.0, 1.0]];
    // A set bit is an inked part: row by row, from the left.
    let grid = |bits: u32, rows: u32| {
        let parts = (0..rows * 2).filter(move |part| bits & (1 << part) != 0);
        let (wide, high) = (0.5, 1.0 / rows as f32);
        parts
            .map(move |part| [(part % 2) as f32 * wide, (part / 2) as f32 * high, wide, high])
            .collect()
    };
    match c {
        '▀' => grid(0b0011, 2),
        '▐' => grid(0b1010, 2),
        '\u{2581}'..='\u{2588}' => lower(u32::from(c) - 0x2580),
        '\u{2589}'..='\u{258f}' => leftmost(0x2590 - u32::from(c)),
        '▖' => grid(0b0100, 2),
        '▗' => grid(0b1000, 2),
        '▘' => grid(0b0001, 2),
        '▙' => grid(0b1101, 2),
        '▚' => grid(0b1001, 2),
        '▛' => grid(0b0111, 2),
        '▜' => grid(0b1011, 2),
        '▝' => grid(0b0010, 2),
        '▞' => grid(0b0110, 2),
        '▟' => grid(0b1110, 2),
        // Two of the 62 sextants are the half blocks, which have their own characters.
        '\u{1fb00}'..='\u{1fb3b}' => {
            let bits = u32::from(c) - 0x1fb00 + 1;
            let bits = if bits >= 21 { bits + 1 } else { bits };
            grid(if bits >= 42 { bits + 1 } else { bits }, 3)
        }
        _ => Vec::new(),
    }
}

fn colour(colour: Color, otherwise: &str) -> String {
    match colour {
        Color::Default => otherwise.to_owned(),
        Color::Idx(index) if index < 16 => COLOURS[usize::from(index)].to_owned(),
        Color::Idx(index) if index < 232 => {
            let (cube, level) = (index - 16, |n: u8| if n == 0 { 0 } else { 55 + 40 * n });
            let (red, green, blue) = (level(cube / 36), level(cube / 6 % 6), level(cube % 6));
            format!("#{red:02x}{green:02x}{blue:02x}")
        }
        Color::Idx(index) => {
            let grey = 8 + 10 * (index - 232);
            format!("#{grey:02x}{grey:02x}{grey:02x}")
        }
        Color::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
    }
}
