//! `mainstay session blob`: what a session keeps beside its transcript, to a file or to standard output.

use std::{
    fs::File,
    io::{self, IsTerminal, Write},
    path::Path,
};

use futures::{StreamExt, TryStreamExt, stream, stream::BoxStream};
use mainstay_driver::Reader;
use mainstay_protocol::{
    SessionId,
    blob::{BlobInfo, BlobReference},
};

use super::Source;
use crate::{
    exit::{Exit, Failure},
    terminal::escape,
};

type Pieces<'a> = BoxStream<'a, Result<Vec<u8>, Failure>>;

pub(super) async fn fetch(
    source: &Source,
    session: &SessionId,
    blob: &BlobReference,
    output: Option<&Path>,
) -> Result<Exit, Failure> {
    let (info, pieces) = open(source, session, blob).await?;
    match output {
        Some(path) => to_file(path, pieces).await?,
        None if io::stdout().is_terminal() => to_terminal(&info, pieces).await?,
        None => copy(pieces, &mut io::stdout().lock()).await?,
    }
    Ok(Exit::Done)
}

async fn open<'a>(
    source: &'a Source,
    session: &'a SessionId,
    blob: &'a BlobReference,
) -> Result<(BlobInfo, Pieces<'a>), Failure> {
    match source {
        Source::Host(client) => {
            let blob = client.blob(session, blob).await?;
            let pieces = blob.pieces.map_ok(|piece| piece.to_vec()).map_err(Failure::from);
            Ok((blob.info, pieces.boxed()))
        }
        Source::Journal(journal) => {
            source.session(session).await?;
            let info = journal.blob_info(session, blob).await?.ok_or_else(|| unknown(session, blob))?;
            Ok((info, read(journal, session, blob)))
        }
        Source::Nothing => Err(source.session(session).await.err().unwrap_or_else(|| unknown(session, blob))),
    }
}

fn read<'a>(journal: &'a Reader, session: &'a SessionId, blob: &'a BlobReference) -> Pieces<'a> {
    let pieces = stream::try_unfold(0, move |offset| async move {
        let piece = journal.blob_read(session, blob, offset).await?.ok_or_else(|| unknown(session, blob))?;
        let next = offset + piece.len() as u64;
        Ok(if piece.is_empty() { None } else { Some((piece, next)) })
    });
    pieces.boxed()
}

fn unknown(session: &SessionId, blob: &BlobReference) -> Failure {
    Failure::new(Exit::Failed, format!("the session `{session}` keeps no blob by the reference `{blob}`"))
        .hint("`mainstay session show --transcript` shows the references that it has")
}

/// The file is there only if all bytes are.
async fn to_file(path: &Path, pieces: Pieces<'_>) -> Result<(), Failure> {
    let mut file = File::create(path)
        .map_err(|error| Failure::new(Exit::Failed, format!("could not write `{}`: {error}", path.display())))?;
    let copied = copy(pieces, &mut file).await;
    if copied.is_err() {
        // What else could be said is less than why it failed.
        let _ = std::fs::remove_file(path);
    }
    copied
}

async fn copy(mut pieces: Pieces<'_>, out: &mut impl Write) -> Result<(), Failure> {
    while let Some(piece) = pieces.try_next().await? {
        out.write_all(&piece)?;
    }
    Ok(out.flush()?)
}

/// Whoever wrote the bytes must not be able to steer the terminal.
async fn to_terminal(info: &BlobInfo, pieces: Pieces<'_>) -> Result<(), Failure> {
    if !is_text(&info.media_type) {
        let message =
            format!("the blob is {} ({} bytes), not text: it would garble the terminal", info.media_type, info.size);
        return Err(Failure::new(Exit::Usage, message).hint("write it to a file with --output, or into a pipe"));
    }
    let bytes = pieces.try_concat().await?;
    writeln!(anstream::stdout(), "{}", escape::block(&String::from_utf8_lossy(&bytes)))?;
    Ok(())
}

fn is_text(media_type: &str) -> bool {
    media_type.starts_with("text/") || media_type == "application/json" || media_type.ends_with("+json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_told_from_other_types() {
        for (media_type, text) in [
            ("text/plain", true),
            ("application/json", true),
            (mainstay_protocol::blob::WholeOutput::PARTS, true),
            ("image/png", false),
            ("", false),
        ] {
            assert_eq!(is_text(media_type), text, "{media_type}");
        }
    }

    #[tokio::test]
    async fn a_file_is_there_only_if_all_bytes_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("whole");
        let pieces = |last: Result<Vec<u8>, Failure>| stream::iter([Ok(b"ab".to_vec()), last]).boxed();
        to_file(&path, pieces(Ok(b"c".to_vec()))).await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"abc");
        assert!(to_file(&path, pieces(Err(Failure::new(Exit::Failed, "lost")))).await.is_err());
        assert!(!path.exists());
    }
}
