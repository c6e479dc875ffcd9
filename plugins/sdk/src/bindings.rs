//! Generated bindings: the imports and shared types once, then each export interface in a module of its own that maps
//! types and imports to the shared ones. Each export has its own macro, so a plugin's component type names only what
//! it serves. Nothing here is meant to be used directly.

#![allow(unsafe_code, reason = "the canonical ABI of generated bindings passes raw pointers")]
#![allow(missing_docs, reason = "documented in the WIT files")]
#![allow(missing_debug_implementations, unreachable_pub, unused_qualifications, reason = "generated")]
#![allow(clippy::all, clippy::pedantic, clippy::restriction, reason = "generated")]

pub mod imports {
    wit_bindgen::generate!({
        world: "plugin",
        path: "wit",
        generate_unused_types: true,
        additional_derives: [Clone, PartialEq],
    });
}

macro_rules! export_bindings {
    ($module:ident, $world:literal, $macro:literal, $bindings:literal) => {
        pub mod $module {
            wit_bindgen::generate!({
                world: $world,
                path: "wit",
                generate_unused_types: true,
                additional_derives: [Clone, PartialEq],
                pub_export_macro: true,
                export_macro_name: $macro,
                default_bindings_module: $bindings,
                with: {
                    "mainstay:plugin/blobs@0.1.0": crate::bindings::imports::mainstay::plugin::blobs,
                    "mainstay:plugin/catalog@0.1.0": crate::bindings::imports::mainstay::plugin::catalog,
                    "mainstay:plugin/content@0.1.0": crate::bindings::imports::mainstay::plugin::content,
                    "mainstay:plugin/context@0.1.0": crate::bindings::imports::mainstay::plugin::context,
                    "mainstay:plugin/current-step@0.1.0": crate::bindings::imports::mainstay::plugin::current_step,
                    "mainstay:plugin/errors@0.1.0": crate::bindings::imports::mainstay::plugin::errors,
                    "mainstay:plugin/items@0.1.0": crate::bindings::imports::mainstay::plugin::items,
                    "mainstay:plugin/log@0.1.0": crate::bindings::imports::mainstay::plugin::log,
                    "mainstay:plugin/model-data@0.1.0": crate::bindings::imports::mainstay::plugin::model_data,
                    "mainstay:plugin/models@0.1.0": crate::bindings::imports::mainstay::plugin::models,
                    "mainstay:plugin/outcomes@0.1.0": crate::bindings::imports::mainstay::plugin::outcomes,
                    "mainstay:plugin/plugin-state@0.1.0": crate::bindings::imports::mainstay::plugin::plugin_state,
                    "mainstay:plugin/progress@0.1.0": crate::bindings::imports::mainstay::plugin::progress,
                    "mainstay:plugin/secrets@0.1.0": crate::bindings::imports::mainstay::plugin::secrets,
                    "mainstay:plugin/session-state@0.1.0": crate::bindings::imports::mainstay::plugin::session_state,
                    "mainstay:plugin/suspension@0.1.0": crate::bindings::imports::mainstay::plugin::suspension,
                    "mainstay:plugin/tool-definitions@0.1.0": crate::bindings::imports::mainstay::plugin::tool_definitions,
                    "mainstay:plugin/transcript@0.1.0": crate::bindings::imports::mainstay::plugin::transcript,
                },
            });
        }
    };
}

export_bindings!(tools, "tools-plugin", "export_tools", "mainstay_sdk::bindings::tools");
export_bindings!(model, "model-plugin", "export_model", "mainstay_sdk::bindings::model");
export_bindings!(commands, "commands-plugin", "export_commands", "mainstay_sdk::bindings::commands");
export_bindings!(
    session_hooks,
    "session-hooks-plugin",
    "export_session_hooks",
    "mainstay_sdk::bindings::session_hooks"
);
export_bindings!(input, "input-plugin", "export_input", "mainstay_sdk::bindings::input");
export_bindings!(prepare, "prepare-plugin", "export_prepare", "mainstay_sdk::bindings::prepare");
export_bindings!(
    model_response,
    "model-response-plugin",
    "export_model_response",
    "mainstay_sdk::bindings::model_response"
);
export_bindings!(model_error, "model-error-plugin", "export_model_error", "mainstay_sdk::bindings::model_error");
export_bindings!(tool_rewrite, "tool-rewrite-plugin", "export_tool_rewrite", "mainstay_sdk::bindings::tool_rewrite");
export_bindings!(tool_gate, "tool-gate-plugin", "export_tool_gate", "mainstay_sdk::bindings::tool_gate");
export_bindings!(tool_result, "tool-result-plugin", "export_tool_result", "mainstay_sdk::bindings::tool_result");
export_bindings!(compaction, "compaction-plugin", "export_compaction", "mainstay_sdk::bindings::compaction");
export_bindings!(stop, "stop-plugin", "export_stop", "mainstay_sdk::bindings::stop");
export_bindings!(observer, "observer-plugin", "export_observer", "mainstay_sdk::bindings::observer");
export_bindings!(
    state_migration,
    "state-migration-plugin",
    "export_state_migration",
    "mainstay_sdk::bindings::state_migration"
);
export_bindings!(self_check, "self-check-plugin", "export_self_check", "mainstay_sdk::bindings::self_check");
