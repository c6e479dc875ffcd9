//! `context`: facts about the current call.

use super::wit::context as wit;
use crate::store::CallState;

impl wit::Host for CallState {
    fn session(&mut self) -> wasmtime::Result<Option<String>> {
        Ok(self.invocation.session.as_ref().map(ToString::to_string))
    }

    fn turn(&mut self) -> wasmtime::Result<Option<String>> {
        Ok(self.invocation.turn.as_ref().map(ToString::to_string))
    }

    fn step(&mut self) -> wasmtime::Result<Option<u32>> {
        Ok(self.invocation.step.map(|step| step.0))
    }

    fn call_index(&mut self) -> wasmtime::Result<Option<u32>> {
        Ok(self.invocation.call.map(|call| call.0))
    }

    fn invocation_id(&mut self) -> wasmtime::Result<String> {
        Ok(self.invocation.invocation_id.clone())
    }

    fn attempt(&mut self) -> wasmtime::Result<u32> {
        Ok(self.invocation.attempt)
    }

    fn idempotency_key(&mut self) -> wasmtime::Result<Option<String>> {
        Ok(self.invocation.idempotency_key.clone())
    }

    fn remaining_ms(&mut self) -> wasmtime::Result<u32> {
        Ok(u32::try_from(self.remaining().as_millis()).unwrap_or(u32::MAX))
    }

    fn config(&mut self) -> wasmtime::Result<String> {
        Ok(self.generation.config.clone())
    }

    fn metadata(&mut self) -> wasmtime::Result<String> {
        Ok(self.invocation.metadata.to_string())
    }

    fn labels(&mut self) -> wasmtime::Result<Vec<(String, String)>> {
        Ok(self.invocation.labels.to_vec())
    }

    fn route(&mut self) -> wasmtime::Result<Option<String>> {
        Ok(self.invocation.route.clone())
    }

    fn plugin(&mut self) -> wasmtime::Result<wit::PluginIdentity> {
        let receipt = self.generation.receipt();
        Ok(wit::PluginIdentity {
            name: receipt.plugin.to_string(),
            version: receipt.version.clone(),
            sha256: receipt.sha256.to_string(),
        })
    }
}
