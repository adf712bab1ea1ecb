//! Both sides as files of JSON values, and how references find their way between them.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use serde_json::Value;
use ucp_specs::Release;

/// The files of a contract by path, separated by `/`.
pub(crate) type Tree = BTreeMap<String, Value>;

/// Our files, as embedded.
pub(crate) fn ours(release: &Release) -> Result<Tree, Box<dyn Error>> {
    let mut tree = Tree::new();
    for file in release.files {
        let value =
            serde_yaml::from_str(file.text).map_err(|error| format!("{}: {error}", file.path))?;
        tree.insert(file.path.to_owned(), value);
    }
    Ok(tree)
}

/// The published files of a release's folder: those of `source/`, where there is one.
///
/// OpenRPC documents describe other transports than REST and are left out, as are the schemas of
/// those transports' messages.
pub(crate) fn published(folder: &Path) -> Result<Tree, Box<dyn Error>> {
    let source = folder.join("source");
    let root = if source.is_dir() {
        source.as_path()
    } else {
        folder
    };
    let mut tree = Tree::new();
    read(root, "", &mut tree)?;
    if tree.is_empty() {
        return Err(format!("no JSON files below {}", root.display()).into());
    }
    Ok(tree)
}

fn read(folder: &Path, prefix: &str, tree: &mut Tree) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            read(&entry.path(), &format!("{path}/"), tree)?;
        } else if path.ends_with(".json") && !is_of_another_transport(&path) {
            let text = fs::read_to_string(entry.path())?;
            let value = serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))?;
            tree.insert(path, value);
        }
    }
    Ok(())
}

/// `transports/` holds what those transports wrap around messages, and the settings of the embedded
/// one, which profiles and responses carry.
fn is_of_another_transport(path: &str) -> bool {
    let is_message = path.contains("transports/") && !path.ends_with("/embedded_config.json");
    path.ends_with(".openrpc.json") || is_message
}

/// A value and where it stands.
#[derive(Clone)]
pub(crate) struct Node<'a> {
    pub(crate) file: &'a str,
    pub(crate) pointer: String,
    pub(crate) value: &'a Value,
}

impl<'a> Node<'a> {
    /// A file as a whole.
    pub(crate) fn root(tree: &'a Tree, file: &str) -> Option<Self> {
        let (file, value) = tree.get_key_value(file)?;
        Some(Self {
            file,
            pointer: String::new(),
            value,
        })
    }

    /// The member `key`, or the item at that index.
    pub(crate) fn child(&self, key: &str) -> Option<Self> {
        let value = match self.value {
            Value::Array(items) => items.get(key.parse::<usize>().ok()?)?,
            value => value.get(key)?,
        };
        Some(Self {
            file: self.file,
            pointer: self.pointer_to(key),
            value,
        })
    }

    fn pointer_to(&self, key: &str) -> String {
        format!(
            "{}/{}",
            self.pointer,
            key.replace('~', "~0").replace('/', "~1")
        )
    }

    /// `file#pointer` of this value.
    pub(crate) fn at(&self) -> String {
        format!("{}#{}", self.file, self.pointer)
    }

    /// `file#pointer` of a member, which need not exist.
    pub(crate) fn at_child(&self, key: &str) -> String {
        format!("{}#{}", self.file, self.pointer_to(key))
    }

    /// The node's identity: where its value stays in memory.
    pub(crate) fn id(&self) -> *const Value {
        self.value
    }

    pub(crate) fn is_ref(&self) -> bool {
        self.value.get("$ref").is_some()
    }

    /// What the `$ref` of this node names, or else the node itself.
    pub(crate) fn target(&self, tree: &'a Tree) -> Option<Self> {
        let Some(target) = self.value.get("$ref") else {
            return Some(self.clone());
        };
        let target = target.as_str()?;
        let (path, pointer) = target.split_once('#').unwrap_or((target, ""));
        let root = match path {
            "" => Self::root(tree, self.file)?,
            path => Self::root(tree, &join(self.file, path)?)?,
        };
        if pointer.is_empty() {
            return Some(root);
        }
        let mut tokens = pointer.strip_prefix('/')?.split('/');
        tokens.try_fold(root, |node, token| node.child(&unescape(token)))
    }

    /// The name of a type: the key of a definition, or else the stem of the file.
    pub(crate) fn name(&self) -> String {
        match self.pointer.rsplit_once('/') {
            Some((_, token)) => unescape(token),
            None => stem(self.file).to_owned(),
        }
    }
}

fn unescape(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// The name of a file, the same on both sides.
pub(crate) fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.split_once('.').map_or(name, |(stem, _)| stem) {
        "openapi" if path.contains("tokenization") => "tokenization",
        "profile_schema" => "profile",
        stem => stem,
    }
}

fn join(file: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in relative.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
