//! How a turn ends: its outcome, and why, in words that programs can tell apart. What a message says never decides anything.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a turn ended, as the feed tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnOutcome {
    /// As the model meant it.
    Completed,
    /// A person, or a program in their place, called it off.
    Cancelled,
    /// A hook rejected the message.
    Rejected,
    /// The runtime called it off: a restart, a shutdown.
    Interrupted,
    /// It could not go on.
    Failed,
}

macro_rules! stop_reasons {
    ($($(#[$doc:meta])* $variant:ident = $word:literal $(| $code:literal)*;)*) => {
        /// Why a turn ended as it did.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum StopReason {
            $($(#[$doc])* #[serde(rename = $word)] $variant,)*
            /// A reason that this build does not know.
            #[serde(other)]
            Other,
        }

        impl StopReason {
            /// The word, as stored.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Other => "other",
                }
            }

            /// The reason of a code that earlier builds wrote in its place.
            pub fn of_code(code: &str) -> Self {
                match code {
                    $($word $(| $code)* => Self::$variant,)*
                    _ => Self::Other,
                }
            }
        }
    };
}

stop_reasons! {
    /// A person called it off.
    CancelledByPerson = "cancelled_by_person" | "interrupted";
    /// A hook rejected its message.
    RejectedByHook = "rejected_by_hook";
    /// The host ended while something of the turn ran that must not run twice.
    HostRestarted = "host_restarted" | "restarted";
    /// The host called it off to shut down.
    HostStopped = "host_stopped";
    /// The model's provider, or its adapter, returned an error.
    ProviderError = "provider_error" | "provider-error" | "guest-error";
    /// A quota of the provider or of the operator is used up.
    QuotaExceeded = "quota_exceeded" | "quota";
    /// A bound on output or context cut the model off.
    OutputLength = "output_length" | "length";
    /// A filter, or the model itself, refused.
    OutputFiltered = "output_filtered" | "filtered";
    /// It had all the steps that a turn may have.
    StepLimit = "step_limit" | "step-limit";
    /// The history can't be sent to a model as it is.
    InvalidRequest = "invalid_request" | "invalid-request";
    /// The session has no model route.
    NoRoute = "no_route" | "no-route";
    /// No such route, or no such adapter, is configured.
    UnknownRoute = "unknown_route" | "unknown-route" | "unknown-adapter";
    /// A plugin trapped.
    PluginTrap = "plugin_trap" | "trap";
    /// A plugin used up its time.
    TimeExhausted = "time_exhausted" | "timeout";
    /// A plugin used up its memory.
    MemoryExhausted = "memory_exhausted";
    /// A plugin ran into another limit.
    LimitExceeded = "limit_exceeded" | "limit";
    /// A plugin was not granted what it needed.
    CapabilityDenied = "capability_denied" | "refused";
    /// A plugin does not speak the interface, or broke its contract.
    IncompatibleInterface = "incompatible_interface" | "bad-output";
    /// The session requires another build than the one that is active.
    RequiredBuildMissing = "required_build_missing";
    /// The host had no place for a plugin's call.
    HostBusy = "host_busy" | "busy";
    /// The host itself failed.
    HostFailed = "host_failed" | "host";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_their_own_codes_and_unknown_ones_lock_nobody_out() {
        for reason in [StopReason::CancelledByPerson, StopReason::MemoryExhausted, StopReason::HostFailed] {
            assert_eq!(serde_json::to_string(&reason).expect("a word"), format!("\"{}\"", reason.as_str()));
            assert_eq!(StopReason::of_code(reason.as_str()), reason);
        }
        assert_eq!(StopReason::of_code("restarted"), StopReason::HostRestarted);
        assert_eq!(serde_json::from_str::<StopReason>("\"from_the_future\"").ok(), Some(StopReason::Other));
    }
}
