//! The configuration, and the actions that all hooks have in common.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use mainstay_sdk::prelude::*;
use serde_json::{Value, json};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) input: Action,
    pub(crate) gate: Action,
    pub(crate) stop: Action,
    pub(crate) self_check: Action,
    log_file: Option<String>,
}

/// What one hook does.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Action {
    #[serde(rename = "do")]
    pub(crate) what: String,
    text: Option<String>,
    path: Option<String>,
    only: Option<String>,
}

impl Settings {
    pub(crate) fn load() -> Result<Self, Error> {
        config()
    }

    /// One line about a call, synced: a kill right after finds it.
    pub(crate) fn log(&self, hook: &str, about: &Value) -> io::Result<()> {
        let Some(path) = &self.log_file else { return Ok(()) };
        let line = json!({
            "hook": hook,
            "invocation_id": context::invocation_id(),
            "attempt": context::attempt(),
            "arguments": about,
        });
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        file.write_all(format!("{line}\n").as_bytes())?;
        file.sync_all()
    }
}

impl Action {
    /// This action, if there is one for that text.
    pub(crate) fn applies_to(&self, text: &str) -> Option<&Self> {
        let meant = self.only.as_ref().is_none_or(|only| text.contains(only.as_str()));
        (meant && !self.what.is_empty()).then_some(self)
    }

    pub(crate) fn text(&self) -> String {
        self.text.clone().unwrap_or_else(|| format!("the configuration says `{}`", self.what))
    }

    /// The actions that any hook can take; `Ok` when there is nothing against going on.
    pub(crate) fn otherwise(&self) -> Result<(), Interruption> {
        match self.what.as_str() {
            "fail" => Err(self.failure().into()),
            "fail_while_missing" if !self.path.as_ref().is_some_and(|path| Path::new(path).exists()) => {
                Err(self.failure().into())
            }
            "fail_while_missing" => Ok(()),
            "trap" => trap(),
            "spin" => spin(),
            "need_input" => ask::<Value>("hooks", Form::new(self.text()).yes_no("ok", "Whether to go on"))?
                .given()
                .map(drop)
                .map_err(Into::into),
            "wait" if suspension::resumed().is_none() => Err(wait(20, "hooks")),
            "wait" => Ok(()),
            other => Err(Error::invalid_argument(format!("`{other}` is not something that this hook can do")).into()),
        }
    }

    fn failure(&self) -> Error {
        Error::internal(self.text()).with_code("hooks-fail")
    }
}

fn trap() -> ! {
    #[cfg(target_arch = "wasm32")]
    std::arch::wasm32::unreachable();
    #[cfg(not(target_arch = "wasm32"))]
    panic!("trap");
}

fn spin() -> ! {
    loop {
        std::hint::spin_loop();
    }
}
