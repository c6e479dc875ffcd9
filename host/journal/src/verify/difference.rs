//! In which part two states differ. An earlier build stored less than this one knows: what it left out is no difference.

use mainstay_session::{Queued, State};
use serde_json::Value;

/// The first part of a stored state that its records don't give; none when all that is stored is right.
pub(super) fn between(stored: &[u8], given: &[u8], state: &State, replayed: &State) -> Option<String> {
    if !state.queue().map(message).eq(replayed.queue().map(message)) {
        return Some("queue".to_owned());
    }
    let read = |text| serde_json::from_slice::<Value>(text).unwrap_or_default();
    part(&read(stored), &read(given))
}

fn message(queued: &Queued) -> (&str, u64, mainstay_protocol::op::Delivery, u64) {
    (queued.submission.as_str(), queued.accepted.0, queued.delivery, queued.bytes)
}

fn part(stored: &Value, given: &Value) -> Option<String> {
    match (stored, given) {
        (Value::Object(stored), Value::Object(given)) => stored.iter().find_map(|(name, value)| {
            let other = given.get(name).unwrap_or(&Value::Null);
            let inner = part(value, other)?;
            Some(if inner.is_empty() { name.clone() } else { format!("{name}.{inner}") })
        }),
        (Value::Array(stored), Value::Array(given)) if stored.len() == given.len() => {
            stored.iter().zip(given).find_map(|(stored, given)| part(stored, given))
        }
        _ => (stored != given).then(String::new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_is_named_and_what_an_earlier_build_left_out_is_no_part() {
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let differs = |stored: &str, given: &str| part(&value(stored), &value(given));
        assert_eq!(differs(r#"{"a":1,"turn":{"id":"x"}}"#, r#"{"a":1,"turn":{"id":"x","new":1},"newer":2}"#), None);
        assert_eq!(differs(r#"{"a":1,"turn":{"id":"x"}}"#, r#"{"a":1,"turn":{"id":"y"}}"#).as_deref(), Some("turn.id"));
        assert_eq!(differs(r#"{"a":[1]}"#, r#"{"a":[1,2]}"#).as_deref(), Some("a"));
        assert_eq!(differs(r#"{"turn":{}}"#, "{}").as_deref(), Some("turn"));
    }
}
