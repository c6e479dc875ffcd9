//! `catalog`: the tools of the snapshot that the step runs on, with the operator's overrides applied.

use super::{
    Answer, denied, not_found,
    wit::{catalog as wit, errors, tool_definitions::ToolDefinition},
};
use crate::{hook::Capability, registry::Snapshot, store::CallState};

impl wit::Host for CallState {
    fn tool_names(&mut self) -> Answer<Vec<String>> {
        Ok(self.tools().map(|snapshot| snapshot.tools().map(|tool| tool.definition.name.clone()).collect()))
    }

    fn find_tool(&mut self, name: String) -> Answer<Option<ToolDefinition>> {
        Ok(self.tools().map(|snapshot| snapshot.find_tool(&name).map(|tool| tool.definition.clone().into())))
    }
}

impl CallState {
    fn tools(&self) -> Result<&Snapshot, errors::Error> {
        if !self.allows(Capability::Catalog) {
            return Err(denied(Capability::Catalog));
        }
        self.invocation.snapshot.as_deref().ok_or_else(|| not_found("this call runs outside a session"))
    }
}
