//! Where the script comes from: the route's settings, else the plugin's configuration, else the built-in one.

use std::fs::File;
use std::io::Read;
use std::num::NonZeroU32;

use mainstay_sdk::prelude::*;
use serde_json::Value;

/// The script that is played when none was configured.
const HELLO: &str = include_str!("hello.toml");

/// How large a script may be.
const MAX_SCRIPT_BYTES: u64 = 1 << 20;

/// The pace where the script does not say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Defaults {
    pub(crate) chunk: Option<NonZeroU32>,
    pub(crate) delay_ms: u32,
}

/// The keys that settings of a route and the configuration have in common.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Source {
    script: Option<String>,
    script_file: Option<String>,
    chunk: Option<NonZeroU32>,
    delay_ms: Option<u32>,
}

/// The script for a request.
pub(crate) fn for_request(request: &ModelRequest) -> Result<(String, Defaults), Error> {
    let settings = settings_of(request)?;
    let config: Source = config()?;
    let defaults = Defaults {
        chunk: settings.chunk.or(config.chunk),
        delay_ms: settings.delay_ms.or(config.delay_ms).unwrap_or(0),
    };
    let text = match settings.text()? {
        Some(text) => text,
        None => config.text()?.unwrap_or_else(|| HELLO.to_owned()),
    };
    Ok((text, defaults))
}

/// The script of the configuration.
pub(crate) fn configured() -> Result<(String, Defaults), Error> {
    let config: Source = config()?;
    let text = config.text()?.unwrap_or_else(|| HELLO.to_owned());
    Ok((text, Defaults { chunk: config.chunk, delay_ms: config.delay_ms.unwrap_or(0) }))
}

fn settings_of(request: &ModelRequest) -> Result<Source, Error> {
    let bad = |why: String| Error::invalid_argument(format!("settings of the route: {why}")).with_code("bad-settings");
    let value: Value = serde_json::from_str(&request.settings).map_err(|error| bad(error.to_string()))?;
    // A hook may add settings that are meant for other adapters: that is worth a line and no more.
    for key in value.as_object().into_iter().flat_map(|settings| settings.keys()) {
        if !["script", "script_file", "chunk", "delay_ms"].contains(&key.as_str()) {
            warn!("the setting `{key}` means nothing to rehearsal");
        }
    }
    serde_path_to_error::deserialize(value).map_err(|error| bad(format!("`{}`: {}", error.path(), error.inner())))
}

impl Source {
    fn text(&self) -> Result<Option<String>, Error> {
        match (&self.script, &self.script_file) {
            (Some(_), Some(_)) => {
                Err(Error::invalid_argument("`script` and `script_file` are both given; leave one out")
                    .with_code("bad-settings"))
            }
            (Some(text), None) => Ok(Some(text.clone())),
            (None, Some(path)) => read(path).map(Some),
            (None, None) => Ok(None),
        }
    }
}

fn read(path: &str) -> Result<String, Error> {
    let fault = |why: String| {
        Error::invalid_argument(format!("`script_file`: reading `{path}`: {why}")).with_code("bad-script")
    };
    let file = File::open(path).map_err(|error| fault(format!("{error}; is its folder granted to this plugin?")))?;
    let mut text = String::new();
    file.take(MAX_SCRIPT_BYTES + 1).read_to_string(&mut text).map_err(|error| fault(error.to_string()))?;
    if text.len() as u64 > MAX_SCRIPT_BYTES {
        return Err(fault(format!("it has more than {MAX_SCRIPT_BYTES} bytes")));
    }
    Ok(text)
}
