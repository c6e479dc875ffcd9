//! Quantities with units, as people write them: `"64 MiB"`, `"120 s"`. None of them can be zero.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::str::FromStr;
use std::time::Duration;

use crate::error::InvalidValue;

/// A number of bytes, at least one. Text: a whole number and one of `B`, `KiB`, `MiB`, `GiB` (powers of 1,024) or `kB`,
/// `MB`, `GB` (powers of 1,000).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(NonZeroU64);

impl ByteSize {
    const UNITS: &'static [(&'static str, u64)] = &[
        ("GiB", 1 << 30),
        ("MiB", 1 << 20),
        ("KiB", 1 << 10),
        ("GB", 1_000_000_000),
        ("MB", 1_000_000),
        ("kB", 1_000),
        ("B", 1),
    ];

    /// A size from its bytes.
    pub const fn from_bytes(bytes: NonZeroU64) -> Self {
        Self(bytes)
    }

    pub(crate) const fn kib(count: u64) -> Self {
        Self(non_zero(count << 10))
    }

    pub(crate) const fn mib(count: u64) -> Self {
        Self(non_zero(count << 20))
    }

    /// The size in bytes.
    pub const fn bytes(self) -> NonZeroU64 {
        self.0
    }

    /// The size in bytes, for a platform's own counters; on a 32-bit platform a size past its range is its range.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0.get()).unwrap_or(usize::MAX)
    }
}

impl FromStr for ByteSize {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        parse(text, Self::UNITS, "a size", "write a whole number with `B`, `KiB`, `MiB` or `GiB`, such as \"64 MiB\"")
            .map(Self)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
        write_largest(f, self.0.get(), &binary)
    }
}

/// A length of time, at least one millisecond. Text: a whole number and one of `ms`, `s`, `min`, `h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timespan(NonZeroU64);

impl Timespan {
    const UNITS: &'static [(&'static str, u64)] = &[("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];

    /// A timespan from its milliseconds.
    pub const fn from_millis(millis: NonZeroU64) -> Self {
        Self(millis)
    }

    pub(crate) const fn millis_const(millis: u64) -> Self {
        Self(non_zero(millis))
    }

    /// The length in milliseconds.
    pub const fn millis(self) -> NonZeroU64 {
        self.0
    }

    /// The length as the standard library's type.
    pub const fn as_duration(self) -> Duration {
        Duration::from_millis(self.0.get())
    }
}

impl FromStr for Timespan {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        parse(text, Self::UNITS, "a duration", "write a whole number with `ms`, `s`, `min` or `h`, such as \"120 s\"")
            .map(Self)
    }
}

impl fmt::Display for Timespan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_largest(f, self.0.get(), Self::UNITS)
    }
}

/// A number of things, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Count(NonZeroU32);

impl Count {
    /// A count from its number.
    pub const fn new(count: NonZeroU32) -> Self {
        Self(count)
    }

    pub(crate) const fn constant(count: u32) -> Self {
        match NonZeroU32::new(count) {
            Some(count) => Self(count),
            None => Self(NonZeroU32::MIN),
        }
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0.get()
    }

    /// The number as a non-zero type.
    pub const fn non_zero(self) -> NonZeroU32 {
        self.0
    }

    /// The number, for sizes in memory.
    pub const fn as_usize(self) -> usize {
        self.0.get() as usize
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// For constants of this crate, none of which is zero.
const fn non_zero(number: u64) -> NonZeroU64 {
    match NonZeroU64::new(number) {
        Some(number) => number,
        None => NonZeroU64::MIN,
    }
}

fn parse(text: &str, units: &[(&str, u64)], what: &str, hint: &str) -> Result<NonZeroU64, InvalidValue> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor = units.iter().find(|(name, _)| *name == unit.trim_start_matches(' ')).map(|(_, factor)| factor);
    let (Ok(number), Some(factor)) = (number.parse::<u64>(), factor) else {
        return Err(InvalidValue::new(format!("not {what}"), hint));
    };
    let total =
        number.checked_mul(*factor).ok_or_else(|| InvalidValue::new(format!("{what} too large to count"), hint))?;
    NonZeroU64::new(total)
        .ok_or_else(|| InvalidValue::new(format!("{what} of zero"), "zero is not a limit; write at least one"))
}

/// Writes a number in the largest unit that divides it, so that equal quantities have equal texts.
fn write_largest(f: &mut fmt::Formatter<'_>, number: u64, units: &[(&str, u64)]) -> fmt::Result {
    let (unit, factor) = units.iter().find(|(_, factor)| number.is_multiple_of(*factor)).copied().unwrap_or(("", 1));
    write!(f, "{} {unit}", number / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written_with_units() {
        let bytes = |text: &str| text.parse::<ByteSize>().map(|size| size.bytes().get());
        assert_eq!(bytes("64 MiB"), Ok(64 << 20));
        assert_eq!(bytes("1kB"), Ok(1000));
        assert_eq!("2048 KiB".parse::<ByteSize>().unwrap().to_string(), "2 MiB");
        assert_eq!("1000 B".parse::<ByteSize>().unwrap().to_string(), "1000 B");
        for bad in ["", "64", "MiB", "64 KB", "64 mib", "-1 B", "1.5 MiB", "0 B", "99999999999999 GiB", "1 B ", "é"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn timespans_are_read_and_written_with_units() {
        assert_eq!("120 s".parse::<Timespan>().unwrap().as_duration(), Duration::from_secs(120));
        assert_eq!("120 s".parse::<Timespan>().unwrap().to_string(), "2 min");
        assert_eq!("1500 ms".parse::<Timespan>().unwrap().to_string(), "1500 ms");
        for bad in ["120", "2 m", "0 ms", "1 d", "forever"] {
            assert!(bad.parse::<Timespan>().is_err(), "{bad}");
        }
    }
}
