//! A plugin's committed values in a session, as the runtime reads them.

use std::sync::Arc;

use futures::{FutureExt as _, future::BoxFuture};
use mainstay_journal::{Journal, ReadError};
use mainstay_protocol::{PluginName, SessionId, TenantId};
use mainstay_runtime::{ReadFailure, StateReader, StateUsage};

pub(crate) struct SessionStateReader {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) tenant: TenantId,
    pub(crate) session: SessionId,
    pub(crate) plugin: PluginName,
}

fn failure(error: &ReadError) -> ReadFailure {
    ReadFailure(error.to_string())
}

impl SessionStateReader {
    async fn value(&self, key: &str) -> Result<Option<Vec<u8>>, ReadFailure> {
        self.journal.state_value(&self.tenant, &self.session, &self.plugin, key).await.map_err(|error| failure(&error))
    }

    async fn keys(&self, prefix: &str) -> Result<Vec<String>, ReadFailure> {
        self.journal
            .state_keys(&self.tenant, &self.session, &self.plugin, prefix)
            .await
            .map_err(|error| failure(&error))
    }
}

impl StateReader for SessionStateReader {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, ReadFailure>> {
        self.value(key).boxed()
    }

    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
        max: usize,
    ) -> BoxFuture<'a, Result<Vec<String>, ReadFailure>> {
        async move {
            let keys = self.keys(prefix).await?;
            let past = |key: &String| after.is_none_or(|after| key.as_str() > after);
            Ok(keys.into_iter().filter(past).take(max).collect())
        }
        .boxed()
    }

    fn usage(&self) -> BoxFuture<'_, Result<StateUsage, ReadFailure>> {
        async move {
            let mut usage = StateUsage::default();
            for key in self.keys("").await? {
                let value = self.value(&key).await?.unwrap_or_default();
                usage.keys += 1;
                usage.bytes += (key.len() + value.len()) as u64;
            }
            Ok(usage)
        }
        .boxed()
    }
}
