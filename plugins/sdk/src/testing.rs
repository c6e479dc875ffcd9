//! A stand-in host for native tests: what imports answer is set up here, and what a plugin did is read here.
//!
//! ```
//! use mainstay_sdk::prelude::*;
//! use mainstay_sdk::testing::Host;
//!
//! let host = Host::new().config(r#"{ "greeting": "hello" }"#).session("s1").enter();
//! assert!(mainstay_sdk::context::config_text().contains("hello"));
//! session_state::set("seen", &3).unwrap();
//! assert_eq!(session_state::get::<u32>("seen"), Ok(Some(3)));
//! drop(host);
//! ```
//!
//! Each thread has its own. Without an entered host every import panics and says so: a forgotten set-up must not read as
//! an empty one. Nothing here is staged or limited; whether a plugin keeps its state across a crash is for the real host to test.

pub(crate) mod host;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;

use crate::bindings::imports::mainstay::plugin as wit;
use crate::types::{Cause, Error, Item, ItemBody, ModelRequest, PluginIdentity, Resumption, ToolCall, ToolDefinition};
use wit::models::{Generation, GenerationRequest};

type Generator = Box<dyn FnMut(&GenerationRequest) -> Result<Generation, Error>>;

thread_local! {
    static ENTERED: RefCell<Option<Host>> = const { RefCell::new(None) };
}

/// What imports answer. Builder functions set it up; [`enter`](Host::enter) makes it the host of this thread.
pub struct Host {
    config: String,
    metadata: String,
    labels: Vec<(String, String)>,
    session: Option<String>,
    turn: Option<String>,
    step: Option<u32>,
    call_index: Option<u32>,
    invocation_id: String,
    attempt: u32,
    remaining_ms: u32,
    route: Option<String>,
    plugin: PluginIdentity,
    session_state: BTreeMap<String, Vec<u8>>,
    plugin_values: BTreeMap<String, wit::plugin_state::Entry>,
    plugin_counters: BTreeMap<String, u64>,
    transcript: Option<Vec<Item>>,
    request: Option<ModelRequest>,
    tools: Option<Vec<ToolDefinition>>,
    resumed: Option<Resumption>,
    secrets: BTreeMap<String, String>,
    blobs: BTreeMap<String, (String, Vec<u8>)>,
    generate: Option<Generator>,
    logs: Vec<(wit::log::Level, String)>,
    progress: Vec<String>,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("config", &self.config).field("session", &self.session).finish_non_exhaustive()
    }
}

impl Default for Host {
    fn default() -> Self {
        Self {
            config: "{}".to_owned(),
            metadata: "{}".to_owned(),
            labels: Vec::new(),
            session: None,
            turn: None,
            step: None,
            call_index: None,
            invocation_id: "invocation-1".to_owned(),
            attempt: 1,
            remaining_ms: 30_000,
            route: None,
            plugin: PluginIdentity { name: "test".to_owned(), version: "0.0.0".to_owned(), sha256: "0".repeat(64) },
            session_state: BTreeMap::new(),
            plugin_values: BTreeMap::new(),
            plugin_counters: BTreeMap::new(),
            transcript: None,
            request: None,
            tools: None,
            resumed: None,
            secrets: BTreeMap::new(),
            blobs: BTreeMap::new(),
            generate: None,
            logs: Vec::new(),
            progress: Vec::new(),
        }
    }
}

impl Host {
    /// A host with an empty configuration, no session, and no grants.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The configuration: JSON text.
    #[must_use]
    pub fn config(mut self, json: impl Into<String>) -> Self {
        self.config = json.into();
        self
    }

    /// The session's metadata: JSON text.
    #[must_use]
    pub fn metadata(mut self, json: impl Into<String>) -> Self {
        self.metadata = json.into();
        self
    }

