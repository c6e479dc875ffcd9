//! The limits of one plugin: each with its default, its least useful value and its hard maximum, in one list. No limit can
//! be switched off, and none can be zero.

use std::fmt;

use crate::read::{Fields, Node};
use crate::units::{ByteSize, Count, Timespan};

macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident: $kind:ty = $default:expr, $min:expr => $max:expr;)+) => {
        /// What one call of a plugin may use at most, as `limits = { ... }` of its entry says.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct PluginLimits {
            $($name: $kind,)+
        }

        impl PluginLimits {
            $($(#[$doc])* pub const fn $name(&self) -> $kind { self.$name })+

            /// All limits in a fixed order, for people to read.
            pub fn rows(&self) -> Vec<LimitRow> {
                vec![$(LimitRow {
                    key: stringify!($name),
                    value: self.$name.to_string(),
                    default: self.$name == $default,
                    maximum: ($max).to_string(),
                },)+]
            }

            fn from_fields(fields: &mut Fields<'_>) -> Self {
                Self {
                    $($name: fields.or(stringify!($name), $default, |node| node.quantity::<$kind>($min, $max)),)+
                }
            }
        }

        impl Default for PluginLimits {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }
    };
}

limits! {
    /// All linear memories of a call together. Default 64 MiB, at most 4 GiB.
    memory: ByteSize = ByteSize::mib(64), ByteSize::kib(64) => ByteSize::mib(4096);
    /// Wall-clock time of one call, awaited host calls included. For a model adapter: of one whole completion. Default
    /// 60 s, at most 1 h.
    call: Timespan = Timespan::millis_const(60_000), Timespan::millis_const(10) => Timespan::millis_const(3_600_000);
    /// Elements of all tables together. Default 20,000, at most 1,000,000.
    table_elements: Count = Count::constant(20_000), Count::constant(1) => Count::constant(1_000_000);
    /// Core instances in one store; a Python component has 14. Default 32, at most 256.
    instances: Count = Count::constant(32), Count::constant(1) => Count::constant(256);
    /// Resource handles that the guest may hold at once. Default 1,024, at most 65,536.
    handles: Count = Count::constant(1024), Count::constant(16) => Count::constant(65_536);
    /// Bytes that one call of a host function may carry. Default 8 MiB, which is also the maximum.
    hostcall: ByteSize = ByteSize::mib(8), ByteSize::mib(1) => ByteSize::mib(8);
    /// Bytes that one call may return; for a model adapter, that one completion may stream. Default and maximum 16 MiB.
    output: ByteSize = ByteSize::mib(16), ByteSize::kib(1) => ByteSize::mib(16);
    /// Bytes that one call may write to logs, standard output and standard error. Default 256 KiB, at most 16 MiB.
    log: ByteSize = ByteSize::kib(256), ByteSize::kib(1) => ByteSize::mib(16);
    /// Bytes of durable state of the plugin in one session. Default 16 MiB, at most 1 GiB.
    state: ByteSize = ByteSize::mib(16), ByteSize::kib(1) => ByteSize::mib(1024);
    /// Bytes of HTTP bodies of one call, both ways together. Default 16 MiB, at most 1 GiB.
    http: ByteSize = ByteSize::mib(16), ByteSize::kib(1) => ByteSize::mib(1024);
}

impl PluginLimits {
    pub(crate) fn read(node: &Node<'_>) -> Option<Self> {
        node.fields(|fields| Some(Self::from_fields(fields)))
    }

    /// A stable text: one `key = value` a line, in a fixed order. Equal limits have equal texts.
    pub fn canonical(&self) -> String {
        self.rows().iter().map(|row| format!("{} = {}\n", row.key, row.value)).collect()
    }
}

/// One limit as people read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitRow {
    key: &'static str,
    value: String,
    default: bool,
    maximum: String,
}

impl LimitRow {
    /// The key in the manifest, such as `memory`.
    pub fn key(&self) -> &'static str {
        self.key
    }

    /// The value with its unit.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Whether the value is the default.
    pub fn is_default(&self) -> bool {
        self.default
    }

    /// The hard maximum with its unit.
    pub fn maximum(&self) -> &str {
        &self.maximum
    }
}

impl fmt::Display for LimitRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.key, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_defaults_and_one_text() {
        let limits = PluginLimits::default();
        assert_eq!(limits.memory().bytes().get(), 64 << 20);
        assert!(limits.rows().iter().all(LimitRow::is_default));
        assert!(limits.canonical().starts_with("memory = 64 MiB\ncall = 1 min\n"));
    }
}
