//! Loading: verify the digest, compile off the async threads, check the interface, link against the grant, and try the
//! plugin in throwaway instances. Any failure leaves everything as it was.

use std::{num::NonZeroU32, sync::Arc};

use mainstay_protocol::{Digest, PluginName, failure::Limit, receipt::Receipt};
use tokio::sync::watch;
use wasmtime::component::{Component, InstancePre};

use crate::{
    allocation::Allocated,
    check,
    engine::{Runtime, Shared},
    exports::{Misfit, Subscriptions},
    generation::{Facts, FailurePolicy, Generation},
    grant::Grant,
    hook::{Export, Hook},
    interface::{self, Shape, VERSION},
    limits::Limits,
    load_error::LoadError,
    places, probe,
    store::CallState,
    wasi::Wasi,
};

/// A plugin to load.
#[derive(Clone, Debug)]
pub struct LoadRequest {
    /// The name under which the operator installs it.
    pub name: PluginName,
    /// The version in its manifest.
    pub version: String,
    /// The component's bytes.
    pub component: Arc<[u8]>,
    /// The digest that the manifest pins.
    pub expected: Option<Digest>,
    /// What it may do.
    pub grant: Grant,
    /// What one of its calls may use.
    pub limits: Limits,
    /// The operator's configuration: a JSON object.
    pub config: String,
    /// Hooks run in this order.
    pub order: i32,
    /// What happens when one of its hooks fails.
    pub on_failure: FailurePolicy,
    /// The version of the layout of its durable state, as its manifest says.
    pub state_schema: u32,
}

impl LoadRequest {
    /// A plugin with nothing granted and the default limits.
    pub fn new(name: PluginName, version: impl Into<String>, component: impl Into<Arc<[u8]>>) -> Self {
        Self {
            name,
            version: version.into(),
            component: component.into(),
            expected: None,
            grant: Grant::nothing(),
            limits: Limits::default(),
            config: "{}".to_owned(),
            order: 0,
            on_failure: FailurePolicy::Closed,
            state_schema: 0,
        }
    }
}

/// A component that was compiled and whose interface was checked.
pub(crate) struct Compiled {
    pub(crate) component: Component,
    pub(crate) digest: Digest,
    pub(crate) shape: Shape,
}

impl Runtime {
    /// Loads a plugin. The generation serves nobody until it is put into a [`Registry`].
    ///
    /// # Errors
    /// The plugin does not fit, may not, or fails when it is tried. See [`LoadError`].
    ///
    /// [`Registry`]: crate::Registry
    pub async fn load(&self, request: LoadRequest) -> Result<Arc<Generation>, LoadError> {
        check::json_object("it", &request.config).map_err(|why| LoadError::Config { why })?;
        self.shared.check_limits(&request.limits)?;
        let compiled = self.compile(Arc::clone(&request.component), request.expected).await?;
        check_hooks(&compiled.shape, &request.grant)?;
        let generation = link(&self.shared, request, compiled)?;
        probe::finish(generation).await
    }

    /// Finds a component in the cache, or compiles it: off the async threads, and one at a time.
    async fn compile(&self, bytes: Arc<[u8]>, expected: Option<Digest>) -> Result<Compiled, LoadError> {
        let (shared, found) = (Arc::clone(&self.shared), Arc::clone(&bytes));
        if let Some(compiled) = off_thread(move || find(&shared, &found, expected)).await? {
            return Ok(compiled);
        }
        // The turn goes with the work: a load that is called off does not let a second compilation start beside the first.
        let turn = Arc::clone(&self.shared.compiling).acquire_owned().await;
        let turn = turn.map_err(|error| LoadError::Host(error.to_string()))?;
        let shared = Arc::clone(&self.shared);
        off_thread(move || {
            let _turn = turn;
            compile(&shared, &bytes, expected)
        })
        .await
    }
}

async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LoadError> + Send + 'static,
) -> Result<T, LoadError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| LoadError::Host(format!("the compiler stopped: {error}")))?
}

/// Verifies, compiles or finds in the cache, and checks the interface.
pub(crate) fn compile(shared: &Shared, bytes: &[u8], expected: Option<Digest>) -> Result<Compiled, LoadError> {
    if let Some(found) = find(shared, bytes, expected)? {
        return Ok(found);
    }
    let (engine, digest) = (&shared.engine, Digest::of(bytes));
    let component = match &shared.cache {
        Some(cache) => cache.compile(engine, &digest, bytes),
        None => Component::from_binary(engine, bytes),
    };
    compiled(shared, component.map_err(|error| refused_by_engine(&error))?, digest)
}

/// Verifies, finds in the cache and checks the interface.
fn find(shared: &Shared, bytes: &[u8], expected: Option<Digest>) -> Result<Option<Compiled>, LoadError> {
    let digest = Digest::of(bytes);
    if let Some(expected) = expected.filter(|expected| *expected != digest) {
        return Err(LoadError::DigestMismatch { expected, found: digest });
    }
    check_header(bytes)?;
    let found = shared.cache.as_ref().and_then(|cache| cache.find(&shared.engine, &digest));
    found.map(|component| compiled(shared, component, digest)).transpose()
}

fn compiled(shared: &Shared, component: Component, digest: Digest) -> Result<Compiled, LoadError> {
    let shape = interface::shape(&shared.engine, &component)?;
    Ok(Compiled { component, digest, shape })
}

