//! A plugin that misbehaves, one way a tool: what a host has to survive, name and bound.

mod bombs;
mod floods;
mod imports;
mod outcomes;
mod system;

use mainstay_sdk::prelude::*;

/// The plugin.
#[derive(Debug)]
pub struct Hostile;

impl Tools for Hostile {
    fn toolbox() -> Toolbox {
        let groups = [bombs::tools(), floods::tools(), imports::tools(), outcomes::tools(), system::tools()];
        groups
            .into_iter()
            .flatten()
            .fold(Toolbox::new(), |toolbox, tool| toolbox.with(tool.pure().parallel().unattended()))
    }
}

mainstay_sdk::export!(Hostile: tools);
