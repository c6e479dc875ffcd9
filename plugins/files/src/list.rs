//! `list_files`: what is in a folder.

use std::fs;

use mainstay_sdk::prelude::*;

use crate::roots::Place;
use crate::settings::Settings;
use crate::walk::{Entry, Filter, Flow, Kind, walk};

pub(crate) const DESCRIPTION: &str = "Lists the files and folders in a folder, sorted, one path a line. Folders end in \
    `/`, symbolic links in `@`; files show their size in bytes.";

/// Arguments of `list_files`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The folder. Default: the root of the workspace.
    #[serde(default)]
    path: String,
    /// How many levels to go down. Default 1: only this folder.
    #[schemars(range(min = 1))]
    depth: Option<u32>,
    /// Lists only files whose path matches this glob, such as `*.md` or `src/**/*.rs`.
    include: Option<String>,
}

pub(crate) fn run(arguments: Arguments) -> Outcome<String> {
    let settings = Settings::load()?;
    let place = Place::parse(&settings.root, &arguments.path)?;
    let filter = Filter::new(arguments.include.as_deref())?;
    let filtered = arguments.include.is_some();
    let depth = arguments.depth.unwrap_or(1).clamp(1, settings.max_depth);
    let mut lines = Vec::new();
    let mut full = false;
    let omitted = walk(&settings, &place, depth, &mut |entry| {
        let wanted = if filtered { entry.kind != Kind::Folder && filter.takes(&entry.place) } else { true };
        if wanted && lines.len() == settings.max_results {
            full = true;
            return Ok(Flow::Stop);
        }
        if wanted {
            lines.push(line(entry));
        }
        Ok(Flow::On)
    })?;
    if lines.is_empty() {
        lines.push(if filtered { "[nothing matches]".to_owned() } else { "[the folder is empty]".to_owned() });
    }
    if full {
        lines.push(format!("[more than {} entries; choose a smaller folder, or use `include`]", settings.max_results));
    }
    lines.extend(omitted.notes());
    Ok(lines.join("\n"))
}

fn line(entry: &Entry) -> String {
    let place = &entry.place;
    match entry.kind {
        Kind::Folder => format!("{place}/"),
        Kind::Link => format!("{place}@"),
        Kind::File => match fs::metadata(place.path()) {
            Ok(metadata) => format!("{place}  {}", metadata.len()),
            Err(_) => format!("{place}  ?"),
        },
        Kind::Other => format!("{place}  [special]"),
    }
}
