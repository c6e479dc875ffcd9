//! Fuzz targets: what is read from disk or from clients never panics, whatever the bytes are. A plain test run gives each a fixed
//! number of inputs; `cargo bolero test -p mainstay-tests fuzz::cursors::any_text` (with `cargo-bolero` installed) lets a
//! coverage-guided engine search for as long as one likes.

mod bodies;
mod cursors;

/// Inputs of a plain test run.
const SHORT: usize = 20_000;
