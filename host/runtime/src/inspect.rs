//! What can be said about a component without running it: for `plugin inspect` and `check`, offline.

use mainstay_protocol::Digest;

use crate::{
    engine::Runtime,
    hook::{Export, Hook},
    load,
    load_error::LoadError,
    places,
};

/// A component's outer shape.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// SHA-256 of the bytes.
    pub digest: Digest,
    /// Size of the component, in bytes.
    pub bytes: usize,
    /// Size of the compiled code with its data, in bytes.
    pub compiled_bytes: usize,
    /// What it exports of our package, hooks included.
    pub exports: Vec<Export>,
    /// The hooks among them.
    pub hooks: Vec<Hook>,
    /// Exports that the host ignores; some toolchains add them.
    pub other_exports: Vec<String>,
    /// Its imports, by full name.
    pub imports: Vec<String>,
    /// How many places of the pool one of its calls takes.
    pub places: u32,
}

impl Runtime {
    /// Reads a component. Compiles it when it is not in the cache, which can take seconds: call it off the async threads.
    ///
    /// # Errors
    /// The bytes are no component, or its interface does not fit this host.
    pub fn inspect(&self, bytes: &[u8]) -> Result<Inspection, LoadError> {
        let compiled = load::compile(&self.shared, bytes, None)?;
        let hook = |export: Export| match export {
            Export::Hook(hook) => Some(hook),
            _ => None,
        };
        let image = compiled.component.image_range();
        Ok(Inspection {
            digest: compiled.digest,
            bytes: bytes.len(),
            compiled_bytes: image.end.addr() - image.start.addr(),
            hooks: compiled.shape.exports.iter().filter_map(hook).collect(),
            exports: compiled.shape.exports.iter().collect(),
            other_exports: compiled.shape.other_exports,
            imports: compiled.shape.imports,
            places: compiled.component.resources_required().map_or(1, |required| places::needed(&required).get()),
        })
    }
}
