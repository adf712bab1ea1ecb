//! Stage `source`: loads files as they are referred to, and resolves `$ref`.
//!
//! A place in the contract is keyed by file and JSON pointer. `#` means the file it stands in, also
//! when that file was reached from another (JSON Schema 2020-12 section 8.2), and `$id` plays no
//! part: published copies carry the `$id` of another copy.
//!
//! All that later stages read is loaded, and every reference resolved, before they begin.

use crate::diagnostics::{Argument, Code, Diagnostic, Diagnostics};
use crate::parse::parse;
use crate::tree::{At, Place, Tree};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// A file of the contract, by the order of loading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FileId(usize);

/// Where files come from. Paths are `/`-separated; those of a shipped release begin with its name in
/// angle brackets, all others are relative to a folder of the machine.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    pub(crate) disk: PathBuf,
    pub(crate) shipped: Option<&'static ucp_specs::Release>,
}

impl Files {
    /// The path of a shipped file inside of its release.
    fn inside<'p>(&self, path: &'p str) -> Option<(&'static ucp_specs::Release, &'p str)> {
        let release = self.shipped?;
        let path = path
            .strip_prefix('<')?
            .strip_prefix(release.version)?
            .strip_prefix('>')?;
        Some((release, path.trim_start_matches('/')))
    }

    fn read(&self, path: &str) -> Result<String, String> {
        match self.inside(path) {
            Some((release, path)) => release
                .file(path)
                .map(|file| file.text.to_owned())
                .ok_or_else(|| format!("release {} has no such file", release.version)),
            None => {
                std::fs::read_to_string(self.disk.join(path)).map_err(|error| error.to_string())
            }
        }
    }

    /// The data files of a directory, sorted; an unreadable directory has none.
    fn list(&self, directory: &str) -> Vec<String> {
        let mut found: Vec<String> = match self.inside(directory) {
            Some((release, inside)) => {
                let files = release
                    .files
                    .iter()
                    .filter(|file| parent(file.path) == inside);
                files.map(|file| shipped_path(release, file.path)).collect()
            }
            None => std::fs::read_dir(self.disk.join(directory))
                .into_iter()
                .flatten()
                .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
                .map(|name| join(directory, &name))
                .collect(),
        };
        found.retain(|path| is_data(path));
        found.sort();
        found
    }

    /// Where a schema of the published host is in a shipped release, which is cut otherwise: in a
    /// file of the same name, or a definition of that name.
    fn published(&self, path: &str) -> Option<(String, String)> {
        let release = self.shipped?;
        let stem = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            name.split('.').next().unwrap_or(name).to_owned()
        };
        let wanted = stem(path);
        if let Some(file) = release.files.iter().find(|file| stem(file.path) == wanted) {
            return Some((shipped_path(release, file.path), String::new()));
        }
        let defines = |file: &&ucp_specs::File| {
            let mut tree = Tree::default();
            file.text.contains(&wanted)
                && parse(file.path, file.text, &mut tree)
                    .is_ok_and(|root| tree.at(root).pointed(&format!("/$defs/{wanted}")).is_some())
        };
        let file = release.files.iter().find(defines)?;
        Some((shipped_path(release, file.path), format!("/$defs/{wanted}")))
    }
}

/// The path of a shipped file.
pub(crate) fn shipped_path(release: &ucp_specs::Release, path: &str) -> String {
    format!("<{}>/{path}", release.version)
}

