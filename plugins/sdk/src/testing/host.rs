//! The imports of the stand-in host, with the signatures of the generated ones.
#![cfg_attr(target_arch = "wasm32", allow(dead_code, reason = "a component calls the real ones"))]

use super::with;
use crate::bindings::imports::mainstay::plugin as wit;
use crate::types::{Error, ErrorKind};

fn not_granted(import: &str) -> Error {
    Error::denied(format!("`{import}` was not granted")).with_code("not-granted")
}

pub(crate) mod context {
    use super::with;
    use crate::types::PluginIdentity;

    pub(crate) fn session() -> Option<String> {
        with(|host| host.session.clone())
    }

    pub(crate) fn turn() -> Option<String> {
        with(|host| host.turn.clone())
    }

    pub(crate) fn step() -> Option<u32> {
        with(|host| host.step)
    }

    pub(crate) fn call_index() -> Option<u32> {
        with(|host| host.call_index)
    }

    pub(crate) fn invocation_id() -> String {
        with(|host| host.invocation_id.clone())
    }

    pub(crate) fn attempt() -> u32 {
        with(|host| host.attempt)
    }

    pub(crate) fn idempotency_key() -> Option<String> {
        with(|host| host.call_index.map(|index| format!("{}-{index}", host.invocation_id)))
    }

    pub(crate) fn remaining_ms() -> u32 {
        with(|host| host.remaining_ms)
    }

    pub(crate) fn config() -> String {
        with(|host| host.config.clone())
    }

    pub(crate) fn metadata() -> String {
        with(|host| host.metadata.clone())
    }

    pub(crate) fn labels() -> Vec<(String, String)> {
        with(|host| host.labels.clone())
    }

    pub(crate) fn route() -> Option<String> {
        with(|host| host.route.clone())
    }

    pub(crate) fn plugin() -> PluginIdentity {
        with(|host| host.plugin.clone())
    }
}

pub(crate) mod session_state {
    use super::{Error, check_key, with};
    use std::ops::Bound;

    fn check(key: &str) -> Result<(), Error> {
        if with(|host| host.session.is_none()) {
            return Err(Error::not_found("there is no session"));
        }
        check_key(key)
    }

    pub(crate) fn get(key: &str) -> Result<Option<Vec<u8>>, Error> {
        check(key)?;
        Ok(with(|host| host.session_state.get(key).cloned()))
    }

    pub(crate) fn set(key: &str, value: &[u8]) -> Result<(), Error> {
        check(key)?;
        with(|host| host.session_state.insert(key.to_owned(), value.to_vec()));
        Ok(())
    }

    pub(crate) fn remove(key: &str) -> Result<(), Error> {
        check(key)?;
        with(|host| host.session_state.remove(key));
        Ok(())
    }

    pub(crate) fn list_keys(prefix: &str, after: Option<&str>, max: u32) -> Result<Vec<String>, Error> {
        check("any")?;
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        Ok(with(|host| {
            let keys = host.session_state.range::<str, _>((start, Bound::Unbounded)).map(|(key, _)| key);
            keys.filter(|key| key.starts_with(prefix)).take(max.min(1_000) as usize).cloned().collect()
        }))
    }
}

pub(crate) mod plugin_state {
    use super::wit::plugin_state::Entry;
    use super::{Error, check_key, with};

    pub(crate) fn get(key: &str) -> Result<Option<Entry>, Error> {
        check_key(key)?;
        Ok(with(|host| host.plugin_values.get(key).cloned()))
    }

    pub(crate) fn put_if_version(key: &str, value: &[u8], expected: Option<u64>) -> Result<u64, Error> {
        check_key(key)?;
        with(|host| {
            let current = host.plugin_values.get(key).map(|entry| entry.version);
            if current != expected {
                return Err(Error::conflict(format!("`{key}` has version {current:?}, not {expected:?}")));
            }
            let version = current.unwrap_or(0) + 1;
            host.plugin_values.insert(key.to_owned(), Entry { value: value.to_vec(), version });
            Ok(version)
        })
    }

    pub(crate) fn add(key: &str, amount: u64) -> Result<u64, Error> {
        check_key(key)?;
        Ok(with(|host| {
            let counter = host.plugin_counters.entry(key.to_owned()).or_default();
            *counter = counter.saturating_add(amount).min(i64::MAX as u64);
            *counter
        }))
    }
}

