//! The pipeline, from options to a model: which document, which operations, which extensions.

use crate::contract::{self, Contract, Operation};
use crate::diagnostics::{Argument, Code, Diagnostics};
use crate::model::{self, Model};
use crate::options::{self, Options};
use crate::schema::{Composition, Graph, Reader, Type, View, alternatives};
use crate::source::{self, FileId, Files, Source};
use crate::tree::{At, Place};
use std::path::Path;

/// Every file that the contract and the chosen extensions refer to.
pub(crate) struct Loaded {
    pub(crate) source: Source,
    entry: FileId,
    release: String,
    extensions: Vec<FileId>,
}

/// The operations that the options ask for.
pub(crate) struct Chosen {
    title: String,
    operations: Vec<Operation>,
    webhooks: Vec<Operation>,
}

/// The types of the chosen operations.
pub(crate) struct Typed {
    graph: Graph,
    contract: model::Contract,
    operations: Vec<model::Bodies>,
    webhooks: Vec<model::Bodies>,
}

/// Runs a stage, and ends the pipeline after it when anything was wrong.
pub(crate) fn stage<T>(run: impl FnOnce(&mut Diagnostics) -> Option<T>) -> Result<T, Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    match run(&mut diagnostics) {
        Some(done) if diagnostics.is_empty() => Ok(done),
        _ => Err(diagnostics),
    }
}

/// Reads everything that the options ask for. `base` is what relative paths are relative to.
pub(crate) fn generate(options: &Options, base: &Path) -> Result<(Model, Source), Diagnostics> {
    stage(|diagnostics| {
        options::check(options, diagnostics);
        let mut loaded = load(options, base, diagnostics)?;
        let chosen = choose(&mut loaded, options, diagnostics);
        let typed = types(&mut loaded, options, chosen, diagnostics);
        Some((model(&loaded, &typed), loaded.source))
    })
}

/// Stage `source`.
pub(crate) fn load(
    options: &Options,
    base: &Path,
    diagnostics: &mut Diagnostics,
) -> Option<Loaded> {
    let (files, entry, release) = locate(options, base, diagnostics)?;
    let mut source = Source::new(files);
    let entry = source.load_entry(&entry, diagnostics)?;
    source.load_all(source.root(entry), diagnostics);
    let extensions = extensions(options, &mut source, diagnostics);
    Some(Loaded {
        source,
        entry,
        release,
        extensions,
    })
}

