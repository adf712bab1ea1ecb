//! Generates the same contract with progenitor and with this generator, on the same machine in one
//! run, compiles what came out, and prints both columns.
//!
//! `cargo run --release -- SHARED` for the figures of a release build; `cargo run -- SHARED` for
//! those at opt-level 0. `SHARED` is the folder of shared data.

mod bundle;

use cpu_time::ProcessTime;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use ucp_codegen::{Builder, Contract, Options, expand};

const OFFICIAL: [&str; 4] = ["discount", "fulfillment", "buyer_consent", "ap2_mandate"];

/// The median of several runs, in milliseconds of CPU.
fn median(runs: usize, mut run: impl FnMut()) -> f64 {
    run();
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let start = ProcessTime::now();
            run();
            start.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let shared = PathBuf::from(std::env::args().nth(1).expect("usage: ucp-peers SHARED"))
        .canonicalize()
        .expect("the folder of shared data");
    let contracts = shared.join("contract");
    let published = contracts.join("2026-04-08/source/services/shopping/rest.openapi.json");
    let draft = contracts.join("draft-2026-08-22/source/services/shopping/rest.openapi.json");
    let profile = if cfg!(debug_assertions) {
        "opt-level 0"
    } else {
        "release build"
    };

    // Progenitor reads the bundled document, which is parsed once, outside of what is measured.
    let bundled = bundle::bundle(&published);
    let spec: openapiv3::OpenAPI =
        serde_json::from_value(bundled).expect("a document of OpenAPI 3.0");
    let theirs_tokens = || {
        progenitor_impl::Generator::default()
            .generate_tokens(&spec)
            .expect("progenitor generates")
    };
    let theirs_text = || prettyplease_2::unparse(&syn_2::parse2(theirs_tokens()).expect("Rust"));

    let file = |path: &Path, extensions: &[&str]| {
        let mut options = Options::new(Contract::File(path.to_path_buf()));
        options.version = Some("2026-08-22".to_owned());
        options.extensions = extensions.iter().map(ToString::to_string).collect();
        options
    };
    let mut shipped = Options::new(Contract::Release("2026-04-08".to_owned()));
    shipped.extensions = OFFICIAL.map(str::to_owned).to_vec();
    let ours = file(&published, &OFFICIAL);
    let ours_draft = file(&draft, &["*"]);
    let tokens = |options: &Options| {
        drop(expand(options, Path::new("")).unwrap_or_else(|error| panic!("{error}")))
    };
    let text = |options: &Options| {
        Builder::with_options(options.clone())
            .source()
            .unwrap_or_else(|error| panic!("{error}"))
    };

    let tenfold = std::env::temp_dir().join("ucp-peers-tenfold");
    let ours_tenfold = file(
        &tenfold_contract(&contracts.join("draft-2026-08-22/source"), &tenfold),
        &[],
    );

    println!("## Generation, CPU, median of runs ({profile})\n");
    println!("| what | progenitor 0.15 | ours | ratio | bar |\n|---|--:|--:|--:|--:|");
    let (a, b) = (
        median(11, || drop(theirs_tokens())),
        median(11, || tokens(&ours)),
    );
    println!("| tokens | {a:.1} ms | {b:.1} ms | {:.2} | 0.6 |", b / a);
    let ours_tokens = b;
    let (a, b) = (
        median(11, || drop(theirs_text())),
        median(11, || drop(text(&ours))),
    );
    println!(
        "| formatted text | {a:.1} ms | {b:.1} ms | {:.2} | 0.75 |",
        b / a
    );
    let yaml = median(11, || tokens(&shipped));
    println!(
        "| tokens, `release:` (our YAML) to the JSON path | | {yaml:.1} ms | {:.2} | 1.5 |",
        yaml / ours_tokens
    );
    let plain = median(11, || tokens(&file(&draft, &[])));
    let all = median(11, || tokens(&ours_draft));
    println!(
        "| tokens, the draft with all its extensions to 2026-04-08 | | {all:.1} ms | {:.2} | 1.7 |",
        all / ours_tokens
    );
    let ten = median(5, || tokens(&ours_tenfold));
    println!(
        "| tokens, ten times the draft to the draft (no extensions) | | {ten:.1} ms | {:.2} | 12 |",
        ten / plain
    );
    fs::remove_dir_all(&tenfold).ok();

    if !cfg!(debug_assertions) {
        compile(
            &theirs_text(),
            &[
                ("without extensions", "0.7", file(&published, &[])),
                ("with all extensions", "1.0", ours),
                ("`operations: [checkout]`", "0.35", {
                    let mut options = file(&published, &[]);
                    options.operations = vec!["checkout".to_owned()];
                    options
                }),
            ],
        );
    }
}

