//! `progress`: live news of a long call. It shares the budget of the log: nobody is told more than that of one call.

use super::wit::progress as wit;
use crate::store::CallState;

impl wit::Host for CallState {
    fn report(&mut self, text: String, done: Option<u32>, total: Option<u32>) -> wasmtime::Result<()> {
        let Some(news) = &self.invocation.news else { return Ok(()) };
        let Some(left) = self.log_budget.checked_sub(text.len().max(1)) else { return Ok(()) };
        self.log_budget = left;
        news.progress(self.generation.name(), text, done, total);
        Ok(())
    }
}
