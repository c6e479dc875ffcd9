//! Reads server-sent events (the HTML standard, section 9.2.6) as far as our own server uses them: `data` lines and an empty
//! line that ends the event. Comments, names and ids are passed over, for the data names its event itself.

use futures::{Stream, stream};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde::de::DeserializeOwned;

use super::ClientError;

/// Bytes that one event may have. A model's output has 16 MiB at most, and JSON may take six times that.
const MAX_EVENT: usize = 128 << 20;

/// The events of a body. It ends after an error.
pub(super) fn events<T: DeserializeOwned>(body: Incoming) -> impl Stream<Item = Result<T, ClientError>> {
    let reader = Reader { body, parser: Parser::default(), ended: false };
    stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        reader.ended |= event.is_err();
        Some((event, reader))
    })
}

struct Reader {
    body: Incoming,
    parser: Parser,
    ended: bool,
}

impl Reader {
    async fn next<T: DeserializeOwned>(&mut self) -> Option<Result<T, ClientError>> {
        loop {
            if self.ended {
                return None;
            }
            match self.parser.next() {
                Ok(Some(data)) => return Some(read(&data)),
                Ok(None) => {}
                Err(error) => return Some(Err(error)),
            }
            match self.body.frame().await? {
                Ok(frame) => self.parser.feed(frame.data_ref().map_or(&[], |bytes| bytes)),
                Err(error) => return Some(Err(ClientError::broken(error))),
            }
        }
    }
}

fn read<T: DeserializeOwned>(data: &[u8]) -> Result<T, ClientError> {
    serde_json::from_slice(data).map_err(|error| ClientError::Broken(format!("an event can't be read: {error}")))
}

/// Bytes in, events out.
#[derive(Debug, Default)]
struct Parser {
    buffer: Vec<u8>,
    /// Bytes of the buffer that are consumed.
    read: usize,
    /// Bytes of the buffer that are known to hold no line break.
    seen: usize,
    data: Vec<u8>,
}

impl Parser {
    fn feed(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.read);
        self.seen -= self.read;
        self.read = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The data of the next whole event.
    fn next(&mut self) -> Result<Option<Vec<u8>>, ClientError> {
        while let Some(length) = self.buffer[self.seen..].iter().position(|byte| *byte == b'\n') {
            let end = self.seen + length;
            let line = &self.buffer[self.read..end];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            (self.read, self.seen) = (end + 1, end + 1);
            if line.is_empty() && !self.data.is_empty() {
                return Ok(Some(std::mem::take(&mut self.data)));
            }
            if let Some(data) = line.strip_prefix(b"data:") {
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
            }
        }
        self.seen = self.buffer.len();
        if self.buffer.len() - self.read + self.data.len() > MAX_EVENT {
            return Err(ClientError::broken("an event is too large"));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stream: &str, expected: &[&str]) {
        for size in [1, 2, 7, stream.len().max(1)] {
            let mut parser = Parser::default();
            let mut events = Vec::new();
            for chunk in stream.as_bytes().chunks(size) {
                parser.feed(chunk);
                while let Some(event) = parser.next().unwrap() {
                    events.push(String::from_utf8(event).unwrap());
                }
            }
            assert_eq!(events, expected, "in chunks of {size}");
        }
    }

    #[test]
    fn events_are_found_in_any_chunks() {
        check("event: gap\ndata: {\"a\":1}\n\n: still here\n\nid: 3\ndata:{}\n\n", &["{\"a\":1}", "{}"]);
    }

    #[test]
    fn lines_of_data_are_joined_and_returns_are_passed_over() {
        check("data: a\r\ndata: b\r\n\r\n", &["a\nb"]);
    }

    #[test]
    fn what_is_not_ended_is_no_event() {
        check("data: a\n", &[]);
        check(":\n\n", &[]);
    }
}
