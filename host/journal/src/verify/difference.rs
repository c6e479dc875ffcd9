//! In which part two states differ.

use mainstay_session::{Queued, State};
use serde_json::Value;

/// The one part that the records of format 1 give and its states lack: a session of it has none until a turn of it ends again.
const SINCE_FORMAT_1: &str = "last_outcome";

/// The first part in which a stored state is not the one that its records give; none when all is right. `old` tells whether the
/// session is of format 1.
pub(super) fn between(stored: &[u8], given: &[u8], old: bool, state: &State, replayed: &State) -> Option<String> {
    if !state.queue().map(message).eq(replayed.queue().map(message)) {
        return Some("queue".to_owned());
    }
    let read = |text| serde_json::from_slice::<Value>(text).unwrap_or_default();
    compare(&read(stored), read(given), old)
}

fn compare(stored: &Value, mut given: Value, old: bool) -> Option<String> {
    if let Some(given) = given.as_object_mut()
        && old
        && stored.get(SINCE_FORMAT_1).is_none()
    {
        given.remove(SINCE_FORMAT_1);
    }
    part(stored, &given)
}

fn message(queued: &Queued) -> (&str, u64, mainstay_protocol::op::Delivery, u64) {
    (queued.submission.as_str(), queued.accepted.0, queued.delivery, queued.bytes)
}

fn part(stored: &Value, given: &Value) -> Option<String> {
    match (stored, given) {
        (Value::Object(stored), Value::Object(given)) => {
            let differs = stored.iter().find_map(|(name, value)| {
                let inner = part(value, given.get(name).unwrap_or(&Value::Null))?;
                Some(if inner.is_empty() { name.clone() } else { format!("{name}.{inner}") })
            });
            differs.or_else(|| given.keys().find(|name| !stored.contains_key(*name)).cloned())
        }
        (Value::Array(stored), Value::Array(given)) if stored.len() == given.len() => {
            stored.iter().zip(given).find_map(|(stored, given)| part(stored, given))
        }
        _ => (stored != given).then(String::new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differs(stored: &str, given: &str, old: bool) -> Option<String> {
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        compare(&value(stored), value(given), old)
    }

    #[test]
    fn the_part_is_named() {
        for (stored, given, part) in [
            (r#"{"runs":1,"turn":{"id":"x"}}"#, r#"{"runs":1,"turn":{"id":"y"}}"#, Some("turn.id")),
            (r#"{"turn":{"id":"x"}}"#, r#"{"turn":{"id":"x","elicitations":[1]}}"#, Some("turn.elicitations")),
            (r#"{"ended":[1]}"#, r#"{"ended":[1,2]}"#, Some("ended")),
            (r#"{"turn":{}}"#, "{}", Some("turn")),
            (r#"{"runs":1}"#, r#"{"runs":1,"archive":2}"#, Some("archive")),
            (r#"{"runs":1}"#, r#"{"runs":1}"#, None),
        ] {
            for old in [false, true] {
                assert_eq!(differs(stored, given, old).as_deref(), part, "{stored}");
            }
        }
    }

    #[test]
    fn what_a_session_of_format_1_lacks_is_no_difference() {
        let given = r#"{"runs":1,"last_outcome":"completed"}"#;
        assert_eq!(differs(r#"{"runs":1}"#, given, true), None);
        assert_eq!(differs(r#"{"runs":1}"#, given, false).as_deref(), Some("last_outcome"));
        let other = r#"{"runs":1,"last_outcome":"failed"}"#;
        assert_eq!(differs(other, given, true).as_deref(), Some("last_outcome"));
    }
}
