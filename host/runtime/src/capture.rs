//! Standard output and standard error of a guest: the last few KiB, for faults. What came before is forgotten.

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use tokio::io::AsyncWrite;
use wasmtime_wasi::{
    async_trait,
    cli::{IsTerminal, StdoutStream},
    p2::{OutputStream, Pollable, StreamResult},
};

/// How much is kept.
pub(crate) const TAIL: usize = 4 << 10;
/// How much a guest may write at once.
const CHUNK: usize = 64 << 10;

/// The bounded tail that both streams of one call write to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Capture(Arc<Mutex<VecDeque<u8>>>);

impl Capture {
    /// What is there, as text. A character that was cut in the middle is replaced.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(self.bytes().make_contiguous()).into_owned()
    }

    fn push(&self, bytes: &[u8]) {
        let mut tail = self.bytes();
        let kept = &bytes[bytes.len().saturating_sub(TAIL)..];
        let over = (tail.len() + kept.len()).saturating_sub(TAIL);
        tail.drain(..over);
        tail.extend(kept);
    }

    fn bytes(&self) -> MutexGuard<'_, VecDeque<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IsTerminal for Capture {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Capture {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait]
impl Pollable for Capture {
    async fn ready(&mut self) {}
}

impl OutputStream for Capture {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        self.push(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(CHUNK)
    }
}

impl AsyncWrite for Capture {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.push(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_tail_is_kept() {
        let capture = Capture::default();
        capture.push(b"first ");
        capture.push(b"second");
        assert_eq!(capture.text(), "first second");
        for _ in 0..100 {
            capture.push(&[b'x'; 1000]);
        }
        capture.push(b"the end");
        let text = capture.text();
        assert_eq!(text.len(), TAIL);
        assert!(text.ends_with("xxthe end"));
        capture.push(&[b'y'; TAIL * 3]);
        assert_eq!(capture.text(), "y".repeat(TAIL));
    }
}
