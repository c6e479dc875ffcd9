//! Tools over the files of the granted folders: list, read, search, write, edit.
//!
//! The sandbox decides what can be reached at all: a path outside the granted folders does not exist here, whatever is
//! written in it. What this plugin adds is order, limits, and errors that a model can act on.

mod edit;
mod list;
mod read;
mod roots;
mod search;
mod settings;
#[cfg(test)]
mod tests;
mod walk;
mod write;

use mainstay_sdk::prelude::*;

use settings::Settings;

/// The version of this build, as in its manifest.
pub const VERSION: &str = if cfg!(feature = "next") { "0.1.1" } else { "0.1.0" };

/// The plugin.
#[derive(Debug)]
pub struct Files;

impl Tools for Files {
    fn toolbox() -> Toolbox {
        Toolbox::new()
            .with(Tool::new("list_files", list::DESCRIPTION, list::run).pure().parallel().unattended())
            .with(Tool::new("read_file", read::DESCRIPTION, read::run).pure().parallel().unattended())
            .with(Tool::new("search_files", search::DESCRIPTION, search::run).pure().parallel().unattended())
            // Both overwrite: run again after a crash, they could undo what somebody changed in between.
            .with(Tool::new("write_file", write::DESCRIPTION, write::run))
            .with(Tool::new("edit_file", edit::DESCRIPTION, edit::run))
    }
}

impl SelfCheck for Files {
    fn check_self() -> Result<Vec<String>, Error> {
        let settings = Settings::load()?;
        let root = &settings.root;
        match std::fs::read_dir(root) {
            Ok(_) => Ok(Vec::new()),
            Err(error) => Ok(vec![format!("the root `{root}` can't be listed ({error}): grant a folder there")]),
        }
    }
}

mainstay_sdk::export!(Files: tools, self_check);
