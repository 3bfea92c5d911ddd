//! Topics of `inkcell help` that are about no single command.
//!
//! Owns their texts. Longer guides are in the documentation.

use super::page::{Page, PageStyle, Row};
use crate::exit;

/// A topic: sections of rows between paragraphs.
pub(super) struct Topic {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    parts: &'static [Part],
}

enum Part {
    Text(&'static str),
    Rows(&'static str, &'static [(&'static str, &'static str)]),
    ExitCodes,
    Topics,
}

pub(super) static TOPICS: &[Topic] = &[
    Topic {
        name: "cells",
        about: "How to name cells",
        parts: &[
            Part::Text(
                "Commands with --cells take a list such as 0,3-5,ab12,-1. Other commands take one entry of such a list.",
            ),
            Part::Rows(
                "Entries",
                &[
                    ("0", "Position of a cell; the first cell is 0"),
                    ("-1", "Position from the end; the last cell is -1"),
                    ("3-5", "Positions 3, 4 and 5"),
                    ("ab12", "ID of a cell, or at least its first four characters"),
                ],
            ),
            Part::Rows(
                "Words for 'inkcell read --cells'",
                &[
                    ("stale", "Cells that can run and are not fresh"),
                    ("failed", "Cells whose run failed or that show an error"),
                    ("headings", "Markdown cells with a heading"),
                    ("makes:NAME", "Cells that define NAME"),
                    ("uses:NAME", "Cells that read NAME"),
                ],
            ),
            Part::Text(
                "'inkcell run --cells stale' runs the stale cells and the cells that they need. \
                 'inkcell read NOTEBOOK --outline' lists positions and IDs.",
            ),
        ],
    },
    Topic {
        name: "environment",
        about: "Environment variables that inkcell reads",
        parts: &[
            Part::Rows(
                "Settings",
                &[
                    ("INKCELL_...", "Any setting; python.timeout is INKCELL_PYTHON_TIMEOUT"),
                    (
                        "INKCELL_CONFIG",
                        "Your settings file [default: ~/.config/inkcell/config.toml]",
                    ),
                ],
            ),
            Part::Rows(
                "Terminal",
                &[
                    ("NO_COLOR", "No color, if not empty"),
                    ("CLICOLOR_FORCE", "Color in pipes and files too, if not empty and not 0"),
                    ("TERM", "dumb turns off color, pager and drawing"),
                    ("PAGER", "Pager for long output [default: less]; empty or cat for none"),
                    ("COLUMNS", "Width of help in pipes and files [default: 80]"),
                ],
            ),
            Part::Rows("Automation", &[("CI", "Implies --no-host, unless empty or false")]),
            Part::Text("'inkcell settings' lists every setting, its variable and its value."),
        ],
    },
    Topic { name: "exit-codes", about: "Exit codes and their meaning", parts: &[Part::ExitCodes] },
    Topic {
        name: "topics",
        about: "List of topics",
        parts: &[
            Part::Topics,
            Part::Text(
                "Read a topic with 'inkcell help TOPIC'. 'inkcell help COMMAND' explains a command, with examples.",
            ),
        ],
    },
];

pub(super) fn find(name: &str) -> Option<&'static Topic> {
    TOPICS.iter().find(|topic| topic.name == name)
}

pub(super) fn render(topic: &Topic, style: PageStyle) -> String {
    let mut page = Page::new(style);
    page.paragraph(topic.about);
    for part in topic.parts {
        match part {
            Part::Text(text) => page.paragraph(text),
            Part::Rows(title, rows) => {
                page.heading(title);
                let rows: Vec<Row> =
                    rows.iter().map(|(name, about)| Row::new(name, about)).collect();
                page.rows(&rows);
            }
            Part::ExitCodes => {
                page.heading("Exit codes");
                let rows: Vec<Row> =
                    exit::codes().iter().map(|(code, meaning)| Row::new(code, meaning)).collect();
                page.rows(&rows);
            }
            Part::Topics => {
                page.heading("Topics");
                let rows: Vec<Row> =
                    TOPICS.iter().map(|topic| Row::new(topic.name, topic.about)).collect();
                page.rows(&rows);
            }
        }
    }
    page.finish()
}
