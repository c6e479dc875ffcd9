//! One module for each export: its trait, its types, and the bridge to the generated bindings.

/// Lets every implementation of a public trait serve as the generated one.
macro_rules! serve {
    ($module:ident, $trait:ident { $(fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty;)+ }) => {
        impl<T: $trait> crate::bindings::$module::exports::mainstay::plugin::$module::Guest for T {
            $(fn $name($($arg: $type),*) -> $out {
                <T as $trait>::$name($($arg),*)
            })+
        }
    };
}

mod commands;
mod compaction;
mod input;
mod model;
mod model_error;
mod model_response;
mod observer;
mod prepare;
mod self_check;
mod session_hooks;
mod state_migration;
mod stop;
mod tool_gate;
mod tool_result;
mod tool_rewrite;
mod tools;

pub use commands::*;
pub use compaction::*;
pub use input::*;
pub use model::*;
pub use model_error::*;
pub use model_response::*;
pub use observer::*;
pub use prepare::*;
pub use self_check::*;
pub use session_hooks::*;
pub use state_migration::*;
pub use stop::*;
pub use tool_gate::*;
pub use tool_result::*;
pub use tool_rewrite::*;
pub use tools::*;
