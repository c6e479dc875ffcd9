//! A macro for the closed lists of words in manifests: one line a word gives the type, its texts, and errors that name the
//! nearest word.

macro_rules! words {
    (
        $(#[$meta:meta])*
        $vis:vis $name:ident, $what:literal;
        $($(#[$doc:meta])* $variant:ident = $text:literal,)+
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// All of them.
            $vis const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The word as manifests write it.
            $vis const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::error::InvalidValue;

            fn from_str(text: &str) -> Result<Self, $crate::error::InvalidValue> {
                Self::ALL.iter().copied().find(|word| word.as_str() == text).ok_or_else(|| {
                    let known = [$($text,)+];
                    $crate::error::InvalidValue::new(concat!("not ", $what), $crate::suggest::hint(text, &known))
                })
            }
        }
    };
}