    /// A label of the session.
    #[must_use]
    pub fn label(mut self, name: &str, value: &str) -> Self {
        self.labels.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A session, in the first step of its first turn.
    #[must_use]
    pub fn session(mut self, id: &str) -> Self {
        self.session = Some(id.to_owned());
        self.turn = Some(format!("{id}-turn-1"));
        self.step = Some(0);
        self
    }

    /// The step.
    #[must_use]
    pub fn step(mut self, step: u32) -> Self {
        self.step = Some(step);
        self
    }

    /// The position of the tool call in its step.
    #[must_use]
    pub fn call_index(mut self, index: u32) -> Self {
        self.call_index = Some(index);
        self
    }

    /// The invocation and its attempt.
    #[must_use]
    pub fn invocation(mut self, id: &str, attempt: u32) -> Self {
        self.invocation_id = id.to_owned();
        self.attempt = attempt;
        self
    }

    /// Time left, in milliseconds.
    #[must_use]
    pub fn remaining_ms(mut self, milliseconds: u32) -> Self {
        self.remaining_ms = milliseconds;
        self
    }

    /// The route that serves the step.
    #[must_use]
    pub fn route(mut self, name: &str) -> Self {
        self.route = Some(name.to_owned());
        self
    }

    /// Which code is running.
    #[must_use]
    pub fn plugin(mut self, identity: PluginIdentity) -> Self {
        self.plugin = identity;
        self
    }

    /// Grants `transcript` with this history.
    #[must_use]
    pub fn transcript(mut self, items: Vec<Item>) -> Self {
        self.transcript = Some(items);
        self
    }

    /// Grants `current-step` with this request.
    #[must_use]
    pub fn request(mut self, request: ModelRequest) -> Self {
        self.request = Some(request);
        self
    }

    /// Grants `catalog` with these tools.
    #[must_use]
    pub fn tools(mut self, tools: Vec<ToolDefinition>) -> Self {
        self.tools = Some(tools);
        self
    }

    /// The call runs again for this cause.
    #[must_use]
    pub fn resumed(mut self, token: impl Into<Vec<u8>>, cause: Cause) -> Self {
        self.resumed = Some(Resumption { token: token.into(), cause });
        self
    }

    /// Grants a secret, which its placeholder stands for.
    #[must_use]
    pub fn secret(mut self, name: &str, placeholder: &str) -> Self {
        self.secrets.insert(name.to_owned(), placeholder.to_owned());
        self
    }

    /// Stores a blob under a reference.
    #[must_use]
    pub fn blob(mut self, reference: &str, media_type: &str, bytes: &[u8]) -> Self {
        self.blobs.insert(reference.to_owned(), (media_type.to_owned(), bytes.to_vec()));
        self
    }

    /// Grants `models`, answered by this function.
    #[must_use]
    pub fn models(mut self, answer: impl FnMut(&GenerationRequest) -> Result<Generation, Error> + 'static) -> Self {
        self.generate = Some(Box::new(answer));
        self
    }

    /// Makes this the host of the thread until the guard is dropped.
    ///
    /// # Panics
    /// When the thread has one already.
    #[must_use = "the host is gone when the guard is dropped"]
    pub fn enter(self) -> Entered {
        let before = ENTERED.replace(Some(self));
        assert!(before.is_none(), "this thread has entered a test host already");
        Entered { _private: () }
    }
}

/// A host that is in effect. Reads what the plugin did.
#[derive(Debug)]
pub struct Entered {
    // Not constructible elsewhere.
    _private: (),
}

impl Entered {
    /// The lines that were logged.
    #[must_use]
    pub fn logs(&self) -> Vec<String> {
        with(|host| host.logs.iter().map(|(_, line)| line.clone()).collect())
    }

    /// The progress that was reported.
    #[must_use]
    pub fn progress(&self) -> Vec<String> {
        with(|host| host.progress.clone())
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        ENTERED.take();
    }
}

fn with<R>(ask: impl FnOnce(&mut Host) -> R) -> R {
    ENTERED.with_borrow_mut(|entered| {
        let host = entered.as_mut().expect(
            "an import of mainstay:plugin was called outside a component: in a test, keep `testing::Host::new().enter()` in a variable",
        );
        ask(host)
    })
}

/// Items of a history from bodies: numbered, and all of the first turn.
#[must_use]
pub fn items(bodies: Vec<ItemBody>) -> Vec<Item> {
    (1..)
        .zip(bodies)
        .map(|(ordinal, body)| Item {
            ordinal,
            turn: Some("turn-1".to_owned()),
            at_ms: 0,
            body,
            private_part: None,
            extras: None,
        })
        .collect()
}

/// A call of a tool with arguments as JSON text.
#[must_use]
pub fn call(name: &str, arguments: impl Into<String>) -> ToolCall {
    ToolCall { call_id: "call-1".to_owned(), name: name.to_owned(), arguments: arguments.into() }
}
