//! `session-state`: the plugin's values in the current session. Reads see what is committed under what is staged; writes
//! are staged.

use std::{collections::BTreeSet, ops::Bound, sync::Arc};

use super::{
    Answer, keys, not_found,
    wit::{errors, session_state as wit},
};
use crate::{
    invocation::{StateReader, StateUsage},
    outcome::Stop,
    store::CallState,
};

/// The most keys that one list gives.
const MOST_LISTED: u32 = 1000;

impl wit::Host for CallState {
    async fn get(&mut self, key: String) -> Answer<Option<Vec<u8>>> {
        match self.session_reader(&key) {
            Ok(reader) => Ok(Ok(self.session_value(&*reader, &key).await?)),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn set(&mut self, key: String, value: Vec<u8>) -> Answer<()> {
        self.stage(key, Some(value)).await
    }

    async fn remove(&mut self, key: String) -> Answer<()> {
        self.stage(key, None).await
    }

    async fn list_keys(&mut self, prefix: String, after: Option<String>, max: u32) -> Answer<Vec<String>> {
        let Some(reader) = self.invocation.session_state.clone() else { return Ok(Err(outside())) };
        let max = usize::try_from(max.min(MOST_LISTED)).unwrap_or(usize::MAX);
        Ok(Ok(self.keys(&*reader, &prefix, after.as_deref(), max).await?))
    }
}

impl CallState {
    fn session_reader(&self, key: &str) -> Result<Arc<dyn StateReader>, errors::Error> {
        let reader = self.invocation.session_state.clone().ok_or_else(outside)?;
        keys::check(key)?;
        Ok(reader)
    }

    async fn session_value(&mut self, reader: &dyn StateReader, key: &str) -> Result<Option<Vec<u8>>, Stop> {
        match self.staged.session.get(key) {
            Some(staged) => Ok(staged.clone()),
            None => Ok(reader.get(key).await?),
        }
    }

    async fn stage(&mut self, key: String, value: Option<Vec<u8>>) -> Answer<()> {
        let reader = match self.session_reader(&key) {
            Ok(reader) => reader,
            Err(error) => return Ok(Err(error)),
        };
        let old = self.session_value(&*reader, &key).await?.map(|value| value.len());
        let before = self.session_usage(&*reader).await?;
        let after = keys::after(before, &key, old, value.as_ref().map(Vec::len));
        if let Err(error) = keys::within_quota(before, after, self.generation.limits()) {
            return Ok(Err(error));
        }
        self.session_usage = Some(after);
        self.staged.session.insert(key, value);
        Ok(Ok(()))
    }

    /// How much there is, with what is staged. Counted once, then kept up to date by each write.
    async fn session_usage(&mut self, reader: &dyn StateReader) -> Result<StateUsage, Stop> {
        if let Some(usage) = self.session_usage {
            return Ok(usage);
        }
        let mut usage = reader.usage().await?;
        for (key, value) in &self.staged.session {
            let committed = reader.get(key).await?.map(|value| value.len());
            usage = keys::after(usage, key, committed, value.as_ref().map(Vec::len));
        }
        Ok(usage)
    }

    /// Merges committed and staged keys. Of the committed ones, as many more are read as staged removals may hide.
    async fn keys(
        &mut self,
        reader: &dyn StateReader,
        prefix: &str,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<String>, Stop> {
        if max == 0 {
            return Ok(Vec::new());
        }
        let hidden = self.staged.session.values().filter(|value| value.is_none()).count();
        let mut keys: BTreeSet<_> = reader.list(prefix, after, max + hidden).await?.into_iter().collect();
        // With a full page, what lies behind its last key is unknown; staged keys behind it wait for the next page.
        let end = if keys.len() >= max + hidden { keys.last().cloned() } else { None };
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        for (key, value) in self.staged.session.range::<str, _>((start, Bound::Unbounded)) {
            if end.as_ref().is_some_and(|end| key > end) {
                break;
            }
            match value {
                Some(_) if key.starts_with(prefix) => drop(keys.insert(key.clone())),
                Some(_) => {}
                None => drop(keys.remove(key)),
            }
        }
        Ok(keys.into_iter().take(max).collect())
    }
}

fn outside() -> errors::Error {
    not_found("this call runs outside a session")
}