fn check_key(key: &str) -> Result<(), Error> {
    if (1..=256).contains(&key.len()) { Ok(()) } else { Err(Error::invalid_argument("a key has 1 to 256 bytes")) }
}

pub(crate) mod transcript {
    use super::{Error, not_granted, with};
    use crate::types::Item;

    #[derive(Debug)]
    pub(crate) struct View(Vec<Item>);

    pub(crate) fn open() -> Result<View, Error> {
        with(|host| host.transcript.clone()).map(View).ok_or_else(|| not_granted("transcript"))
    }

    impl View {
        pub(crate) fn len(&self) -> u32 {
            u32::try_from(self.0.len()).unwrap_or(u32::MAX)
        }

        pub(crate) fn read(&self, start: u32, max: u32) -> Vec<Item> {
            self.0.iter().skip(start as usize).take(max as usize).cloned().collect()
        }

        #[allow(clippy::unused_self, reason = "the signature of the generated one")]
        pub(crate) fn read_json(&self, _start: u32, _max: u32) -> Vec<u8> {
            panic!("the test host has no `read_json`: use `read`, or test against the real host")
        }

        pub(crate) fn tail(&self, max: u32) -> Vec<Item> {
            self.read(self.len().saturating_sub(max), max)
        }
    }
}

pub(crate) mod current_step {
    use super::{Error, not_granted, with};
    use crate::types::ModelRequest;

    pub(crate) fn request() -> Result<ModelRequest, Error> {
        with(|host| host.request.clone()).ok_or_else(|| not_granted("current-step"))
    }
}

pub(crate) mod catalog {
    use super::{Error, not_granted, with};
    use crate::types::ToolDefinition;

    fn tools() -> Result<Vec<ToolDefinition>, Error> {
        with(|host| host.tools.clone()).ok_or_else(|| not_granted("catalog"))
    }

    pub(crate) fn tool_names() -> Result<Vec<String>, Error> {
        let mut names: Vec<String> = tools()?.into_iter().map(|tool| tool.name).collect();
        names.sort();
        Ok(names)
    }

    pub(crate) fn find_tool(name: &str) -> Result<Option<ToolDefinition>, Error> {
        Ok(tools()?.into_iter().find(|tool| tool.name == name))
    }
}

pub(crate) mod suspension {
    use super::with;
    use crate::types::Resumption;

    pub(crate) fn resumed() -> Option<Resumption> {
        with(|host| host.resumed.clone())
    }
}

pub(crate) mod log {
    use super::wit::log::Level;
    use super::with;

    pub(crate) fn write(level: Level, message: &str, _fields: Option<&str>) {
        with(|host| host.logs.push((level, message.to_owned())));
    }
}

pub(crate) mod progress {
    use super::with;

    pub(crate) fn report(text: &str, _done: Option<u32>, _total: Option<u32>) {
        with(|host| host.progress.push(text.to_owned()));
    }
}

pub(crate) mod secrets {
    use super::{Error, not_granted, with};

    pub(crate) fn placeholder(name: &str) -> Result<String, Error> {
        with(|host| host.secrets.get(name).cloned()).ok_or_else(|| not_granted("secrets"))
    }
}

pub(crate) mod blobs {
    use super::wit::blobs::BlobInfo;
    use super::{Error, ErrorKind, with};

    fn find(blob: &str) -> Result<(String, Vec<u8>), Error> {
        let found = with(|host| host.blobs.get(blob).cloned());
        found.ok_or_else(|| Error::new(ErrorKind::NotFound, "there is no such blob"))
    }

    pub(crate) fn stat(blob: &str) -> Result<BlobInfo, Error> {
        let (media_type, bytes) = find(blob)?;
        Ok(BlobInfo { media_type, size: u32::try_from(bytes.len()).unwrap_or(u32::MAX) })
    }

    pub(crate) fn read(blob: &str, offset: u32, max: u32) -> Result<Vec<u8>, Error> {
        let (_, bytes) = find(blob)?;
        Ok(bytes.into_iter().skip(offset as usize).take(max as usize).collect())
    }
}

pub(crate) mod models {
    use super::wit::models::{Generation, GenerationRequest};
    use super::{Error, not_granted, with};

    pub(crate) fn generate(request: &GenerationRequest) -> Result<Generation, Error> {
        // Taken out while it runs: the function may use other imports.
        let Some(mut answer) = with(|host| host.generate.take()) else { return Err(not_granted("models")) };
        let result = answer(request);
        with(|host| host.generate = Some(answer));
        result
    }
}