/// Stage `contract`.
pub(crate) fn choose(
    loaded: &mut Loaded,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Chosen {
    let Contract {
        title,
        operations,
        webhooks,
    } = contract::read(&loaded.source, loaded.entry, diagnostics);
    let operations = select(options, operations, diagnostics);
    check_expose(options, &operations, diagnostics);
    // Who asks for some operations does not ask for what comes unasked.
    let webhooks = if options.operations.is_empty() {
        webhooks
    } else {
        Vec::new()
    };
    Chosen {
        title,
        operations,
        webhooks,
    }
}

/// Stage `schema`.
pub(crate) fn types(
    loaded: &mut Loaded,
    options: &Options,
    chosen: Chosen,
    diagnostics: &mut Diagnostics,
) -> Typed {
    let bases = bases(
        &Reader::new(&loaded.source, diagnostics),
        chosen.operations.iter().chain(&chosen.webhooks),
    );
    let overlays = overlays(&loaded.source, &bases, &loaded.extensions);
    for place in overlays.iter().flat_map(|(_, places)| places) {
        loaded.source.load_all(*place, diagnostics);
    }
    let mut reader = Reader::new(&loaded.source, diagnostics);
    let compositions = compose(&mut reader, overlays);
    let source = &loaded.source;
    let extended: Vec<(FileId, FileId)> = (compositions.iter())
        .flat_map(|of| {
            let base = source.file(of.base);
            let overlays = of.overlays.iter();
            overlays.map(move |overlay| (source.file(*overlay), base))
        })
        .collect();
    reader.set_compositions(compositions);

    let mut successes = chosen.operations.iter().filter_map(Operation::success);
    let failure = match successes.find_map(|place| error_branch(&mut reader, place)) {
        Some(place) => reader.type_of(&[place], &View::Response),
        None => Type::Any,
    };
    let operations = chosen.operations.into_iter().map(|operation| {
        let view = View::Request(operation.verb().into());
        let request = operation.body.map(|place| reader.type_of(&[place], &view));
        let success = operation.success().map_or(Type::Any, |place| {
            let mut branches = reader.branches(place);
            branches.retain(|branch| !reader.is_error(*branch));
            let one = match branches.as_slice() {
                [one] => *one,
                _ => place,
            };
            reader.type_of(&[one], &View::Response)
        });
        let place = operation.success().or(operation.body);
        let capability = place
            .map(|place| capability_of(&reader, place))
            .unwrap_or_default();
        model::Bodies {
            operation,
            request,
            success,
            failure: failure.clone(),
            capability,
        }
    });
    let operations = operations.collect();
    let webhooks = chosen.webhooks.into_iter().filter_map(|operation| {
        let place = operation.body?;
        let success = reader.type_of(&[place], &View::Response);
        let capability = capability_of(&reader, place);
        Some(model::Bodies {
            operation,
            request: None,
            success,
            failure: Type::Any,
            capability,
        })
    });
    let webhooks = webhooks.collect();
    let graph = reader.finish();

    let capabilities = capabilities(loaded, &bases, &extended);
    let contract = model::Contract {
        release: loaded.release.clone(),
        title: chosen.title,
        capabilities,
        managed: managed(options),
        expose: options.expose.clone(),
        tools: options.tools,
    };
    Typed {
        graph,
        contract,
        operations,
        webhooks,
    }
}

/// What the types cover: the bodies' own capabilities, and the extensions with what they extend.
/// `extended` has the file of each overlay and of what it is laid over.
fn capabilities(
    loaded: &Loaded,
    bases: &[Place],
    extended: &[(FileId, FileId)],
) -> Vec<model::Capability> {
    let source = &loaded.source;
    let bases: Vec<FileId> = bases.iter().map(|base| source.file(*base)).collect();
    let files = bases.iter().chain(&loaded.extensions);
    let mut found: Vec<model::Capability> = Vec::new();
    for file in files {
        let Some(name) = source.named(*file) else {
            continue;
        };
        if found.iter().any(|known| known.name == name) {
            continue;
        }
        let of_it = extended.iter().filter(|(overlay, _)| overlay == file);
        let mut extends: Vec<String> = match bases.contains(file) {
            true => Vec::new(),
            false => of_it
                .filter_map(|(_, base)| Some(source.named(*base)?.to_owned()))
                .collect(),
        };
        extends.sort();
        extends.dedup();
        let schema = source.at(source.root(*file));
        // The schemas of January 2026 state one, as an extension of one's own may.
        let version = schema.text("version");
        found.push(model::Capability {
            name: name.to_owned(),
            version: version
                .filter(|version| is_date(version))
                .unwrap_or(&loaded.release)
                .to_owned(),
            extends,
            requires: requires(schema),
        });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// The versions that a schema requires of the protocol and of other capabilities.
fn requires(schema: At<'_>) -> Vec<model::Bound> {
    let Some(requires) = schema.get("requires") else {
        return Vec::new();
    };
    let protocol = requires.get("protocol").map(|range| (None, range));
    let others = requires
        .get("capabilities")
        .into_iter()
        .flat_map(At::members);
    let others = others.map(|(name, range)| (Some(name.to_owned()), range));
    let bound = |(capability, range): (Option<String>, At<'_>)| {
        let text = |name| Some(range.text(name)?.to_owned());
        Some(model::Bound {
            capability,
            min: text("min")?,
            max: text("max"),
        })
    };
    protocol
        .into_iter()
        .chain(others)
        .filter_map(bound)
        .collect()
}

/// Stage `model`.
pub(crate) fn model(loaded: &Loaded, typed: &Typed) -> Model {
    model::build(
        &typed.contract,
        &loaded.source,
        &typed.graph,
        &typed.operations,
        &typed.webhooks,
    )
}

/// The headers that no signature shows, unless they are exposed.
fn managed(options: &Options) -> Vec<String> {
    options::MANAGED
        .iter()
        .map(ToString::to_string)
        .chain(options.managed.iter().cloned())
        .collect()
}

/// Where the files are, which one to start from, and which release it is.
fn locate(
    options: &Options,
    base: &Path,
    diagnostics: &mut Diagnostics,
) -> Option<(Files, String, String)> {
    match &options.contract {
        options::Contract::Release(version) => {
            let Some(release) = ucp_specs::release(version) else {
                let known: Vec<&str> = ucp_specs::RELEASES
                    .iter()
                    .map(|release| release.version)
                    .collect();
                let message = format!("release `{version}` is not shipped with these crates");
                diagnostics.option(
                    Code::Unknown,
                    Argument::Contract,
                    message,
                    Some(format!("shipped are {}", known.join(", "))),
                );
                return None;
            };
            let entry = document(release, &options.document, diagnostics);
            // The draft has no date of its own, and `draft` is no version to show to a merchant.
            let dated = options.version.as_ref().unwrap_or(version);
            if !is_date(version) && !is_date(dated) {
                diagnostics.option(
                    Code::Option,
                    Argument::Contract,
                    format!("release `{version}` is not a version of the protocol"),
                    Some("say which one it is: `version: \"2026-08-22\"`".to_owned()),
                );
                return None;
            }
            let files = Files {
                disk: base.to_path_buf(),
                shipped: Some(release),
            };
            Some((files, source::shipped_path(release, entry?), dated.clone()))
        }
        options::Contract::File(path) => {
            let entry = path.to_string_lossy().replace('\\', "/");
            let full = base.join(path);
            let folder = full
                .ancestors()
                .filter_map(|folder| folder.file_name()?.to_str())
                .find(|name| is_date(name));
            let Some(release) = options.version.clone().or(folder.map(ToOwned::to_owned)) else {
                diagnostics.option(
                    Code::Option,
                    Argument::Contract,
                    format!("no folder above {entry} is named like a release"),
                    Some("say which release it is: `version: \"2026-04-08\"`".to_owned()),
                );
                return None;
            };
            Some((
                Files {
                    disk: base.to_path_buf(),
                    shipped: None,
                },
                entry,
                release,
            ))
        }
    }
}

/// The file of a shipped release that holds a document.
fn document(
    release: &ucp_specs::Release,
    name: &str,
    diagnostics: &mut Diagnostics,
) -> Option<&'static str> {
    let permalink = release.file("permalink.yaml").map(|file| file.path);
    let documents: Vec<(&str, &'static str)> = [
        ("rest", Some(release.rest)),
        ("tokenization", Some(release.tokenization)),
        ("permalink", permalink),
    ]
    .into_iter()
    .filter_map(|(name, path)| Some((name, path?)))
    .collect();
    let found = documents.iter().find(|(other, _)| *other == name);
    if found.is_none() {
        let known: Vec<String> = documents
            .iter()
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        let message = format!(
            "`{name}` is not a document of release `{}`",
            release.version
        );
        diagnostics.option(
            Code::Option,
            Argument::Contract,
            message,
            Some(format!("it has {}", known.join(", "))),
        );
    }
    found.map(|(_, path)| *path)
}

/// Whether a text is a date as releases are named: `2026-04-08`.
fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(index, byte)| {
            if index == 4 || index == 7 {
                byte == b'-'
            } else {
                byte.is_ascii_digit()
            }
        })
}

