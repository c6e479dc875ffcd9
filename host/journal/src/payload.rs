//! Items have a heavy part, the payload, and a light body around it. A payload of more than 4 KiB lies in a row of its own, once a
//! tenant, and the item refers to it. The contents of a queued message and of its item are the same payload.

use mainstay_protocol::{
    Digest,
    content::{ItemBody, Part},
};

/// Bytes of a payload that stay in the row of their item or message.
pub(crate) const LARGEST_INLINE: usize = 4 << 10;

/// Bytes that go into a row of their own.
pub(crate) struct Payload {
    pub(crate) digest: Digest,
    pub(crate) bytes: Vec<u8>,
}

impl Payload {
    /// The bytes, if they are too large to stay where they are.
    pub(crate) fn if_large(bytes: Vec<u8>) -> Result<Self, Vec<u8>> {
        if bytes.len() > LARGEST_INLINE { Ok(Self { digest: Digest::of(&bytes), bytes }) } else { Err(bytes) }
    }
}

/// The body as JSON text, and apart from it its payload, if that is large: the body is then empty where the payload was.
pub(crate) fn split(mut body: ItemBody) -> serde_json::Result<(String, Option<Payload>)> {
    let payload = take_if_large(&mut body)?;
    Ok((serde_json::to_string(&body)?, payload))
}

fn take_if_large(body: &mut ItemBody) -> serde_json::Result<Option<Payload>> {
    let content = match body {
        ItemBody::Message(message) => &mut message.content,
        ItemBody::ToolResult(result) => &mut result.content,
        ItemBody::Reasoning(text) => return Ok(take_text(text)),
        ItemBody::ToolCall(call) => return Ok(take_text(&mut call.arguments)),
        ItemBody::Notice(notice) => return Ok(take_text(&mut notice.text)),
    };
    let payload = Payload::if_large(encode(content)?).ok();
    if payload.is_some() {
        content.clear();
    }
    Ok(payload)
}

fn take_text(text: &mut String) -> Option<Payload> {
    if text.len() <= LARGEST_INLINE {
        return None;
    }
    Payload::if_large(std::mem::take(text).into_bytes()).ok()
}

/// Puts a payload back into the body that it was taken from; none when it does not belong there.
pub(crate) fn join(body: &mut ItemBody, payload: Vec<u8>) -> Option<()> {
    match body {
        ItemBody::Message(message) => message.content = decode(&payload)?,
        ItemBody::ToolResult(result) => result.content = decode(&payload)?,
        ItemBody::Reasoning(text) => *text = String::from_utf8(payload).ok()?,
        ItemBody::ToolCall(call) => call.arguments = String::from_utf8(payload).ok()?,
        ItemBody::Notice(notice) => notice.text = String::from_utf8(payload).ok()?,
    }
    Some(())
}

/// Content as a payload.
pub(crate) fn encode(content: &[Part]) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(content)
}

/// The content of a payload.
pub(crate) fn decode(payload: &[u8]) -> Option<Vec<Part>> {
    serde_json::from_slice(payload).ok()
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::content::{CallResult, Extension, Media, Message, Notice, Role, Source, ToolCall};
    use proptest::prelude::*;

    use super::*;

    /// Texts on both sides of the bound, with characters that JSON escapes.
    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            "\\PC{0,40}",
            (3_900_usize..4_200).prop_map(|length| "x".repeat(length)),
            (600_usize..800).prop_map(|length| "\u{1}".repeat(length)),
            (1_300_usize..1_400).prop_map(|length| "\u{20ac}".repeat(length)),
        ]
    }

    fn part() -> impl Strategy<Value = Part> {
        let media = (prop::collection::vec(any::<u8>(), 0..4_000), text());
        prop_oneof![
            text().prop_map(Part::Text),
            text().prop_map(|text| Part::Json(serde_json::json!(text).to_string())),
            media.prop_map(|(bytes, name)| Part::Media(Media {
                media_type: "image/png".to_owned(),
                source: Source::Inline(bytes),
                name: Some(name),
                extras: None,
            })),
            text().prop_map(|data| Part::Extension(Extension { kind: "example.com/x".to_owned(), data })),
        ]
    }

    fn body() -> impl Strategy<Value = ItemBody> {
        let content = || prop::collection::vec(part(), 0..4);
        let words = ("[a-z]{1,8}", "[a-z]{1,8}");
        prop_oneof![
            content().prop_map(|content| ItemBody::Message(Message { role: Role::User, content })),
            (words, content(), any::<bool>(), prop::option::of(Just("{}".to_owned()))).prop_map(
                |((call_id, name), content, is_error, extras)| {
                    ItemBody::ToolResult(CallResult { call_id, name, content, is_error, extras })
                }
            ),
            (words, text()).prop_map(|((call_id, name), arguments)| ItemBody::ToolCall(ToolCall {
                call_id,
                name,
                arguments
            })),
            text().prop_map(ItemBody::Reasoning),
            ("[a-z]{1,8}", text()).prop_map(|(code, text)| ItemBody::Notice(Notice { code, text })),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

        /// Whatever an item says comes back as it was, and what stays in its row is small.
        #[test]
        fn what_is_split_is_joined_again(whole in body()) {
            let (light, payload) = split(whole.clone()).unwrap();
            prop_assert!(light.len() <= 2 * LARGEST_INLINE, "{}", light.len());
            let mut body: ItemBody = serde_json::from_str(&light).unwrap();
            match payload {
                Some(payload) => {
                    prop_assert!(payload.bytes.len() > LARGEST_INLINE);
                    prop_assert_eq!(payload.digest, Digest::of(&payload.bytes));
                    prop_assert_ne!(&body, &whole);
                    join(&mut body, payload.bytes).unwrap();
                }
                None => prop_assert_eq!(light, serde_json::to_string(&whole).unwrap(), "small items are as they always were"),
            }
            prop_assert_eq!(body, whole);
        }
    }

    #[test]
    fn a_payload_that_does_not_fit_is_refused() {
        let mut message = ItemBody::Message(Message::user(Vec::new()));
        assert!(join(&mut message, b"no JSON".to_vec()).is_none());
        assert!(join(&mut ItemBody::Reasoning(String::new()), vec![255]).is_none());
    }

    /// A message is stored once, not once as a message that waits and once as an item.
    #[test]
    fn a_message_that_waits_and_its_item_have_one_payload() {
        let content = vec![Part::Text("x".repeat(5_000))];
        let queued = Payload::if_large(encode(&content).unwrap()).ok().unwrap();
        let (_, payload) = split(ItemBody::Message(Message::user(content))).unwrap();
        assert_eq!(payload.unwrap().digest, queued.digest);
    }
}
