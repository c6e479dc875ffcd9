//! The macro that turns a type into the exports of a component.

/// Exports a type as what its traits say: `export!(Calc: tools, self_check)`.
///
/// The names are those of the WIT interfaces in snake case, and each wants the trait of that name: `tools` wants
/// [`Tools`](crate::Tools), `tool_gate` wants [`ToolGate`](crate::ToolGate). Use it once, at the root of the crate.
/// Natively it only checks that the traits are there, so that `cargo test` works.
#[macro_export]
macro_rules! export {
    ($plugin:ident: $($export:ident),+ $(,)?) => {
        $($crate::__export_one!($plugin, $export);)+
        $crate::__provenance!();
    };
}

/// One arm for each export of the WIT package.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_one {
    ($plugin:ident, tools) => {
        $crate::__export_with!($plugin, Tools, tools, export_tools);
    };
    ($plugin:ident, model) => {
        $crate::__export_with!($plugin, Model, model, export_model);
    };
    ($plugin:ident, commands) => {
        $crate::__export_with!($plugin, Commands, commands, export_commands);
    };
    ($plugin:ident, session_hooks) => {
        $crate::__export_with!($plugin, SessionHooks, session_hooks, export_session_hooks);
    };
    ($plugin:ident, input) => {
        $crate::__export_with!($plugin, Input, input, export_input);
    };
    ($plugin:ident, prepare) => {
        $crate::__export_with!($plugin, Prepare, prepare, export_prepare);
    };
    ($plugin:ident, model_response) => {
        $crate::__export_with!($plugin, ModelResponse, model_response, export_model_response);
    };
    ($plugin:ident, model_error) => {
        $crate::__export_with!($plugin, ModelError, model_error, export_model_error);
    };
    ($plugin:ident, tool_rewrite) => {
        $crate::__export_with!($plugin, ToolRewrite, tool_rewrite, export_tool_rewrite);
    };
    ($plugin:ident, tool_gate) => {
        $crate::__export_with!($plugin, ToolGate, tool_gate, export_tool_gate);
    };
    ($plugin:ident, tool_result) => {
        $crate::__export_with!($plugin, ToolResult, tool_result, export_tool_result);
    };
    ($plugin:ident, compaction) => {
        $crate::__export_with!($plugin, Compaction, compaction, export_compaction);
    };
    ($plugin:ident, stop) => {
        $crate::__export_with!($plugin, Stop, stop, export_stop);
    };
    ($plugin:ident, observer) => {
        $crate::__export_with!($plugin, Observer, observer, export_observer);
    };
    ($plugin:ident, state_migration) => {
        $crate::__export_with!($plugin, StateMigration, state_migration, export_state_migration);
    };
    ($plugin:ident, self_check) => {
        $crate::__export_with!($plugin, SelfCheck, self_check, export_self_check);
    };
    ($plugin:ident, $other:ident) => {
        compile_error!(concat!(
            "`",
            stringify!($other),
            "` is not an export. Exports: tools, model, commands, session_hooks, input, prepare, ",
            "model_response, model_error, tool_rewrite, tool_gate, tool_result, compaction, stop, observer, ",
            "state_migration, self_check"
        ));
    };
}

/// The trait check, for a readable error on every target, and the export itself where there is a component to build.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_with {
    ($plugin:ident, $trait:ident, $module:ident, $macro:ident) => {
        const _: fn() = || {
            fn serves<T: $crate::$trait>() {}
            serves::<$plugin>();
        };
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::$module::$macro!($plugin with_types_in $crate::bindings::$module);
    };
}

/// A custom section that tells which SDK built the plugin.
#[doc(hidden)]
#[macro_export]
macro_rules! __provenance {
    () => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            #[used]
            #[unsafe(link_section = "mainstay-sdk")]
            static SDK: [u8; $crate::PROVENANCE.len()] = *$crate::PROVENANCE;
        };
    };
}
