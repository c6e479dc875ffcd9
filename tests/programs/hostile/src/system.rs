//! What the operating system, as the sandbox shows it, gives and refuses.

use std::fs;

use mainstay_sdk::prelude::*;

/// A name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Name {
    name: String,
}

/// A path.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Path {
    path: String,
}

/// A path and what to put there.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Write {
    path: String,
    text: String,
}

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        Tool::new("read_env", "Reads an environment variable.", |env: Name| Ok(Json(std::env::var(env.name).ok()))),
        Tool::new("list_env", "Lists all environment variables.", |_: NoArguments| {
            Ok(Json(std::env::vars().collect::<Vec<_>>()))
        }),
        Tool::new("read_file", "Reads a file.", |file: Path| Ok(fs::read_to_string(file.path)?)),
        Tool::new("write_file", "Writes a file.", |file: Write| {
            Ok(fs::write(file.path, file.text).map(|()| "written")?)
        }),
    ]
}
