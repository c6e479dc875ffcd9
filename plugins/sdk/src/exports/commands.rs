//! The export `commands`.

use crate::types::{Error, Interruption};

pub use crate::bindings::commands::exports::mainstay::plugin::commands::{CommandDefinition, CommandEffect};

/// What a plugin does for commands that people give by name.
pub trait Commands {
    /// The commands of this plugin. Called when the plugin is activated.
    fn list_commands() -> Result<Vec<CommandDefinition>, Error>;

    /// Runs a command; `arguments` is what the person wrote after its name, as is.
    fn run_command(name: String, arguments: String) -> Result<Vec<CommandEffect>, Interruption>;
}

serve!(commands, Commands {
    fn list_commands() -> Result<Vec<CommandDefinition>, Error>;
    fn run_command(name: String, arguments: String) -> Result<Vec<CommandEffect>, Interruption>;
});
