//! Record bodies and stored states, as any build may have written them or a disk may have changed them.

use mainstay_protocol::{feed::FeedBody, record::RecordBody};
use mainstay_session::{State, evolve, pending};
use serde_json::Value;

use super::SHORT;

/// Kinds that only old builds wrote.
const LEGACY: [&str; 2] = ["error", "turn_ended"];

/// Bytes under a kind that exists read as something, or not at all; what was read can be told, folded and stored again.
#[test]
fn any_bytes() {
    bolero::check!().with_iterations(SHORT).for_each(|input: &[u8]| {
        let Some((kind, body)) = input.split_first() else { return };
        read(kind_of(*kind), body, &mut State::default());
    });
}

/// Bodies of real kinds with fields taken out, given twice or changed in type: what an older or newer build may have written.
/// Several in a row are a history, which folds into a state that can be stored and restored.
#[test]
fn any_history_of_changed_bodies() {
    let examples = RecordBody::examples();
    bolero::check!().with_iterations(SHORT / 10).with_type::<Vec<(u8, u8, u8)>>().for_each(|changes| {
        let mut state = State::default();
        for &(which, at, change) in changes.iter().take(40) {
            let example = &examples[usize::from(which) % examples.len()];
            let body = serde_json::from_slice(&example.encode()).expect("an example");
            let body = serde_json::to_vec(&changed(body, at, change)).expect("JSON");
            read(example.kind(), &body, &mut state);
        }
        let stored = state.snapshot();
        let queue = state.queue().cloned().collect();
        assert_eq!(State::restore(&stored, queue).expect("it was stored just now"), state);
    });
}

/// A stored state that a disk has changed is refused or read, and then owes something or nothing.
#[test]
fn any_stored_state() {
    let stored = history().snapshot();
    bolero::check!().with_iterations(SHORT).with_type::<Vec<(u16, u8)>>().for_each(|changes| {
        let mut stored = stored.clone();
        for &(at, byte) in changes.iter().take(4) {
            let at = usize::from(at) % stored.len();
            stored[at] = byte;
        }
        if let Ok(state) = State::restore(&stored, Vec::new()) {
            let _ = pending(&state);
        }
    });
}

fn kind_of(number: u8) -> &'static str {
    let kinds = RecordBody::KINDS.iter().map(|kind| kind.name).chain(LEGACY).chain(["from_the_future"]);
    let kinds: Vec<_> = kinds.collect();
    kinds[usize::from(number) % kinds.len()]
}

fn read(kind: &str, body: &[u8], state: &mut State) {
    let Some(record) = RecordBody::decode(kind, body) else { return };
    let encoded = record.encode();
    let again = RecordBody::decode(record.kind(), &encoded).expect("it was encoded just now");
    assert_eq!(again.encode(), encoded, "{kind}: what is stored once is stored the same ever after");
    if let Some(told) = FeedBody::of(&record) {
        serde_json::to_string(&told).expect("an event is JSON");
    }
    evolve(state, &record);
    let _ = pending(state);
}

/// One field of a body, found by its number, taken out or replaced.
fn changed(mut body: Value, at: u8, change: u8) -> Value {
    let mut count = 0;
    count_values(&body, &mut count);
    let mut left = usize::from(at) % count.max(1);
    if let Some(value) = nth(&mut body, &mut left) {
        *value = match change % 8 {
            0 => Value::Null,
            1 => Value::from(-1),
            2 => Value::from(u64::MAX),
            3 => Value::from("\u{202e}"),
            4 => Value::Array(Vec::new()),
            5 => Value::Object(serde_json::Map::new()),
            6 => Value::from(true),
            _ => value.take(),
        };
    }
    if change % 8 == 7
        && let Value::Object(fields) = &mut body
        && let Some(name) = fields.keys().nth(usize::from(at) % fields.len().max(1)).cloned()
    {
        fields.remove(&name);
    }
    body
}

fn count_values(value: &Value, count: &mut usize) {
    *count += 1;
    match value {
        Value::Array(values) => values.iter().for_each(|value| count_values(value, count)),
        Value::Object(fields) => fields.values().for_each(|value| count_values(value, count)),
        _ => {}
    }
}

fn nth<'a>(value: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(values) => values.iter_mut().find_map(|value| nth(value, left)),
        Value::Object(fields) => fields.values_mut().find_map(|value| nth(value, left)),
        _ => None,
    }
}

/// The examples as one history: not a likely one, but each kind changes what it can.
fn history() -> State {
    let mut state = State::default();
    RecordBody::examples().iter().for_each(|record| evolve(&mut state, record));
    state
}
