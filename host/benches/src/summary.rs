//! Figures: their percentiles, their floor, their budget, and where they are written.

use std::{
    fs::{self, File},
    io::Write as _,
    path::PathBuf,
    time::Duration,
};

use anyhow::{Context as _, Result};
use serde_json::json;

/// Where everything of the benches goes. On the same disk as a data folder would be.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/bench")
}

/// The figures of a run.
pub(crate) struct Summary {
    file: File,
}

/// A figure.
pub(crate) struct Figure<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: f64,
    pub(crate) unit: &'a str,
    /// What the machine itself takes for the same, measured in the same run.
    pub(crate) floor: Option<f64>,
    /// What the figure may be.
    pub(crate) budget: Option<f64>,
}

impl Summary {
    pub(crate) fn create() -> Result<Self> {
        fs::create_dir_all(folder())?;
        let file = File::create(folder().join("summary.json")).context("creating target/bench/summary.json")?;
        println!("{:<28} {:>10} {:<6} {:>10} {:>7} {:>10}", "name", "value", "unit", "floor", "ratio", "budget");
        Ok(Self { file })
    }

    pub(crate) fn add(&mut self, figure: &Figure<'_>) -> Result<()> {
        let Figure { name, value, unit, floor, budget } = *figure;
        let ratio = floor.filter(|floor| *floor > 0.0).map(|floor| value / floor);
        let shown = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |number| format!("{number:.2}"));
        let missed = if budget.is_some_and(|budget| value > budget) { "  over budget" } else { "" };
        let (floor_text, ratio_text, budget_text) = (shown(floor), shown(ratio), shown(budget));
        println!("{name:<28} {value:>10.2} {unit:<6} {floor_text:>10} {ratio_text:>7} {budget_text:>10}{missed}");
        let line =
            json!({ "name": name, "value": value, "unit": unit, "floor": floor, "ratio": ratio, "budget": budget });
        writeln!(self.file, "{line}")?;
        Ok(())
    }

    /// A note for people, not for the file.
    pub(crate) fn note(text: &str) {
        println!("    {text}");
    }
}

/// Timings of the same thing.
#[derive(Default)]
pub(crate) struct Timings(Vec<Duration>);

impl Timings {
    pub(crate) fn add(&mut self, one: Duration) {
        self.0.push(one);
    }

    /// The value below which `share` of all timings are, in microseconds.
    pub(crate) fn micros(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an index"
        )]
        let index = ((sorted.len().saturating_sub(1)) as f64 * share).round() as usize;
        sorted.get(index).map_or(0.0, |timing| timing.as_secs_f64() * 1e6)
    }

    pub(crate) fn median(&self) -> f64 {
        self.micros(0.5)
    }
}
