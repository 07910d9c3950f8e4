//! Lists the schemes of the user's own: `BACKWATER_MINE` is a list of their crates' directories, as `PATH` is one. Each
//! crate becomes a module with the name of its directory. Without the variable these are the templates, so that tests
//! compile and run them.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=BACKWATER_MINE");
    let directories = match env::var_os("BACKWATER_MINE") {
        Some(listed) => env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty()).collect(),
        None => templates(),
    };
    let (mut modules, mut schemes) = (String::new(), String::new());
    for directory in directories {
        let name = directory.file_name().expect("a directory has a name").to_string_lossy().into_owned();
        let file = directory.join("src").join("lib.rs");
        println!("cargo:rerun-if-changed={}", directory.display());
        writeln!(modules, "#[allow(missing_docs, unreachable_pub)]\n#[path = {file:?}]\nmod {name};")
            .expect("text grows");
        write!(schemes, "{name}::scheme(), ").expect("text grows");
    }
    let code = format!("{modules}\nfn schemes() -> Vec<backwater::Scheme> {{\n    vec![{schemes}]\n}}\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("schemes.rs");
    fs::write(&out, code).unwrap_or_else(|error| panic!("{}: {error}", out.display()));
}

/// Directories of the templates, in the order of their names.
fn templates() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/backwater/mine/templates");
    let entries = fs::read_dir(&root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.expect("it is listed").path()).collect();
    found.sort();
    found
}