fn is_data(path: &str) -> bool {
    [".json", ".yaml", ".yml"]
        .iter()
        .any(|ending| path.ends_with(ending))
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Joins a relative path to a directory and takes out `.` and `..`.
fn join(directory: &str, path: &str) -> String {
    let absolute = path.starts_with('/') || directory.starts_with('/') && !directory.is_empty();
    let mut steps: Vec<&str> = Vec::new();
    let base = if path.starts_with('/') { "" } else { directory };
    for step in base.split('/').chain(path.split('/')) {
        match step {
            "" | "." => {}
            ".." if steps.last().is_some_and(|last| *last != "..") => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    let joined = steps.join("/");
    if absolute {
        format!("/{joined}")
    } else {
        joined
    }
}

struct File {
    path: String,
    text: String,
    root: Place,
    argument: Argument,
}

/// The loaded files.
pub(crate) struct Source {
    files: Files,
    loaded: Vec<File>,
    by_path: BTreeMap<String, Option<FileId>>,
    tree: Tree,
    /// What the `$ref` of an object leads to.
    targets: FxHashMap<Place, Place>,
    /// What references led to, by the file they stand in.
    resolved: FxHashMap<(FileId, String), Place>,
    /// The places below which every reference is resolved.
    followed: FxHashSet<Place>,
    /// The texts of files that may be the ones that options name.
    texts: BTreeMap<String, Option<String>>,
    /// The folder that absolute `https://ucp.dev/…` references are relative to.
    root: String,
}

impl Source {
    pub(crate) fn new(files: Files) -> Self {
        Self {
            files,
            loaded: Vec::new(),
            by_path: BTreeMap::new(),
            tree: Tree::default(),
            targets: FxHashMap::default(),
            resolved: FxHashMap::default(),
            followed: FxHashSet::default(),
            texts: BTreeMap::new(),
            root: String::new(),
        }
    }

    /// Loads the file that everything starts from.
    pub(crate) fn load_entry(
        &mut self,
        path: &str,
        diagnostics: &mut Diagnostics,
    ) -> Option<FileId> {
        // The folder above the one that holds `schemas`, which is what the published host serves.
        let mut folder = parent(path);
        while !folder.is_empty() && self.files.list(&join(folder, "schemas")).is_empty() {
            folder = parent(folder);
        }
        self.root = folder.to_owned();
        let hint = "name an OpenAPI document, JSON or YAML";
        self.load(&join("", path), Argument::Contract, diagnostics)
            .unwrap_or_else(|message| {
                diagnostics.push(missing(path, &message, Argument::Contract, Some(hint)));
                None
            })
    }

    /// Loads a file that an option names.
    pub(crate) fn load_option(
        &mut self,
        path: &str,
        argument: Argument,
        diagnostics: &mut Diagnostics,
    ) -> Option<FileId> {
        self.load(&join("", path), argument, diagnostics)
            .unwrap_or_else(|message| {
                diagnostics.push(missing(path, &message, argument, None));
                None
            })
    }

    /// Every data file in the folders of the files loaded so far and in `extensions` beside them,
    /// whose root names it as `wanted` accepts. All names that it accepts are or end with the label
    /// `last`; where that is empty, any may be.
    pub(crate) fn find_named(
        &mut self,
        argument: Argument,
        last: &str,
        wanted: impl Fn(&str) -> bool,
    ) -> Vec<FileId> {
        let mut folders: BTreeSet<String> = BTreeSet::new();
        for file in &self.loaded {
            let folder = parent(&file.path);
            if folders.insert(folder.to_owned()) {
                // Types lie in a folder below those of what uses them.
                folders.insert(parent(folder).to_owned());
                folders.insert(join(folder, "extensions"));
            }
        }
        let paths: Vec<String> = folders
            .iter()
            .flat_map(|folder| self.files.list(folder))
            .collect();
        let mut found = Vec::new();
        for path in paths {
            let file = match self.by_path.get(&path) {
                Some(file) => *file,
                None => self.named_by(&path, argument, last, &wanted),
            };
            found.extend(file.filter(|file| self.named(*file).is_some_and(&wanted)));
        }
        found
    }

    /// Loads a file that nothing referred to so far, if its name is wanted. Otherwise it is none of our
    /// business: a broken one is passed over.
    fn named_by(
        &mut self,
        path: &str,
        argument: Argument,
        last: &str,
        wanted: impl Fn(&str) -> bool,
    ) -> Option<FileId> {
        if !self.texts.contains_key(path) {
            self.texts
                .insert(path.to_owned(), self.files.read(path).ok());
        }
        let text = self.texts.get(path)?.as_deref()?;
        // JSON may spell any character as an escape.
        if !mentions(text, last) && !text.contains("\\u") {
            return None;
        }
        let root = parse(path, text, &mut self.tree).ok()?;
        if !self.at(root).text("name").is_some_and(wanted) {
            self.tree.truncate(root);
            return None;
        }
        let text = self.texts.remove(path).flatten()?;
        Some(self.add(path, text, root, argument))
    }

    fn add(&mut self, path: &str, text: String, root: Place, argument: Argument) -> FileId {
        let id = FileId(self.loaded.len());
        self.loaded.push(File {
            path: path.to_owned(),
            text,
            root,
            argument,
        });
        self.by_path.insert(path.to_owned(), Some(id));
        id
    }

    /// `Err` says why the file cannot be read; `Ok(None)` that this was reported before, or now that
    /// it is neither JSON nor YAML.
    fn load(
        &mut self,
        path: &str,
        argument: Argument,
        diagnostics: &mut Diagnostics,
    ) -> Result<Option<FileId>, String> {
        if let Some(known) = self.by_path.get(path) {
            return Ok(*known);
        }
        self.by_path.insert(path.to_owned(), None);
        let text = match self.texts.remove(path).flatten() {
            Some(text) => text,
            None => self.files.read(path)?,
        };
        match parse(path, &text, &mut self.tree) {
            Ok(root) => Ok(Some(self.add(path, text, root, argument))),
            Err((message, position)) => {
                diagnostics.push(Diagnostic {
                    code: Code::Syntax,
                    message,
                    file: path.to_owned(),
                    pointer: String::new(),
                    position,
                    hint: None,
                    argument,
                });
                Ok(None)
            }
        }
    }

    /// What a `$ref` at `from` leads to, loading its file when that is new.
    fn resolve(
        &mut self,
        from: Place,
        reference: &str,
        diagnostics: &mut Diagnostics,
    ) -> Option<Place> {
        let key = (self.file(from), reference.to_owned());
        if let Some(known) = self.resolved.get(&key) {
            return Some(*known);
        }
        let found = self.lead(from, reference, diagnostics)?;
        self.resolved.insert(key, found);
        Some(found)
    }

    fn lead(
        &mut self,
        from: Place,
        reference: &str,
        diagnostics: &mut Diagnostics,
    ) -> Option<Place> {
        let (file, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        if file.contains("://") && published(file).is_none() {
            let message = format!("`$ref: {reference}` leads to another host");
            let hint = "nothing is fetched: refer to a file beside this one, or to the contract's own schemas by https://ucp.dev/schemas/…";
            diagnostics.at(
                self,
                from,
                Code::RefNotFound,
                message,
                Some(hint.to_owned()),
            );
            return None;
        }
        let mut pointer = percent_decoded(pointer);
        let target = if file.is_empty() {
            self.file(from)
        } else {
            let path = match published(file) {
                Some(path) => match self.files.published(path) {
                    Some((path, prefix)) => {
                        pointer.insert_str(0, &prefix);
                        path
                    }
                    None => join(&self.root, path),
                },
                None => join(parent(self.file_name(from)), file),
            };
            match self.load(&path, self.argument(from), diagnostics) {
                Ok(file) => file?,
                Err(message) => {
                    let message = format!(
                        "`$ref: {reference}` leads to a file that cannot be read: {path}: {message}"
                    );
                    let hint = "references are resolved relative to the file they stand in; the contract's own schemas can be named by https://ucp.dev/schemas/…";
                    diagnostics.at(
                        self,
                        from,
                        Code::RefNotFound,
                        message,
                        Some(hint.to_owned()),
                    );
                    return None;
                }
            }
        };
        let root = self.at(self.root(target));
        match root.walk(&pointer) {
            Ok(found) => Some(found.place),
            Err(last) => {
                let name = self.file_name(root.place);
                let message =
                    format!("`$ref: {reference}` leads nowhere: {name} has nothing at {pointer}");
                // What stands where the pointer stops making sense.
                let mut nearest = Some(last).filter(|_| pointer.starts_with('/'));
                while let Some(at) = nearest.filter(|at| !at.is_object()) {
                    nearest = at.parent();
                }
                let hint = nearest.map_or_else(
                    || "a pointer starts with `/`".to_owned(),
                    |at| {
                        let keys: Vec<&str> = at.members().map(|(key, _)| key).take(12).collect();
                        format!("{name}#{} has {}", at.pointer(), keys.join(", "))
                    },
                );
                diagnostics.at(self, from, Code::RefNotFound, message, Some(hint));
                None
            }
        }
    }

    /// Resolves every reference below a place and below what those lead to, loading their files.
    pub(crate) fn load_all(&mut self, place: Place, diagnostics: &mut Diagnostics) {
        let mut open = vec![place];
        while let Some(place) = open.pop() {
            if self.is_followed(place) {
                continue;
            }
            let references: Vec<(Place, String)> = self
                .at(place)
                .below()
                .filter(|at| at.name() == Some("$ref"))
                .filter_map(|at| Some((at.parent()?.place, at.as_str()?.to_owned())))
                .collect();
            self.followed.insert(place);
            for (from, reference) in references {
                if let Some(target) = self.resolve(from, &reference, diagnostics) {
                    self.targets.insert(from, target);
                    open.push(target);
                }
            }
        }
    }

    /// Whether what is below a place was followed with it or with what is around it.
    fn is_followed(&self, place: Place) -> bool {
        let mut around = Some(self.at(place));
        while let Some(at) = around {
            if self.followed.contains(&at.place) {
                return true;
            }
            around = at.parent();
        }
        false
    }

    /// What the `$ref` of an object leads to. It was said when that is nowhere.
    pub(crate) fn target(&self, place: Place) -> Option<Place> {
        self.targets.get(&place).copied()
    }

    /// The value at a place.
    pub(crate) fn at(&self, place: Place) -> At<'_> {
        self.tree.at(place)
    }

    /// The whole of a file.
    pub(crate) fn root(&self, file: FileId) -> Place {
        self.loaded
            .get(file.0)
            .map_or_else(|| self.tree.next(), |file| file.root)
    }

    /// The file that a place is in.
    pub(crate) fn file(&self, place: Place) -> FileId {
        let behind = self.loaded.partition_point(|file| file.root <= place);
        FileId(behind.saturating_sub(1))
    }

    fn loaded(&self, place: Place) -> Option<&File> {
        self.loaded.get(self.file(place).0)
    }

    /// The root member `name` by which capability documents are known.
    pub(crate) fn named(&self, file: FileId) -> Option<&str> {
        self.at(self.root(file)).text("name")
    }

    /// The file's path, relative to the source's root.
    pub(crate) fn file_name(&self, place: Place) -> &str {
        self.loaded(place).map_or("", |file| &file.path)
    }

    /// The file's name without folders and without its ending.
    pub(crate) fn stem(&self, place: Place) -> &str {
        let path = self.file_name(place);
        let name = path.rsplit('/').next().unwrap_or(path);
        name.split('.').next().unwrap_or(name)
    }

    pub(crate) fn argument(&self, place: Place) -> Argument {
        self.loaded(place)
            .map_or(Argument::Contract, |file| file.argument)
    }

    /// The line and column of a place: the file is read again by a parser that keeps them.
    pub(crate) fn position(&self, place: Place) -> Option<(u64, u64)> {
        crate::position::of(&self.loaded(place)?.text, &self.at(place).pointer())
    }

    /// The files on disk that were read, absolute when the root is.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let disk = self
            .loaded
            .iter()
            .filter(|file| self.files.inside(&file.path).is_none());
        disk.map(|file| self.files.disk.join(&file.path)).collect()
    }
}

/// Whether a word stands in a text with nothing of a name behind it.
fn mentions(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let behind = text.as_bytes().get(at + word.len());
        word.is_empty() || !behind.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    })
}