fn check_header(bytes: &[u8]) -> Result<(), LoadError> {
    match bytes {
        [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => Err(LoadError::CoreModule),
        [0, b'a', b's', b'm', ..] => Ok(()),
        [] => Err(LoadError::NotAComponent { why: "it is empty".to_owned() }),
        _ => Err(LoadError::NotAComponent { why: "it does not begin with the bytes of WebAssembly".to_owned() }),
    }
}

fn refused_by_engine(error: &wasmtime::Error) -> LoadError {
    let why = format!("{error:#}");
    if why.contains("in the pooling allocator") || why.contains("pooling allocator requirements") {
        LoadError::TooLarge { why: error.root_cause().to_string() }
    } else {
        LoadError::NotAComponent { why }
    }
}

impl Shared {
    fn check_limits(&self, limits: &Limits) -> Result<(), LoadError> {
        let most = self.options.max_memory_per_call.get();
        if limits.memory.get() > most {
            return Err(LoadError::LimitTooHigh { limit: Limit::Memory, asked: limits.memory.get(), most });
        }
        let most = self.options.max_table_elements.get();
        if limits.table_elements.get() > most {
            let asked = limits.table_elements.get().into();
            return Err(LoadError::LimitTooHigh { limit: Limit::TableElements, asked, most: most.into() });
        }
        Ok(())
    }

    /// How many places a call of the component takes.
    fn places(&self, component: &Component, limits: &Limits) -> Result<NonZeroU32, LoadError> {
        let Some(required) = component.resources_required() else {
            return Err(LoadError::TooLarge { why: "it imports core modules, whose size is unknown".to_owned() });
        };
        let most = limits.instances.get();
        if required.num_memories > most || required.num_tables > most {
            let (memories, tables) = (required.num_memories, required.num_tables);
            let why = format!("it has {memories} memories and {tables} tables; {most} of each are allowed");
            return Err(LoadError::TooLarge { why });
        }
        if matches!(self.allocated(), Allocated::OnDemand { .. }) {
            return Ok(NonZeroU32::MIN);
        }
        let (needed, all) = (places::needed(&required), self.places.all());
        if needed > all {
            return Err(LoadError::TooLarge { why: format!("one call takes {needed} places of the pool's {all}") });
        }
        Ok(needed)
    }
}

/// Hooks are two-key. What is exported without a grant, granted without an export, or not served by this build refuses
/// the load by name: whoever installed the plugin counts on something that would not happen.
fn check_hooks(shape: &Shape, grant: &Grant) -> Result<(), LoadError> {
    let exported = |hook: &Hook| shape.exports.has_hook(*hook);
    for &hook in Hook::ALL.iter().filter(|hook| exported(hook)) {
        if !grant.hooks().contains(&hook) {
            return Err(LoadError::HookNotGranted { hook });
        }
        if !hook.is_served() {
            return Err(LoadError::HookNotServed { hook });
        }
    }
    if let Some(&hook) = grant.hooks().iter().find(|hook| !exported(hook)) {
        return Err(LoadError::HookNotExported { hook });
    }
    if !shape.exports.iter().any(|export| matches!(export, Export::Tools | Export::Model | Export::Hook(_))) {
        return Err(LoadError::NothingExported);
    }
    Ok(())
}

fn link(shared: &Arc<Shared>, request: LoadRequest, compiled: Compiled) -> Result<Generation, LoadError> {
    let pre = shared.linker.instantiate_pre(&compiled.component).map_err(|error| missing_import(&error))?;
    let subscriptions = subscribe(&pre, &compiled.shape)?;
    let grant_digest = request.grant.digest(&request.limits.canonical(), &request.config);
    let receipt = Receipt {
        plugin: request.name,
        version: request.version,
        sha256: compiled.digest,
        interface: VERSION.to_owned(),
        grant: grant_digest,
        host: concat!("mainstay ", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    let facts = Facts {
        receipt,
        exports: compiled.shape.exports,
        limits: request.limits,
        order: request.order,
        on_failure: request.on_failure,
        state_schema: request.state_schema,
        tools: Vec::new(),
        models: Vec::new(),
        warnings: Vec::new(),
    };
    Ok(Generation {
        places: shared.places(&compiled.component, &facts.limits)?,
        wasi: Wasi::new(&request.grant)?,
        pre,
        subscriptions,
        grant: request.grant,
        shared: Arc::clone(shared),
        config: request.config,
        facts,
        alive: watch::Sender::new(()),
    })
}

fn subscribe(pre: &InstancePre<CallState>, shape: &Shape) -> Result<Subscriptions, LoadError> {
    Subscriptions::find(pre, &shape.exports).map_err(LoadError::from)
}

impl From<Misfit> for LoadError {
    fn from(Misfit { export, why }: Misfit) -> Self {
        Self::ExportType { export, why: format!("{why:#}") }
    }
}

/// The engine says "component imports instance `name`, but a matching implementation was not found": the name is known to
/// the host, so a function is missing or has another type.
fn missing_import(error: &wasmtime::Error) -> LoadError {
    let text = error.to_string();
    let import = text.split('`').nth(1).unwrap_or("an interface").to_owned();
    let why = format!("{}; the plugin may need a newer host", error.root_cause());
    LoadError::MissingImport { import, why }
}
