//! Names in manifests. Each kind is a type of its own, so that they do not mix; a value of such a type is legal.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use crate::error::InvalidValue;

/// What a kind of name may look like.
struct Rule {
    what: &'static str,
    first: fn(char) -> bool,
    rest: fn(char) -> bool,
    max: usize,
    hint: &'static str,
}

impl Rule {
    fn check(&self, text: &str) -> Result<String, InvalidValue> {
        let mut chars = text.chars();
        let legal = chars.next().is_some_and(self.first) && chars.all(self.rest) && text.len() <= self.max;
        legal.then(|| text.to_owned()).ok_or_else(|| InvalidValue::new(format!("not a {}", self.what), self.hint))
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $rule:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidValue;

            fn from_str(text: &str) -> Result<Self, InvalidValue> {
                const RULE: Rule = $rule;
                RULE.check(text).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

name!(
    /// The name under which an operator installs a plugin, or an author publishes one: `[a-z][a-z0-9-]{0,63}`.
    PluginName,
    Rule {
        what: "plugin name",
        first: |c| c.is_ascii_lowercase(),
        rest: |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-',
        max: 64,
        hint: "use a lower-case letter, then at most 63 of `a-z 0-9 -`",
    }
);

name!(
    /// A named way to a model, or a context group of such ways: `[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}`.
    RouteName,
    Rule {
        what: "route name",
        first: |c| c.is_ascii_alphanumeric(),
        rest: |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'),
        max: 64,
        hint: "use a letter or digit, then at most 63 of `a-z A-Z 0-9 . _ -`",
    }
);

name!(
    /// A tool as the model sees it: 1 to 64 of `a-z A-Z 0-9 _ -`, as the plugin interface says.
    ToolName,
    Rule {
        what: "tool name",
        first: is_tool_char,
        rest: is_tool_char,
        max: 64,
        hint: "use 1 to 64 of `a-z A-Z 0-9 _ -`",
    }
);

name!(
    /// The owner of sessions, secrets, plugin state and blobs: `[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}`.
    TenantName,
    Rule {
        what: "tenant name",
        first: |c| c.is_ascii_alphanumeric(),
        rest: |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'),
        max: 64,
        hint: "use a letter or digit, then at most 63 of `a-z A-Z 0-9 . _ -`",
    }
);

name!(
    /// An environment variable: `[A-Za-z_][A-Za-z0-9_]{0,127}`, as POSIX shells take it.
    EnvName,
    Rule {
        what: "name of an environment variable",
        first: |c| c.is_ascii_alphabetic() || c == '_',
        rest: |c| c.is_ascii_alphanumeric() || c == '_',
        max: 128,
        hint: "use a letter or `_`, then at most 127 of `a-z A-Z 0-9 _`",
    }
);

name!(
    /// A secret, as plugin and operator both call it: `[A-Za-z_][A-Za-z0-9_]{0,127}`.
    SecretName,
    Rule {
        what: "secret name",
        first: |c| c.is_ascii_alphabetic() || c == '_',
        rest: |c| c.is_ascii_alphanumeric() || c == '_',
        max: 128,
        hint: "use a letter or `_`, then at most 127 of `a-z A-Z 0-9 _`",
    }
);

impl From<&PluginName> for RouteName {
    /// Every plugin name is a legal name of a context group.
    fn from(name: &PluginName) -> Self {
        Self(name.0.clone())
    }
}

impl TenantName {
    /// The one tenant of a single-user host.
    pub fn default_tenant() -> Self {
        Self("default".to_owned())
    }
}

impl From<&SecretName> for EnvName {
    /// Both kinds follow the same rule.
    fn from(name: &SecretName) -> Self {
        Self(name.0.clone())
    }
}

fn is_tool_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugin_names_are_lower_case_and_start_with_a_letter() {
        for good in ["a", "files", "open-ai2"] {
            assert!(good.parse::<PluginName>().is_ok(), "{good}");
        }
        for bad in ["", "2a", "-a", "Files", "a_b", "é", &"a".repeat(65)] {
            assert!(bad.parse::<PluginName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn tool_and_environment_names_follow_their_standards() {
        assert!("Read_file-2".parse::<ToolName>().is_ok());
        assert!("read file".parse::<ToolName>().is_err());
        assert!("_LANG2".parse::<EnvName>().is_ok());
        for bad in ["", "2A", "A=B", "A\0"] {
            assert!(bad.parse::<EnvName>().is_err(), "{bad:?}");
        }
    }
}
