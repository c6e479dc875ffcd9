//! What a component exports and imports, compared with what the host serves, before anything is linked. An unknown or
//! ill-fitting `mainstay:*` export refuses the plugin: a gate that the host skipped would fail open.

use wasmtime::{
    Engine,
    component::{
        Component,
        types::{ComponentExtern, ComponentItem},
    },
};

use crate::{generation::Exports, hook::Export, load_error::LoadError};

/// The package that this build serves.
pub const PACKAGE: &str = "mainstay:plugin";
/// Its version. Plugins built against any other `0.1.n` fit as long as they use nothing newer.
pub const VERSION: &str = "0.1.0";

/// Interfaces of our package that a guest may import, those with types only included.
const IMPORTS: &[&str] = &[
    "blobs",
    "catalog",
    "content",
    "context",
    "current-step",
    "errors",
    "items",
    "log",
    "model-data",
    "models",
    "outcomes",
    "plugin-state",
    "progress",
    "secrets",
    "session-state",
    "suspension",
    "tool-definitions",
    "transcript",
];

/// Packages of WASI 0.2 that are linked.
const WASI: &[&str] = &["wasi:cli", "wasi:clocks", "wasi:filesystem", "wasi:io", "wasi:random", "wasi:sockets"];

/// The outer shape of a component.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    pub(crate) exports: Exports,
    /// Exports that are not ours. Some toolchains add them; they are ignored.
    pub(crate) other_exports: Vec<String>,
    pub(crate) imports: Vec<String>,
}

/// Reads the shape of a component and refuses what the host does not serve.
pub(crate) fn shape(engine: &Engine, component: &Component) -> Result<Shape, LoadError> {
    let component_type = component.component_type();
    let mut shape = Shape::default();
    for (name, item) in component_type.exports(engine) {
        match Name::parse(name) {
            Some(name) if name.package.starts_with("mainstay:") => take_export(&mut shape, &name, &item)?,
            _ => shape.other_exports.push(name.to_owned()),
        }
    }
    for (name, _) in component_type.imports(engine) {
        check_import(name)?;
        shape.imports.push(name.to_owned());
    }
    Ok(shape)
}

fn take_export(shape: &mut Shape, name: &Name<'_>, item: &ComponentExtern<'_>) -> Result<(), LoadError> {
    let known = Export::all().find(|export| name.package == PACKAGE && export.name() == name.interface);
    let Some(export) = known else {
        return Err(LoadError::UnknownExport { export: name.text.to_owned(), served: served() });
    };
    if !name.fits() {
        return Err(LoadError::ExportVersion { export: name.text.to_owned(), served: format!("{PACKAGE}@{VERSION}") });
    }
    if !matches!(item.ty, ComponentItem::ComponentInstance(_)) {
        let why = "it is no interface".to_owned();
        return Err(LoadError::ExportType { export, why });
    }
    if !shape.exports.0.insert(export) {
        let why = "it is exported twice, under two versions".to_owned();
        return Err(LoadError::ExportType { export, why });
    }
    Ok(())
}

fn check_import(text: &str) -> Result<(), LoadError> {
    let missing = |why: &str| Err(LoadError::MissingImport { import: text.to_owned(), why: why.to_owned() });
    let Some(name) = Name::parse(text) else {
        return missing("it is no interface of a package");
    };
    if name.package == PACKAGE {
        if !IMPORTS.contains(&name.interface) {
            return missing("the package has no such interface to import; the plugin may need a newer host");
        }
        return if name.fits() { Ok(()) } else { missing(&format!("the host serves version {VERSION}")) };
    }
    if name.package == "wasi:http" {
        return missing("this version of the host does not serve HTTP to plugins yet");
    }
    if !WASI.contains(&name.package) {
        return missing("no such package is served");
    }
    if name.version.is_some_and(|version| version.starts_with("0.2.")) {
        return Ok(());
    }
    missing("the host serves WASI 0.2; build for `wasm32-wasip2`")
}

/// The interfaces that a plugin may export, for errors.
fn served() -> String {
    Export::all().map(Export::name).collect::<Vec<_>>().join(", ")
}

/// `package:name/interface@version`.
struct Name<'a> {
    text: &'a str,
    package: &'a str,
    interface: &'a str,
    version: Option<&'a str>,
}

impl<'a> Name<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (path, version) = match text.split_once('@') {
            Some((path, version)) => (path, Some(version)),
            None => (text, None),
        };
        let (package, interface) = path.split_once('/')?;
        package.contains(':').then_some(Self { text, package, interface, version })
    }

    /// Whether the version is one of `0.1.n`, without a pre-release: these look each other up.
    fn fits(&self) -> bool {
        let patch = self.version.and_then(|version| version.strip_prefix("0.1."));
        patch.is_some_and(|patch| !patch.is_empty() && patch.bytes().all(|byte| byte.is_ascii_digit()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_fit_within_0_1() {
        let fits = |text: &str| Name::parse(text).is_some_and(|name| name.fits());
        assert!(fits("mainstay:plugin/tools@0.1.0"));
        assert!(fits("mainstay:plugin/tools@0.1.17"));
        for other in ["", "@0.2.0", "@1.0.0", "@0.1", "@0.1.0-rc.1", "@0.1."] {
            assert!(!fits(&format!("mainstay:plugin/tools{other}")), "{other}");
        }
    }

    #[test]
    fn the_lists_match_the_wit_folder() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../wit");
        let worlds = std::fs::read_to_string(format!("{folder}/worlds.wit")).unwrap();
        let named = |word: &str| -> std::collections::BTreeSet<String> {
            let lines = worlds.lines().filter_map(|line| line.trim().strip_prefix(word)?.strip_suffix(';'));
            lines.map(str::to_owned).collect()
        };
        assert_eq!(named("import "), IMPORTS.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(named("export "), Export::all().map(|export| export.name().to_owned()).collect());
        let package = format!("package {PACKAGE}@{VERSION};");
        assert!(worlds.starts_with(&package), "{package}");
    }

    #[test]
    fn imports_that_the_host_lacks_are_named() {
        for good in ["mainstay:plugin/log@0.1.0", "mainstay:plugin/items@0.1.3", "wasi:io/streams@0.2.6"] {
            assert!(check_import(good).is_ok(), "{good}");
        }
        for (bad, why) in [
            ("mainstay:plugin/tools@0.1.0", "newer host"),
            ("mainstay:plugin/log@0.2.0", "serves version 0.1.0"),
            ("wasi:http/types@0.2.0", "HTTP"),
            ("wasi:io/streams@0.3.0", "WASI 0.2"),
            ("acme:db/query@1.0.0", "no such package"),
            ("run", "no interface"),
        ] {
            let error = check_import(bad).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains(bad), "{error}");
        }
    }
}
