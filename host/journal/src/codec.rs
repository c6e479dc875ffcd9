//! How our types lie in columns: numbers, ids, digests and checksums.

use std::str::FromStr;

use mainstay_protocol::{Digest, Timestamp, op::Delivery};
use rusqlite::{
    Row, ToSql,
    types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, Value, ValueRef},
};
use uuid::Uuid;

/// A number as SQLite holds it. Ours count events and never get near the end.
pub(crate) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A time in whole minutes: what lists of sessions are indexed by.
pub(crate) fn minute(at: Timestamp) -> i64 {
    int(at.0 / 60_000)
}

/// Columns, read by position. What a column can't hold comes back as an error, never as a panic.
pub(crate) trait Columns {
    fn number(&self, column: usize) -> rusqlite::Result<u64>;
    fn optional_number(&self, column: usize) -> rusqlite::Result<Option<u64>>;
    fn time(&self, column: usize) -> rusqlite::Result<Timestamp>;
    fn digest(&self, column: usize) -> rusqlite::Result<Digest>;
    fn id<T: FromStr>(&self, column: usize) -> rusqlite::Result<T>;
    /// The bytes of a text or a blob, whether they are UTF-8 or not.
    fn bytes(&self, column: usize) -> rusqlite::Result<&[u8]>;
    fn text(&self, column: usize) -> rusqlite::Result<&str>;
}

impl Columns for Row<'_> {
    fn number(&self, column: usize) -> rusqlite::Result<u64> {
        self.get::<_, Number>(column).map(|number| number.0)
    }

    fn optional_number(&self, column: usize) -> rusqlite::Result<Option<u64>> {
        self.get::<_, Option<Number>>(column).map(|number| number.map(|number| number.0))
    }

    fn time(&self, column: usize) -> rusqlite::Result<Timestamp> {
        self.number(column).map(Timestamp)
    }

    fn digest(&self, column: usize) -> rusqlite::Result<Digest> {
        self.get::<_, Hash>(column).map(|hash| hash.0)
    }

    fn id<T: FromStr>(&self, column: usize) -> rusqlite::Result<T> {
        self.get::<_, UnpackedId>(column)?.0.parse().map_err(|_| impossible(column))
    }

    fn bytes(&self, column: usize) -> rusqlite::Result<&[u8]> {
        self.get_ref(column)?.as_bytes().map_err(|_| impossible(column))
    }

    fn text(&self, column: usize) -> rusqlite::Result<&str> {
        self.get_ref(column)?.as_str().map_err(|_| impossible(column))
    }
}

/// The error of a column whose value can't be.
pub(crate) fn impossible(column: usize) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Null, "an impossible value".into())
}

struct Number(u64);

impl FromSql for Number {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let number = value.as_i64()?;
        u64::try_from(number).map(Self).map_err(|_| FromSqlError::OutOfRange(number))
    }
}

struct Hash(Digest);

impl FromSql for Hash {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Digest::try_from(value.as_blob()?).map(Self).map_err(|_| FromSqlError::InvalidType)
    }
}

/// A text id on its way into a column: a UUID in its usual form takes 16 bytes.
pub(crate) struct PackedId<'a>(pub(crate) &'a str);

impl ToSql for PackedId<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let mut buffer = Uuid::encode_buffer();
        let uuid = Uuid::try_parse(self.0).ok().filter(|uuid| uuid.hyphenated().encode_lower(&mut buffer) == self.0);
        Ok(match uuid {
            Some(uuid) => ToSqlOutput::Owned(Value::Blob(uuid.into_bytes().to_vec())),
            None => ToSqlOutput::Borrowed(ValueRef::Text(self.0.as_bytes())),
        })
    }
}

struct UnpackedId(String);

impl FromSql for UnpackedId {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value {
            ValueRef::Blob(bytes) => {
                Uuid::from_slice(bytes).map(|uuid| Self(uuid.to_string())).map_err(|_| FromSqlError::InvalidType)
            }
            other => other.as_str().map(|text| Self(text.to_owned())),
        }
    }
}

/// Eight bytes that tell damage apart from data. Records have a whole digest instead.
pub(crate) type Checksum = [u8; 8];

/// The checksum of some fields under a domain.
pub(crate) fn checksum(domain: &str, fields: &[&[u8]]) -> Checksum {
    let digest = Digest::of_fields(domain, fields);
    std::array::from_fn(|index| digest.as_bytes()[index])
}

/// The word for a delivery.
pub(crate) const fn delivery_word(delivery: Delivery) -> &'static str {
    match delivery {
        Delivery::Queue => "queue",
        Delivery::Steer => "steer",
    }
}

/// The delivery of a word.
pub(crate) fn delivery_of(word: &str) -> Option<Delivery> {
    [Delivery::Queue, Delivery::Steer].into_iter().find(|delivery| delivery_word(*delivery) == word)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn ids_come_back_as_they_were() {
        let connection = Connection::open_in_memory().unwrap();
        let uuid = "01890a5d-ac96-774b-bcce-b302099a8057";
        for (id, kind) in
            [(uuid, "blob"), (&uuid.to_uppercase(), "text"), (&uuid.replace('-', ""), "text"), ("a.b", "text")]
        {
            let read = |row: &Row<'_>| Ok((row.id::<String>(0)?, row.get::<_, String>(1)?));
            let (back, stored) = connection.query_row("SELECT ?1, typeof(?1)", [PackedId(id)], read).unwrap();
            assert_eq!((back.as_str(), stored.as_str()), (id, kind));
        }
    }

    #[test]
    fn impossible_values_are_errors() {
        let connection = Connection::open_in_memory().unwrap();
        assert!(connection.query_row("SELECT -1", [], |row| row.number(0)).is_err());
        assert!(connection.query_row("SELECT x'00'", [], |row| row.digest(0)).is_err());
        assert!(connection.query_row("SELECT 'a b'", [], |row| row.id::<mainstay_protocol::TenantId>(0)).is_err());
    }
}