/// Ten copies of a contract in one document, each with types and operations of its own.
fn tenfold_contract(source: &Path, to: &Path) -> PathBuf {
    let rest: serde_json::Value = serde_json::from_str(
        &fs::read_to_string(source.join("services/shopping/rest.openapi.json")).expect("the draft"),
    )
    .expect("JSON");
    let mut document = rest.clone();
    document["paths"] = serde_json::json!({});
    document["components"]["schemas"] = serde_json::json!({});
    document
        .as_object_mut()
        .expect("an object")
        .remove("webhooks");
    for copy in 0..10 {
        copy_tree(
            &source.join("schemas"),
            &to.join(format!("copy{copy}/schemas")),
        );
        let mut text = serde_json::to_string(&rest).expect("JSON");
        text = text
            .replace("../../schemas/", &format!("../../copy{copy}/schemas/"))
            .replace(
                "#/components/schemas/",
                &format!("#/components/schemas/c{copy}_"),
            );
        let mut one: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        for (path, item) in one["paths"].as_object_mut().expect("paths") {
            for (_, operation) in item.as_object_mut().expect("an item") {
                if let Some(id) = operation
                    .get("operationId")
                    .and_then(|id| id.as_str())
                    .map(str::to_owned)
                {
                    operation["operationId"] = format!("{id}_{copy}").into();
                }
            }
            document["paths"][format!("/c{copy}{path}")] = item.take();
        }
        for (name, schema) in one["components"]["schemas"]
            .as_object_mut()
            .expect("schemas")
        {
            document["components"]["schemas"][format!("c{copy}_{name}")] = schema.take();
        }
    }
    let path = to.join("services/shopping/rest.openapi.json");
    fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
    fs::write(&path, document.to_string()).expect("writable");
    path
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("writable");
    for entry in fs::read_dir(from).expect("readable") {
        let path = entry.expect("readable").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy_tree(&path, &target)
        } else {
            fs::copy(&path, &target).map(drop).expect("writable")
        }
    }
}

/// Compiles what was generated: the CPU of `cargo check` for the crate alone, its dependencies built
/// before.
fn compile(theirs: &str, ours: &[(&str, &str, Options)]) {
    let folder = std::env::temp_dir().join("ucp-peers-compile");
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ucp-runtime");
    println!("\n## Compiling, user CPU of `cargo check` for the crate alone, least of three\n");
    println!(
        "| what | lines | seconds | per 1,000 lines | ratio | bar |\n|---|--:|--:|--:|--:|--:|"
    );
    let dependencies = "progenitor-client = \"0.15\"\nreqwest = { version = \"0.13\", default-features = false, features = [\"json\", \"stream\", \"query\"] }\nserde = { version = \"1\", features = [\"derive\"] }\nserde_json = \"1\"\nbytes = \"1\"\nfutures-core = \"0.3\"\nuuid = { version = \"1\", features = [\"serde\"] }\nchrono = { version = \"0.4\", features = [\"serde\"] }\nregress = \"0.11\"\nrand = \"0.9\"\n";
    let base = check(&folder, "theirs", dependencies, theirs);
    row("progenitor 0.15", theirs, base, base, "");
    let dependency = format!("ucp-runtime = {{ path = {runtime:?} }}\n");
    for (name, bar, options) in ours {
        let text = Builder::with_options(options.clone())
            .source()
            .unwrap_or_else(|error| panic!("{error}"));
        let seconds = check(&folder, "ours", &dependency, &text);
        row(&format!("ours, {name}"), &text, seconds, base, bar);
        if *name == "with all extensions" {
            let Contract::File(path) = &options.contract else {
                continue;
            };
            let call = format!(
                "ucp_runtime::include_ucp! {{ contract: {:?}, version: \"2026-08-22\", extensions: {:?} }}\n",
                path.display().to_string(),
                options.extensions
            );
            let macro_seconds = check(&folder, "ours", &dependency, &call);
            println!(
                "| the same by `include_ucp!`, to the checked-in source | 1 | {macro_seconds:.2} | | {:.2} | 1.25 |",
                macro_seconds / seconds
            );
        }
    }
    fs::remove_dir_all(&folder).ok();
}

fn row(name: &str, text: &str, seconds: f64, base: f64, bar: &str) {
    let lines = text.lines().count();
    println!(
        "| {name} | {lines} | {seconds:.2} | {:.3} | {:.2} | {bar} |",
        seconds * 1000.0 / lines as f64,
        seconds / base
    );
}

fn check(folder: &Path, name: &str, dependencies: &str, source: &str) -> f64 {
    let package = folder.join(name);
    fs::create_dir_all(package.join("src")).expect("writable");
    let manifest = format!(
        "[workspace]\n[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[dependencies]\n{dependencies}"
    );
    fs::write(package.join("Cargo.toml"), manifest).expect("writable");
    let library = package.join("src/lib.rs");
    fs::write(&library, source).expect("writable");
    let cargo = || {
        // The shell's `time` counts the children's CPU, whatever else the machine does.
        let script = "TIMEFORMAT=%U; time cargo check --quiet 2>cargo.log";
        let output = Command::new("bash")
            .args(["-c", script])
            .current_dir(&package)
            .env("CARGO_TARGET_DIR", folder.join("target"))
            .env("CARGO_INCREMENTAL", "0")
            .output()
            .expect("bash");
        let log = fs::read_to_string(package.join("cargo.log")).unwrap_or_default();
        assert!(!log.contains("error"), "{name}: {log}");
        String::from_utf8_lossy(&output.stderr)
            .trim()
            .parse::<f64>()
            .unwrap_or(f64::NAN)
    };
    cargo();
    (0..3)
        .map(|_| {
            fs::write(&library, source).expect("writable");
            cargo()
        })
        .fold(f64::INFINITY, f64::min)
}
