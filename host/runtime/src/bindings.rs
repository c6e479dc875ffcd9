//! Bindings of the `everything` world: one set of types for all imports and exports. Generated; nothing outside this crate
//! sees them.
#![allow(
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    unused_qualifications,
    clippy::all,
    clippy::semicolon_if_nothing_returned,
    reason = "generated code"
)]

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "everything",
    imports: {
        "mainstay:plugin/blobs": async | trappable,
        "mainstay:plugin/plugin-state": async | trappable,
        "mainstay:plugin/session-state": async | trappable,
        "mainstay:plugin/transcript": async | trappable,
        default: trappable,
    },
    exports: { default: async },
    with: { "mainstay:plugin/transcript.view": crate::capabilities::transcript::View },
});