/// The operations that the options ask for: by `operationId`, or by the first step of their path.
fn select(
    options: &Options,
    operations: Vec<Operation>,
    diagnostics: &mut Diagnostics,
) -> Vec<Operation> {
    if options.operations.is_empty() {
        return operations;
    }
    let matches = |operation: &Operation, word: &str| {
        let group = operation
            .path
            .trim_start_matches('/')
            .split('/')
            .next()
            .unwrap_or_default();
        operation.id == word
            || group
                .strip_prefix(word)
                .is_some_and(|rest| matches!(rest, "" | "s") || rest.starts_with('-'))
    };
    for (index, word) in options.operations.iter().enumerate() {
        if !operations.iter().any(|operation| matches(operation, word)) {
            let known: Vec<&str> = operations
                .iter()
                .map(|operation| operation.id.as_str())
                .collect();
            let message = format!("the contract has no operation `{word}`");
            diagnostics.option(
                Code::Unknown,
                Argument::Operation(index),
                message,
                Some(format!("it has {}", known.join(", "))),
            );
        }
    }
    operations
        .into_iter()
        .filter(|operation| {
            options
                .operations
                .iter()
                .any(|word| matches(operation, word))
        })
        .collect()
}

fn check_expose(options: &Options, operations: &[Operation], diagnostics: &mut Diagnostics) {
    let managed = managed(options);
    for (index, name) in options.expose.iter().enumerate() {
        let declared = operations
            .iter()
            .flat_map(|operation| &operation.parameters)
            .any(|parameter| parameter.name.eq_ignore_ascii_case(name));
        let hint = if managed.iter().any(|other| other.eq_ignore_ascii_case(name)) {
            "it is managed, but no operation of this contract declares it"
        } else {
            "is it misspelt?"
        };
        if !declared {
            let message = format!("no operation declares a header `{name}`");
            diagnostics.option(
                Code::Unknown,
                Argument::Expose(index),
                message,
                Some(hint.to_owned()),
            );
        }
    }
}

