//! Why a plugin can not be loaded. Each message says what, why and what to do, without host paths.

use mainstay_protocol::{
    Digest,
    failure::{CallFailure, Limit},
};

use crate::{
    hook::{Export, Hook},
    wasi::DirError,
};

/// Why a plugin can not be loaded. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The bytes are not the ones that the manifest pins.
    #[error(
        "the component's sha256 is {found}, and the manifest pins {expected}; if you trust the new bytes, change `sha256` in its entry"
    )]
    DigestMismatch {
        /// The pinned digest.
        expected: Digest,
        /// The digest of the bytes.
        found: Digest,
    },
    /// The bytes are no WebAssembly at all.
    #[error("the file is not a WebAssembly component: {why}")]
    NotAComponent {
        /// What is wrong with it.
        why: String,
    },
    /// The bytes are a core module.
    #[error(
        "the file is a core WebAssembly module, not a component; build it with `cargo build --target wasm32-wasip2`, whose output is one"
    )]
    CoreModule,
    /// The component exports an interface of our namespace that this host does not know.
    #[error(
        "the component exports `{export}`, which this host does not know; skipping it could skip a decision. The host serves: {served}. Use a newer host, or build the plugin without it"
    )]
    UnknownExport {
        /// The export's full name.
        export: String,
        /// What the host serves.
        served: String,
    },
    /// The component exports a known interface at another version.
    #[error("the component exports `{export}`, and this host serves {served}; build the plugin against that version")]
    ExportVersion {
        /// The export's full name.
        export: String,
        /// The package and version that the host serves.
        served: String,
    },
    /// A known export lacks a function, or has one of another type.
    #[error(
        "the component's export `{export}` does not fit the interface: {why}; build the plugin against the released WIT package"
    )]
    ExportType {
        /// The export.
        export: Export,
        /// What does not fit.
        why: String,
    },
    /// The component exports nothing that the host can call.
    #[error("the component exports nothing that this host serves: no `tools`, no `model`, no hook")]
    NothingExported,
    /// The component needs something that the host does not have.
    #[error("the component imports `{import}`, which this host does not serve: {why}")]
    MissingImport {
        /// The import's full name.
        import: String,
        /// Why not.
        why: String,
    },
    /// The component exports a hook without the operator's consent.
    #[error(
        "the component exports the hook `{hook}`, which the operator did not grant; if it may decide there, add \"{hook}\" to `grant.hooks` of its entry (and `asks.hooks` in its plugin.toml)"
    )]
    HookNotGranted {
        /// The hook.
        hook: Hook,
    },
    /// A granted hook is not exported: a gate that the operator counts on would be missing.
    #[error(
        "`grant.hooks` names `{hook}`, and the component does not export it; take it out, or use a build that has it"
    )]
    HookNotExported {
        /// The hook.
        hook: Hook,
    },
    /// This version of the host does not call the hook.
    #[error(
        "this version of the host does not serve the hook `{hook}` yet; a plugin that counts on it can not be loaded"
    )]
    HookNotServed {
        /// The hook.
        hook: Hook,
    },
    /// A limit is larger than what the engine was built for.
    #[error("{} = {asked} is more than the engine has places for; lower it, or raise the host's own limit from {most}", limit.setting())]
    LimitTooHigh {
        /// The limit.
        limit: Limit,
        /// What the plugin's entry asks for.
        asked: u64,
        /// What the engine has.
        most: u64,
    },
    /// The component has more core instances, memories or tables than its limit, or than the pool has.
    #[error("the component is too large: {why}; raise `limits.instances` of its entry, or the host's number of calls")]
    TooLarge {
        /// What there is too much of.
        why: String,
    },
    /// The configuration is not a JSON object.
    #[error("the plugin's configuration is not a JSON object: {why}")]
    Config {
        /// What is wrong with it.
        why: String,
    },
    /// A granted folder can not be opened.
    #[error("{0}; make it, or change `grant.dirs` of the plugin's entry")]
    Dir(#[from] DirError),
    /// The plugin failed when it was tried in a throwaway instance.
    #[error("the plugin failed in {during}: {failure}{}", tail(stderr_tail))]
    SelfCheck {
        /// What was tried: `check-self`, `list-tools`, `list-models`, `schema-version` or the instantiation.
        during: &'static str,
        /// How it failed.
        failure: Box<CallFailure>,
        /// The end of its standard error. Untrusted.
        stderr_tail: String,
    },
    /// The state's layout is another one than the plugin's manifest says.
    #[error(
        "the component's state layout is version {component}, and its plugin.toml says `state_schema = {manifest}`; they must agree"
    )]
    StateSchema {
        /// What the component says.
        component: u32,
        /// What its manifest says.
        manifest: u32,
    },
    /// The host itself failed: a bug, or the machine.
    #[error("the host failed while it loaded the plugin: {0}")]
    Host(String),
}

impl LoadError {
    /// A stable word for records and programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::DigestMismatch { .. } => "digest-mismatch",
            Self::NotAComponent { .. } => "not-a-component",
            Self::CoreModule => "core-module",
            Self::UnknownExport { .. } => "unknown-export",
            Self::ExportVersion { .. } => "export-version",
            Self::ExportType { .. } => "export-type",
            Self::NothingExported => "nothing-exported",
            Self::MissingImport { .. } => "missing-import",
            Self::HookNotGranted { .. } => "hook-not-granted",
            Self::HookNotExported { .. } => "hook-not-exported",
            Self::HookNotServed { .. } => "hook-not-served",
            Self::LimitTooHigh { .. } => "limit-too-high",
            Self::TooLarge { .. } => "too-large",
            Self::Config { .. } => "config",
            Self::Dir(_) => "dir",
            Self::SelfCheck { .. } => "self-check",
            Self::StateSchema { .. } => "state-schema",
            Self::Host(_) => "host",
        }
    }
}

/// The last line of what the guest wrote, which is where toolchains say why they trapped.
fn tail(stderr: &str) -> String {
    let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(String::new, |line| format!(" (it wrote: {})", crate::check::clipped(line)))
}
