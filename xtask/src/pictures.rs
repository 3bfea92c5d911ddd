//! Makes the pictures of the README: the prompt and the notebook in the terminal, as they really look.
//!
//! Owns the keys typed for each, and the conversion of a screen to SVG. The programs run at a terminal of their own;
//! nothing is drawn by hand.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use inkcell_testkit::pty::{Pty, Size};
use vt100::{Color, Screen};

use crate::python_env;
use crate::workspace::Workspace;

const FOLDER: &str = "docs/pictures";

/// The size of a character, in units of the picture.
const WIDE: f32 = 8.4;
const HIGH: f32 = 17.0;

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
            .env("INKCELL_PYTHON_INTERPRETER", &python);
        command
    };
    let size = Size { columns: 88, rows: 28 };
    prompt(at(&["repl", "--no-host"]), size, &workspace.path(FOLDER).join("repl.svg"))?;
    let notebook = scratch.join("tour.ipynb");
    fs::copy(workspace.path("examples/tour.ipynb"), &notebook)?;
    let ran = at(&["run", "--quiet", "tour.ipynb"]).env("CI", "true").status()?;
    ensure!(ran.success(), "the tour did not run");
    let tui = at(&["tui", "--no-host", "tour.ipynb"]);
    notebook_picture(tui, size, &workspace.path(FOLDER).join("tui.svg"))?;
    fs::remove_dir_all(&scratch)?;
    println!("{FOLDER}/repl.svg, {FOLDER}/tui.svg");
    Ok(())
}

fn prompt(command: Command, size: Size, to: &Path) -> Result<()> {
    let mut pty = Pty::start(command, size);
    pty.wait_for(">>>");
    let cells = [
        ("rows = [(n, n * n) for n in range(1, 6)]\r", ">>>"),
        ("sum(square for _, square in rows)\r", "55"),
        ("1 / (rows[0][0] - 1)\r", "ZeroDivisionError: division by zero"),
        (
            "import matplotlib.pyplot as plt; plt.figure(figsize=(4, 1.6)); _ = plt.plot(*zip(*rows)); plt.show()\r",
            "▀",
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

fn notebook_picture(command: Command, size: Size, to: &Path) -> Result<()> {
    let mut pty = Pty::start(command, size);
    pty.wait_for("A tour of inkcell");
    pty.send("jj");
    pty.wait_until("the third cell", |screen| screen.contents().contains("squares"));
    fs::write(to, svg(pty.screen())).with_context(|| format!("{}", to.display()))?;
    pty.send("q");
    pty.end();
    Ok(())
}

/// Draws a screen: a rectangle for each background, a text for each run of characters in one style.
fn svg(screen: &Screen) -> String {
    let (rows, columns) = screen.size();
    let (rows, columns): (u16, u16) = (rows.into(), columns.into());
    let (wide, high) = (f32::from(columns) * WIDE + 24.0, f32::from(rows) * HIGH + 24.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide:.0}\" height=\"{high:.0}\" \
         viewBox=\"0 0 {wide:.0} {high:.0}\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#20242c\"/>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"14\" \
         xml:space=\"preserve\">\n"
    );
    for row in 0..rows {
        let y = 12.0 + f32::from(row) * HIGH;
        for column in 0..columns {
            let Some(cell) = screen.cell(row, column) else { continue };
            if cell.is_wide_continuation() {
                continue;
            }
            let x = 12.0 + f32::from(column) * WIDE;
            let (mut ink, mut ground) = (cell.fgcolor(), cell.bgcolor());
            if cell.inverse() {
                (ink, ground) = (ground, ink);
            }
            if ground != Color::Default || cell.inverse() {
                let fill = if cell.inverse() && ground == Color::Default {
                    "#d0d4dc".to_owned()
                } else {
                    colour(ground, "#20242c")
                };
                let _ = writeln!(
                    out,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{HIGH}\" fill=\"{fill}\"/>",
                    WIDE + 0.3
                );
            }
            let text = cell.contents();
            if text.trim().is_empty() {
                continue;
            }
            let fill = if cell.inverse() && ink == Color::Default {
                "#20242c".to_owned()
            } else {
                colour(ink, "#d0d4dc")
            };
            // Draw half cells as rectangles, because fonts leave gaps between them.
            if text == "▀" {
                let _ = writeln!(
                    out,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{fill}\"/>",
                    WIDE + 0.3,
                    HIGH / 2.0
                );
                continue;
            }
            let weight = if cell.bold() { " font-weight=\"bold\"" } else { "" };
            let faint = if cell.dim() { " opacity=\"0.6\"" } else { "" };
            let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let _ = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{:.1}\" fill=\"{fill}\"{weight}{faint}>{text}</text>",
                y + 13.0
            );
        }
    }
    out.push_str("</g>\n</svg>\n");
    out
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