/// The files of the extensions that the options name, and what they refer to.
fn extensions(
    options: &Options,
    source: &mut Source,
    diagnostics: &mut Diagnostics,
) -> Vec<FileId> {
    let mut found: Vec<FileId> = Vec::new();
    for (index, word) in options.extensions.iter().enumerate() {
        let argument = Argument::Extension(index);
        let files = if word.contains('/')
            || word.ends_with(".json")
            || word.ends_with(".yaml")
            || word.ends_with(".yml")
        {
            Vec::from_iter(source.load_option(word, argument, diagnostics))
        } else {
            let last = match word.rsplit('.').next() {
                Some(last) if !word.ends_with('*') => last,
                _ => "",
            };
            let files = source.find_named(argument, last, |name| names_extension(name, word));
            // A pattern asks for what there is; a name for something that must be.
            if files.is_empty() && !word.ends_with('*') {
                let message = format!("no extension is called `{word}`");
                let hint = "name one by its last label (`discount`), in full (`dev.ucp.shopping.discount`), or by its file";
                diagnostics.option(Code::Unknown, argument, message, Some(hint.to_owned()));
            }
            files
        };
        found.extend(
            files
                .into_iter()
                .filter(|file| !found.contains(file))
                .collect::<Vec<_>>(),
        );
    }
    for file in &found {
        source.load_all(source.root(*file), diagnostics);
    }
    found
}

fn names_extension(name: &str, word: &str) -> bool {
    match word.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == word || name.rsplit('.').next() == Some(word),
    }
}

/// The schemas of bodies that extensions may compose onto: those of documents with a `name`.
fn bases<'c>(reader: &Reader<'_>, operations: impl Iterator<Item = &'c Operation>) -> Vec<Place> {
    let mut bases: Vec<Place> = Vec::new();
    for place in
        operations.flat_map(|operation| operation.body.into_iter().chain(operation.success()))
    {
        for branch in reader.branches(place) {
            let file = reader.source.file(branch);
            if reader.source.named(file).is_some() && !bases.contains(&branch) {
                bases.push(branch);
            }
        }
    }
    bases
}

/// What may overlay each base: definitions of the extensions, and of the other bases (a cart extends
/// checkout), that are called after it.
fn overlays(source: &Source, bases: &[Place], extensions: &[FileId]) -> Vec<(Place, Vec<Place>)> {
    let mut files: Vec<FileId> = bases.iter().map(|base| source.file(*base)).collect();
    files.extend(extensions);
    files.dedup();
    let overlays = |base: Place| {
        let own = source.file(base);
        let name = source.named(own)?;
        let definition = source.at(base).name();
        let mut overlays = Vec::new();
        for file in files.iter().filter(|file| **file != own) {
            let Some(definitions) = source.at(source.root(*file)).get("$defs") else {
                continue;
            };
            // The full name since 2026-04-08, the plain one before and in the cart's own overlay.
            for key in [Some(name), name.rsplit('.').next()].into_iter().flatten() {
                let Some(named) = definitions.get(key) else {
                    continue;
                };
                // One schema for the capability, one of several, or one for each of its definitions.
                overlays.extend(alternatives(named));
                overlays.extend(definition.and_then(|definition| {
                    let inner = named.get("$defs")?.get(definition)?;
                    Some(inner.place)
                }));
                overlays.push(named.place);
            }
        }
        Some((base, overlays))
    };
    bases.iter().filter_map(|base| overlays(*base)).collect()
}

/// The overlays of each base. An overlay includes its base: that tells overlays of one name apart.
fn compose(reader: &mut Reader<'_>, overlays: Vec<(Place, Vec<Place>)>) -> Vec<Composition> {
    let mut compositions = Vec::new();
    for (base, candidates) in overlays {
        let mut overlays = Vec::new();
        for overlay in candidates {
            if reader.closure(overlay).contains(&base) && !overlays.contains(&overlay) {
                overlays.push(overlay);
            }
        }
        if !overlays.is_empty() {
            compositions.push(Composition { base, overlays });
        }
    }
    compositions
}

fn error_branch(reader: &mut Reader<'_>, place: Place) -> Option<Place> {
    reader
        .branches(place)
        .into_iter()
        .find(|branch| reader.is_error(*branch))
}

/// The capability that an operation belongs to: the name of its body's schema.
fn capability_of(reader: &Reader<'_>, place: Place) -> String {
    let branch = reader.branches(place).into_iter().next();
    let name = branch.and_then(|branch| reader.source.named(reader.source.file(branch)));
    name.unwrap_or_default().to_owned()
}