fn missing(path: &str, message: &str, argument: Argument, hint: Option<&str>) -> Diagnostic {
    Diagnostic {
        code: Code::FileUnreadable,
        message: format!("cannot read {path}: {message}"),
        file: path.to_owned(),
        pointer: String::new(),
        position: None,
        hint: hint.map(ToOwned::to_owned),
        argument,
    }
}

/// The path behind the published host, without the release's date: `schemas/shopping/cart.json`.
fn published(reference: &str) -> Option<&str> {
    let path = reference.strip_prefix("https://ucp.dev/")?;
    let (first, rest) = path.split_once('/')?;
    Some(
        if first.starts_with(|c: char| c.is_ascii_digit()) || first == "draft" {
            rest
        } else {
            path
        },
    )
}

/// A JSON pointer in a URI fragment is percent-encoded (RFC 6901 section 6). What is not an encoding
/// of UTF-8 stays as it is.
fn percent_decoded(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let decoded = digits
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(decoded.unwrap_or(*first));
        rest = match decoded {
            Some(_) => after.get(2..).unwrap_or_default(),
            None => after,
        };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| fragment.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_paths() {
        assert_eq!(join("a/b", "../c.json"), "a/c.json");
        assert_eq!(join("", "./c.json"), "c.json");
        assert_eq!(join("/x/y", "../../z.json"), "/z.json");
        assert_eq!(join("a", "../../z.json"), "../z.json");
        assert_eq!(join("a", "/z.json"), "/z.json");
    }

    #[test]
    fn maps_published_addresses_to_the_root() {
        assert_eq!(
            published("https://ucp.dev/schemas/ucp.json"),
            Some("schemas/ucp.json")
        );
        assert_eq!(
            published("https://ucp.dev/2026-04-08/schemas/ucp.json"),
            Some("schemas/ucp.json")
        );
        assert_eq!(published("ucp.json"), None);
    }
}
