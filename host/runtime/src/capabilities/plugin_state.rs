//! `plugin-state`: the plugin's values across the sessions of one tenant: counters, and values that are replaced only by
//! those who know the latest version. Writes are staged; a key that was written is held until the barrier.

use std::sync::Arc;

use super::{
    Answer, denied, error, keys, unsupported,
    wit::{errors, plugin_state as wit},
};
use crate::{
    hook::Capability,
    invocation::{PluginStateReader, StateUsage, VersionedValue},
    outcome::Stop,
    staged::StagedPut,
    store::CallState,
};

/// Counters stop here, so that every language can hold them.
const HIGHEST_COUNT: u64 = i64::MAX as u64;

impl wit::Host for CallState {
    async fn get(&mut self, key: String) -> Answer<Option<wit::Entry>> {
        let reader = match self.plugin_reader(&key) {
            Ok(reader) => reader,
            Err(error) => return Ok(Err(error)),
        };
        let found = self.plugin_value(&*reader, &key).await?;
        Ok(Ok(found.map(|VersionedValue { value, version }| wit::Entry { value, version })))
    }

    async fn put_if_version(&mut self, key: String, value: Vec<u8>, expected: Option<u64>) -> Answer<u64> {
        let reader = match self.plugin_reader(&key) {
            Ok(reader) => reader,
            Err(error) => return Ok(Err(error)),
        };
        if !self.staged.plugin.contains_key(&key) && !reader.hold(&key).await.map_err(Stop::from)? {
            return Ok(Err(conflict("another call has written this key and waits for its barrier")));
        }
        self.put(&*reader, key, value, expected).await
    }

    async fn add(&mut self, key: String, amount: u64) -> Answer<u64> {
        let reader = match self.plugin_reader(&key) {
            Ok(reader) => reader,
            Err(error) => return Ok(Err(error)),
        };
        let committed = reader.counter(&key).await.map_err(Stop::from)?;
        let staged = self.staged.counters.get(&key).copied().unwrap_or(0);
        let now = committed.saturating_add(staged);
        let sum = now.saturating_add(amount).min(HIGHEST_COUNT).max(now);
        if sum > now {
            let is_new = committed == 0 && staged == 0;
            if is_new && let Err(error) = self.take_quota(&*reader, &key, None, 8).await? {
                return Ok(Err(error));
            }
            self.staged.counters.insert(key, sum - committed);
        }
        Ok(Ok(sum))
    }
}

impl CallState {
    fn plugin_reader(&self, key: &str) -> Result<Arc<dyn PluginStateReader>, errors::Error> {
        if !self.allows(Capability::PluginState) {
            return Err(denied(Capability::PluginState));
        }
        let reader = self.invocation.plugin_state.clone().ok_or_else(|| unsupported(Capability::PluginState))?;
        keys::check(key)?;
        Ok(reader)
    }

    async fn plugin_value(
        &mut self,
        reader: &dyn PluginStateReader,
        key: &str,
    ) -> Result<Option<VersionedValue>, Stop> {
        match self.staged.plugin.get(key) {
            Some(put) => Ok(Some(VersionedValue { value: put.value.clone(), version: put.version })),
            None => Ok(reader.get(key).await?),
        }
    }

    async fn put(
        &mut self,
        reader: &dyn PluginStateReader,
        key: String,
        value: Vec<u8>,
        expected: Option<u64>,
    ) -> Answer<u64> {
        let current = self.plugin_value(reader, &key).await?;
        let version = current.as_ref().map(|current| current.version);
        if version != expected {
            return Ok(Err(conflict("the value has another version")));
        }
        let old = current.as_ref().map(|current| current.value.len());
        if let Err(error) = self.take_quota(reader, &key, old, value.len()).await? {
            return Ok(Err(error));
        }
        let first = self.staged.plugin.get(&key).map_or(version, |put| put.expected);
        let version = version.unwrap_or(0).saturating_add(1);
        self.staged.plugin.insert(key, StagedPut { expected: first, version, value });
        Ok(Ok(version))
    }

    async fn take_quota(
        &mut self,
        reader: &dyn PluginStateReader,
        key: &str,
        old: Option<usize>,
        new: usize,
    ) -> Result<Result<(), errors::Error>, Stop> {
        let before = self.plugin_usage(reader).await?;
        let after = keys::after(before, key, old, Some(new));
        if let Err(error) = keys::within_quota(before, after, self.generation.limits()) {
            return Ok(Err(error));
        }
        self.plugin_usage = Some(after);
        Ok(Ok(()))
    }

    async fn plugin_usage(&mut self, reader: &dyn PluginStateReader) -> Result<StateUsage, Stop> {
        if let Some(usage) = self.plugin_usage {
            return Ok(usage);
        }
        let mut usage = reader.usage().await?;
        for (key, put) in &self.staged.plugin {
            let committed = reader.get(key).await?.map(|value| value.value.len());
            usage = keys::after(usage, key, committed, Some(put.value.len()));
        }
        Ok(usage)
    }
}

fn conflict(message: &str) -> errors::Error {
    error(errors::ErrorKind::Conflict, "", message)
}
