//! `inkcell new`: creates an empty notebook where no file exists.

use serde_json::json;

use crate::args::New;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::Settings;
use crate::words;

pub(crate) fn run(args: &New, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    if args.kernel.as_deref().is_some_and(|name| name.trim().is_empty()) {
        let problem = words::env::KERNEL_NAME;
        return Err(Failure::argument("--kernel", problem));
    }
    let version = settings.notebooks.create(&args.path, args.kernel.as_deref())?;
    let written = if output.is_json() {
        output.json(&json!({"path": args.path, "version": version.to_string(), "cells": 0}))
    } else {
        let lines = [
            "✓ Notebook created".to_owned(),
            format!("  Notebook: {}", args.path),
            format!("  Version: {version}"),
        ];
        lines.iter().try_for_each(|line| output.line(line))
    };
    written.map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}
