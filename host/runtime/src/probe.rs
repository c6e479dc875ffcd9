//! The last step of loading: the plugin runs in throwaway instances, under its own limits, outside all sessions. What it
//! writes there is dropped.

use std::sync::Arc;

use mainstay_protocol::TenantId;
use tokio::time::timeout_at;

use crate::{
    call::{self, Open, Work},
    exports::{
        ListModels, ListTools, Misfit,
        lifecycle::{CheckSelf, SchemaVersion},
    },
    generation::{Facts, Generation},
    hook::Export,
    invocation::Invocation,
    load_error::LoadError,
};

/// Tries a generation and fills in what it says about itself.
pub(crate) async fn finish(generation: Generation) -> Result<Arc<Generation>, LoadError> {
    let mut generation = Arc::new(generation);
    check_types(&generation).await?;
    let facts = ask(&generation).await?;
    // Throwaway instances hold the generation only while they run.
    let built = Arc::get_mut(&mut generation);
    built.ok_or_else(|| LoadError::Host("a throwaway instance is still running".to_owned()))?.facts = facts;
    Ok(generation)
}

/// Compares the types of all exports, which only an instance has.
async fn check_types(generation: &Arc<Generation>) -> Result<(), LoadError> {
    let during = "its start";
    let mut open = match Open::new(generation, invocation(during), Export::SelfCheck).await {
        Ok(open) => open,
        Err(failure) => {
            return Err(LoadError::SelfCheck { during, failure: failure.into(), stderr_tail: String::new() });
        }
    };
    let deadline = open.store.data().deadline.into();
    let done = timeout_at(deadline, generation.instantiate(&mut open.store)).await;
    match open.settle(done) {
        Ok(instance) => {
            let checked: Result<(), Misfit> = generation.subscriptions.check_types(&mut open.store, &instance);
            checked.map_err(LoadError::from)
        }
        Err(failure) => {
            let stderr_tail = open.store.data().capture.text();
            Err(LoadError::SelfCheck { during, failure: failure.into(), stderr_tail })
        }
    }
}

async fn ask(generation: &Arc<Generation>) -> Result<Facts, LoadError> {
    let mut facts = generation.facts.clone();
    let subscriptions = &generation.subscriptions;
    if let Some(indices) = &subscriptions.self_check {
        facts.warnings = run(generation, Export::SelfCheck, "check-self", CheckSelf(indices)).await?;
    }
    if let Some(indices) = &subscriptions.state_migration {
        let component = run(generation, Export::StateMigration, "schema-version", SchemaVersion(indices)).await?;
        if component != facts.state_schema {
            return Err(LoadError::StateSchema { component, manifest: facts.state_schema });
        }
    }
    if let Some(indices) = &subscriptions.tools {
        facts.tools = run(generation, Export::Tools, "list-tools", ListTools(indices)).await?;
    }
    if let Some(indices) = &subscriptions.model {
        facts.models = run(generation, Export::Model, "list-models", ListModels(indices)).await?;
    }
    if facts.exports.has(Export::Commands) {
        facts
            .warnings
            .push("the plugin exports `commands`, which this version of the host does not serve yet".to_owned());
    }
    Ok(facts)
}

async fn run<W: Work>(
    generation: &Arc<Generation>,
    serving: Export,
    during: &'static str,
    work: W,
) -> Result<W::Output, LoadError> {
    let called = call::run(generation, invocation(during), serving, work).await;
    let stderr_tail = called.stderr_tail;
    called.result.map_err(|failure| LoadError::SelfCheck { during, failure: failure.into(), stderr_tail })
}

fn invocation(during: &str) -> Invocation {
    Invocation::outside_sessions(TenantId::default_tenant(), format!("load/{during}"))
}
