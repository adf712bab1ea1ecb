//! What a business publishes about itself at `/.well-known/ucp`, in the shape of any release
//! (overview, "Profile Structure").
//!
//! Reading is lenient, since a profile is all that an agent has to start from: an entry that cannot
//! be used is skipped with a note and costs no other entry, and members that this runtime does not
//! know are kept.

use crate::authority::{self, Unbound};
use crate::map_order;
use crate::wire::path::Segment;
use crate::wire::{self, JsonPath, Map, Note, Value};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

/// A document that is no profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it has no `ucp.version`, so this is not a profile{}", if *.flat { " (a `version` at the root does not count)" } else { "" })]
#[non_exhaustive]
pub struct NotAProfile {
    /// Whether the root has a `version` instead.
    pub flat: bool,
}

/// What says which release a profile is of, and where the profiles of others are. It is read before
/// anything else, so that a shape still to come cannot hide it.
///
/// ```
/// use serde_json::json;
/// use ucp_runtime::profile::Envelope;
///
/// let profile = json!({"ucp": {"version": "2031-01-01", "services": "a shape still to come"}});
/// let envelope = Envelope::read(&profile)?;
/// assert_eq!(envelope.version, "2031-01-01");
/// assert!(envelope.supported_versions.is_empty());
/// # Ok::<(), ucp_runtime::profile::NotAProfile>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Envelope {
    /// The `ucp.version`, for example `2026-04-08`.
    pub version: String,
    /// The URL of a whole profile for each other version that the business speaks.
    pub supported_versions: BTreeMap<String, String>,
    /// What was wrong and lived with.
    pub notes: Vec<Note>,
}

impl Envelope {
    /// Reads `ucp.version` and `ucp.supported_versions`.
    ///
    /// A profile without its `ucp` wrapper is read with a note when it has a dated `version` and
    /// `services`. Where there is a wrapper, what mirrors it at the root does not count.
    ///
    /// # Errors
    ///
    /// [`NotAProfile`] when there is no version.
    pub fn read(document: &Value) -> Result<Self, NotAProfile> {
        let mut notes = Notes::default();
        let ucp = unwrap(document, &mut notes)?;
        let mut envelope = Self::of(ucp, &mut notes);
        envelope.notes = notes.list;
        Ok(envelope)
    }

    fn of(ucp: &Map, notes: &mut Notes) -> Self {
        let version = ucp.get("version").and_then(Value::as_str);
        let mut supported_versions = BTreeMap::new();
        let field = "supported_versions";
        match ucp.get(field) {
            None | Some(Value::Null) => {}
            Some(Value::Object(map)) => {
                for (version, url) in map {
                    match url.as_str() {
                        Some(url) => {
                            supported_versions.insert(version.clone(), url.to_owned());
                        }
                        None => notes.ucp(&[&field, version], "skipped: its URL is not a string"),
                    }
                }
            }
            Some(_) => notes.ucp(&[&field], "ignored: it is not a map"),
        }
        Self {
            version: version.unwrap_or_default().to_owned(),
            supported_versions,
            notes: Vec::new(),
        }
    }
}

/// Finds the members of the wrapper.
fn unwrap<'d>(document: &'d Value, notes: &mut Notes) -> Result<&'d Map, NotAProfile> {
    match document.get("ucp") {
        Some(Value::Object(ucp)) if ucp.get("version").is_some_and(Value::is_string) => Ok(ucp),
        None | Some(Value::Null) => {
            let version = wire::tag(document, "version");
            let services = document.get("services");
            let is_flat = version.is_some_and(|version| date(version).is_some())
                && services.is_some_and(|services| services.is_object());
            match document.as_object() {
                Some(root) if is_flat => {
                    notes.flat = true;
                    notes.root(
                        &[],
                        "the `ucp` wrapper is absent; its members are read from the root",
                    );
                    Ok(root)
                }
                _ => Err(NotAProfile {
                    flat: wire::has(document, "version"),
                }),
            }
        }
        Some(_) => Err(NotAProfile {
            flat: wire::has(document, "version"),
        }),
    }
}

/// A business profile of any release.
///
/// ```
/// use serde_json::json;
/// use ucp_runtime::Profile;
///
/// let profile = Profile::read(json!({
///     "ucp": {
///         "version": "2026-04-08",
///         "services": {"dev.ucp.shopping": [
///             {"version": "2026-04-08", "transport": "rest", "endpoint": "https://shop.example/ucp"},
///         ]},
///         "capabilities": {"dev.ucp.shopping.discount": [{
///             "version": "2026-04-08",
///             "schema": "https://ucp.dev/2026-04-08/schemas/shopping/discount.json",
///             "extends": ["dev.ucp.shopping.checkout", "dev.ucp.shopping.cart"],
///         }]},
///         "payment_handlers": {},
///     },
///     "signing_keys": [{"kid": "k1", "kty": "EC", "crv": "P-256", "x": "…", "y": "…"}],
/// }))?;
/// let discount = &profile.capabilities.get("dev.ucp.shopping.discount")[0];
/// assert_eq!(discount.extends.len(), 2);
/// assert_eq!(profile.keys.with_id("k1").count(), 1);
/// assert!(profile.notes.is_empty());
/// # Ok::<(), ucp_runtime::profile::NotAProfile>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Profile {
    /// The `ucp.version`, for example `2026-04-08`.
    pub version: String,
    /// The URL of a whole profile for each other version that the business speaks.
    pub supported_versions: BTreeMap<String, String>,
    /// The services, one entry for each transport.
    pub services: Registry<Service>,
    /// The capabilities and extensions, one entry for each version.
    pub capabilities: Registry<Capability>,
    /// The payment handlers.
    pub payment_handlers: Registry<PaymentHandler>,
    /// The keys that sign the business's messages.
    pub keys: PublishedKeys,
    /// What was wrong and lived with: what was skipped, and why.
    pub notes: Vec<Note>,
    /// The document as it arrived, with the members that this runtime does not know.
    pub document: Value,
}

impl Profile {
    /// Reads a profile.
    ///
    /// # Errors
    ///
    /// [`NotAProfile`] when the document has no version. All else is noted.
    pub fn read(document: Value) -> Result<Self, NotAProfile> {
        let mut notes = Notes::default();
        let ucp = unwrap(&document, &mut notes)?;
        let envelope = Envelope::of(ucp, &mut notes);
        let release = Shape::of(&envelope.version);

        let services = read_services(ucp, release, &mut notes);
        let capabilities = read_registry(ucp, "capabilities", release, &mut notes);
        let payment_handlers = read_handlers(ucp, &document, release, &mut notes);
        let keys = PublishedKeys::read(&document, release, &mut notes);
        Ok(Self {
            version: envelope.version,
            supported_versions: envelope.supported_versions,
            services,
            capabilities,
            payment_handlers,
            keys,
            notes: notes.list,
            document,
        })
    }
}

/// Entries under reverse-domain names, in the order that `map_order` declares, else in the order of
/// RFC 8785 (in 2026-01-11, where capabilities and handlers are lists, in theirs).
#[derive(Clone, Debug, PartialEq)]
pub struct Registry<T>(Vec<(String, Vec<T>)>);

impl<T> Registry<T> {
    /// The entries under a name; none when it is not listed.
    #[must_use]
    pub fn get(&self, name: &str) -> &[T] {
        let found = self.0.iter().find(|(listed, _)| listed == name);
        found.map_or(&[], |(_, entries)| entries)
    }

    /// The names and their entries, in the declared order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &[T])> {
        (self.0.iter()).map(|(name, entries)| (name.as_str(), entries.as_slice()))
    }

    fn push(&mut self, places: &mut BTreeMap<String, usize>, name: &str, entry: T) {
        let place = *places.entry(name.to_owned()).or_insert_with(|| {
            self.0.push((name.to_owned(), Vec::new()));
            self.0.len() - 1
        });
        if let Some((_, entries)) = self.0.get_mut(place) {
            entries.push(entry);
        }
    }
}

impl<T> Default for Registry<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// What capabilities, services and payment handlers have in common.
trait Entry: Sized {
    fn read(name: &str, members: Map) -> Result<Self, Refusal>;
}

type Refusal = &'static str;

/// A capability at one version, or an extension of others.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Capability {
    /// Its version, where it states one.
    pub version: Option<String>,
    /// The URL of its schema.
    pub schema: Option<String>,
    /// The capabilities that it extends; none for one that stands by itself.
    pub extends: Vec<String>,
    /// Its other members.
    pub other: Map,
    /// Why its `schema` does not bind its name: the capability is then to be treated as absent.
    pub unbound: Option<Unbound>,
}

impl Entry for Capability {
    fn read(name: &str, mut members: Map) -> Result<Self, Refusal> {
        let schema = text(&mut members, "schema", "its schema is not a string")?;
        let extends = match members.remove("extends") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(many)) if !many.is_empty() => {
                let parents = many.into_iter().map(|parent| match parent {
                    Value::String(parent) => Ok(parent),
                    _ => Err("its extends holds what is not a string"),
                });
                parents.collect::<Result<_, _>>()?
            }
            Some(Value::Array(_)) => return Err("its extends is empty"),
            Some(_) => return Err("its extends is neither a string nor a list"),
        };
        Ok(Self {
            version: text(&mut members, "version", "its version is not a string")?,
            unbound: unbound(name, schema.as_deref()),
            schema,
            extends,
            other: members,
        })
    }
}

/// A service over one transport.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Service {
    /// The transport, for example `rest`.
    pub transport: String,
    /// The service's version, where it states one.
    pub version: Option<String>,
    /// Where its requests go; what it must be is checked when it is chosen.
    pub endpoint: Option<String>,
    /// The URL of its schema.
    pub schema: Option<String>,
    /// Its other members.
    pub other: Map,
    /// Why its `schema` does not bind its name: the entry is then to be treated as absent.
    pub unbound: Option<Unbound>,
}

impl Entry for Service {
    fn read(name: &str, mut members: Map) -> Result<Self, Refusal> {
        let transport = text(&mut members, "transport", "its transport is not a string")?;
        let schema = text(&mut members, "schema", "its schema is not a string")?;
        Ok(Self {
            transport: transport.ok_or("it has no transport")?,
            version: text(&mut members, "version", "its version is not a string")?,
            endpoint: text(&mut members, "endpoint", "its endpoint is not a string")?,
            unbound: unbound(name, schema.as_deref()),
            schema,
            other: members,
        })
    }
}

/// A payment handler.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PaymentHandler {
    /// The id by which payment instruments refer to it.
    pub id: String,
    /// Its version, where it states one.
    pub version: Option<String>,
    /// The URL of its schema. Handlers of 2026-01-11 have none: they have a `config_schema`, which
    /// that release puts under no authority.
    pub schema: Option<String>,
    /// Its other members, `config` among them.
    pub other: Map,
    /// Why its `schema` does not bind its name: the handler is then to be treated as absent.
    pub unbound: Option<Unbound>,
}

impl Entry for PaymentHandler {
    fn read(name: &str, mut members: Map) -> Result<Self, Refusal> {
        let schema = text(&mut members, "schema", "its schema is not a string")?;
        let id = text(&mut members, "id", "its id is not a string")?;
        Ok(Self {
            id: id.ok_or("it has no id")?,
            version: text(&mut members, "version", "its version is not a string")?,
            unbound: unbound(name, schema.as_deref()),
            schema,
            other: members,
        })
    }
}

fn text(members: &mut Map, name: &str, refusal: Refusal) -> Result<Option<String>, Refusal> {
    match members.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(refusal),
    }
}

fn unbound(name: &str, schema: Option<&str>) -> Option<Unbound> {
    authority::bind(name, schema?).err()
}

/// Reads a map of lists, or the list of named entries that 2026-01-11 has.
fn read_registry<T: Entry>(
    ucp: &Map,
    field: &'static str,
    release: Shape,
    notes: &mut Notes,
) -> Registry<T> {
    let mut registry = Registry::default();
    let mut places = BTreeMap::new();
    match ucp.get(field) {
        None | Some(Value::Null) => {}
        Some(Value::Array(list)) => {
            if !(release.lists() || list.is_empty()) {
                notes.ucp(&[&field], "a list where this release has a map");
            }
            for (index, entry) in list.iter().enumerate() {
                read_named(entry, &mut registry, &mut places)
                    .unwrap_or_else(|refusal| notes.ucp(&[&field, &index], skipped(refusal)));
            }
        }
        Some(Value::Object(_)) => {
            if release.lists() {
                notes.ucp(&[&field], "a map where this release has a list");
            }
            for (name, entries) in in_order(ucp, field) {
                read_entries(name, entries, &mut registry, &mut places, field, notes);
            }
        }
        Some(_) => notes.ucp(&[&field], "ignored: it is neither a map nor a list"),
    }
    registry
}

/// Reads an entry that carries its own name.
fn read_named<T: Entry>(
    entry: &Value,
    registry: &mut Registry<T>,
    places: &mut BTreeMap<String, usize>,
) -> Result<(), Refusal> {
    let mut members = entry.as_object().ok_or("it is not an object")?.clone();
    let name = text(&mut members, "name", "its name is not a string")?.ok_or("it has no name")?;
    registry.push(places, &name, T::read(&name, members)?);
    Ok(())
}

/// Reads the list of entries under one name.
fn read_entries<T: Entry>(
    name: &str,
    entries: &Value,
    registry: &mut Registry<T>,
    places: &mut BTreeMap<String, usize>,
    field: &'static str,
    notes: &mut Notes,
) {
    let mut read = |entry: &Value| {
        let members = entry.as_object().ok_or("it is not an object")?.clone();
        registry.push(places, name, T::read(name, members)?);
        Ok::<_, Refusal>(())
    };
    match entries {
        Value::Array(list) => {
            for (index, entry) in list.iter().enumerate() {
                if let Err(refusal) = read(entry) {
                    notes.ucp(&[&field, &name, &index], skipped(refusal));
                }
            }
        }
        Value::Object(_) => match read(entries) {
            Ok(()) => notes.ucp(&[&field, &name], "an object where a list is declared"),
            Err(refusal) => notes.ucp(&[&field, &name], skipped(refusal)),
        },
        _ => notes.ucp(&[&field, &name], "skipped: it is not a list"),
    }
}

fn read_services(ucp: &Map, release: Shape, notes: &mut Notes) -> Registry<Service> {
    let field = "services";
    let mut registry = Registry::default();
    let mut places = BTreeMap::new();
    match ucp.get(field) {
        None | Some(Value::Null) => notes.ucp(&[&field], "it is absent"),
        Some(Value::Array(list)) if list.is_empty() => {}
        Some(Value::Object(_)) => {
            for (name, entries) in in_order(ucp, field) {
                match entries {
                    Value::Object(service) if !service.contains_key("transport") => {
                        if !release.lists() {
                            notes.ucp(
                                &[&field, &name],
                                "an object with transports where this release has a list",
                            );
                        }
                        for transport in ["rest", "mcp", "a2a", "embedded"] {
                            let Some(binding) = service.get(transport) else {
                                continue;
                            };
                            match read_transport(name, service, transport, binding) {
                                Ok(None) => {}
                                Ok(Some(entry)) => registry.push(&mut places, name, entry),
                                Err(refusal) => {
                                    notes.ucp(&[&field, &name, &transport], skipped(refusal));
                                }
                            }
                        }
                    }
                    _ => {
                        if release.lists() {
                            notes.ucp(
                                &[&field, &name],
                                "a list where this release has an object with transports",
                            );
                        }
                        read_entries(name, entries, &mut registry, &mut places, field, notes);
                    }
                }
            }
        }
        Some(_) => notes.ucp(&[&field], "ignored: it is not a map"),
    }
    registry
}

/// Reads one transport of a service's object, as 2026-01-11 has it.
fn read_transport(
    name: &str,
    service: &Map,
    transport: &str,
    binding: &Value,
) -> Result<Option<Service>, Refusal> {
    let members = match binding {
        Value::Null => return Ok(None),
        Value::Object(members) => members,
        _ => return Err("it is not an object"),
    };
    let mut members = members.clone();
    members.insert("transport".to_owned(), transport.into());
    for shared in ["version", "spec"] {
        if let Some(value) = service.get(shared) {
            members.entry(shared).or_insert_with(|| value.clone());
        }
    }
    Service::read(name, members).map(Some)
}

fn read_handlers(
    ucp: &Map,
    document: &Value,
    release: Shape,
    notes: &mut Notes,
) -> Registry<PaymentHandler> {
    let field = "payment_handlers";
    let map = ucp.get(field).filter(|map| !map.is_null());
    let list = document
        .get("payment")
        .and_then(|payment| payment.get("handlers"));
    let list = list.filter(|list| !list.is_null());
    let (own, other) = if release.lists() {
        (list, map)
    } else {
        (map, list)
    };
    if own.is_none() {
        match (release.lists(), other.is_some()) {
            (true, false) => {}
            (false, false) => notes.ucp(&[&field], "it is absent"),
            (true, true) => notes.ucp(&[&field], "read though this release has payment.handlers"),
            (false, true) => notes.root(
                &[&"payment", &"handlers"],
                "read though this release has ucp.payment_handlers",
            ),
        }
    }
    let from_list = if release.lists() {
        own.is_some()
    } else {
        own.is_none()
    };
    if !from_list {
        // Where the map stands in for the list, its shape has been noted.
        let newer = if release.lists() {
            Shape::LATEST
        } else {
            release
        };
        return read_registry(ucp, field, newer, notes);
    }
    let mut registry = Registry::default();
    let mut places = BTreeMap::new();
    match list {
        None => {}
        Some(Value::Array(list)) => {
            for (index, entry) in list.iter().enumerate() {
                if let Err(refusal) = read_named(entry, &mut registry, &mut places) {
                    notes.root(&[&"payment", &"handlers", &index], skipped(refusal));
                }
            }
        }
        Some(_) => notes.root(&[&"payment", &"handlers"], "ignored: it is not a list"),
    }
    registry
}

fn in_order<'d>(ucp: &'d Map, field: &str) -> impl Iterator<Item = (&'d str, &'d Value)> {
    let order = ucp.get("map_order").and_then(|order| order.get(field));
    let order = order.and_then(Value::as_array).into_iter().flatten();
    let entries = ucp
        .get(field)
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    map_order::sort(
        entries.map(|(name, value)| (name.as_str(), value)),
        order.filter_map(Value::as_str),
    )
}

fn skipped(refusal: Refusal) -> String {
    format!("skipped: {refusal}")
}

/// The public keys of a profile: `signing_keys` in the releases up to 2026-04-08, `keys` in later
/// ones. The other member is read only where the release's own is absent; the two are never joined,
/// since a key that is missing from its list is a key revoked.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct PublishedKeys {
    /// The member that they come from; `None` when the profile has neither.
    pub member: Option<&'static str>,
    /// The keys, in the order in which they are listed.
    pub keys: Vec<PublishedKey>,
}

/// A public key as it was published (RFC 7517). Whether its type and curve are of use is for the
/// verifier to say: an unknown one costs only the signatures that name it.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct PublishedKey {
    /// The id that a signature's `keyid` names.
    pub kid: String,
    /// The whole JWK.
    pub jwk: Map,
}

/// The members of a JWK that only its owner may have (RFC 7518 sections 6.2.2, 6.3.2 and 6.4.1).
pub(crate) const PRIVATE: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

impl PublishedKeys {
    /// The keys with an id: usually one, more when an id was published twice.
    pub fn with_id(&self, kid: &str) -> impl Iterator<Item = &PublishedKey> {
        self.keys.iter().filter(move |key| key.kid == kid)
    }

    /// The keys of a JWK Set (RFC 7517 section 5) that is no profile: its member `keys`. What cannot
    /// be used as a published key is left out, also a key that shows a private member.
    #[must_use]
    pub fn from_jwk_set(document: &Value) -> Self {
        Self::read(document, Shape::LATEST, &mut Notes::default())
    }

    fn read(document: &Value, release: Shape, notes: &mut Notes) -> Self {
        let (own, other) = match release.has_keys() {
            true => ("keys", "signing_keys"),
            false => ("signing_keys", "keys"),
        };
        let present = |member| document.get(member).filter(|keys| !keys.is_null());
        let (member, value) = match (present(own), present(other)) {
            (Some(value), _) => (own, value),
            (None, Some(value)) => {
                notes.root(
                    &[&other],
                    format!("read since {own}, which this release has, is absent"),
                );
                (other, value)
            }
            (None, None) => return Self::default(),
        };
        let mut keys = Vec::new();
        match value.as_array() {
            None => notes.root(&[&member], "taken for empty: it is not a list"),
            Some(list) => {
                for (index, key) in list.iter().enumerate() {
                    match PublishedKey::read(key) {
                        Ok(key) => keys.push(key),
                        Err(refusal) => notes.root(&[&member, &index], skipped(refusal)),
                    }
                }
            }
        }
        Self {
            member: Some(member),
            keys,
        }
    }
}

impl PublishedKey {
    fn read(key: &Value) -> Result<Self, Refusal> {
        let jwk = key.as_object().ok_or("it is not an object")?;
        if PRIVATE.iter().any(|member| jwk.contains_key(*member)) {
            return Err("it has a private member, so anyone can sign with it");
        }
        let kid = jwk.get("kid").ok_or("it has no kid")?;
        let kid = kid.as_str().ok_or("its kid is not a string")?;
        if !jwk.get("kty").is_some_and(Value::is_string) {
            return Err("it has no kty");
        }
        Ok(Self {
            kid: kid.to_owned(),
            jwk: jwk.clone(),
        })
    }
}

impl fmt::Debug for PublishedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kty = self.jwk.get("kty").and_then(Value::as_str);
        f.debug_struct("PublishedKey")
            .field("kid", &self.kid)
            .field("kty", &kty.unwrap_or_default())
            .finish_non_exhaustive()
    }
}

/// The date of a version: `YYYY-MM-DD` and nothing else.
pub(crate) fn date(version: &str) -> Option<jiff::civil::Date> {
    let has_form = version.len() == 10
        && (version.bytes().enumerate()).all(|(place, byte)| match place {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    has_form.then(|| version.parse().ok()).flatten()
}

/// Orders versions by date; what is no date comes before all dates.
pub(crate) fn by_date(a: &str, b: &str) -> Ordering {
    (date(a).cmp(&date(b))).then_with(|| a.cmp(b))
}

/// What a release says about profiles, by its date. A version that is no date has the latest shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape(Option<jiff::civil::Date>);

impl Shape {
    const LATEST: Self = Self(None);

    pub(crate) fn of(version: &str) -> Self {
        Self(date(version))
    }

    fn until(self, year: i16, month: i8, day: i8) -> bool {
        self.0
            .is_some_and(|date| (date.year(), date.month(), date.day()) <= (year, month, day))
    }

    /// Whether capabilities and handlers are lists, and a service one object.
    pub(crate) fn lists(self) -> bool {
        self.until(2026, 1, 22)
    }

    /// Whether capabilities are matched by name alone, and a business takes older platforms.
    pub(crate) fn matches_by_name(self) -> bool {
        self.until(2026, 1, 23)
    }

    /// Whether webhooks carry a detached JWS instead of an HTTP message signature.
    pub(crate) fn detaches_webhook_signatures(self) -> bool {
        self.until(2026, 1, 23)
    }

    /// Whether keys are published as `keys`.
    pub(crate) fn has_keys(self) -> bool {
        !self.until(2026, 4, 8)
    }

    /// Whether every `dev.ucp.*` entry must be of the profile's own version.
    pub(crate) fn is_snapshot(self) -> bool {
        !self.until(2026, 4, 8)
    }
}

/// Notes with their paths, which depend on whether the wrapper is there.
#[derive(Default)]
struct Notes {
    list: Vec<Note>,
    flat: bool,
}

/// A step of a note's path.
trait Step {
    fn segment(&self) -> Segment;
}

impl Step for &str {
    fn segment(&self) -> Segment {
        Segment::Member(Cow::Owned((*self).to_owned()))
    }
}

impl Step for String {
    fn segment(&self) -> Segment {
        self.as_str().segment()
    }
}

impl Step for usize {
    fn segment(&self) -> Segment {
        Segment::Index(*self)
    }
}

impl Notes {
    /// Notes something at a place within the wrapper.
    fn ucp(&mut self, steps: &[&dyn Step], text: impl Into<Cow<'static, str>>) {
        let wrapper = (!self.flat).then(|| "ucp".segment());
        let steps = steps.iter().map(|step| step.segment());
        self.push(wrapper.into_iter().chain(steps).collect(), text.into());
    }

    /// Notes something at a place of the document.
    fn root(&mut self, steps: &[&dyn Step], text: impl Into<Cow<'static, str>>) {
        let steps = steps.iter().map(|step| step.segment());
        self.push(steps.collect(), text.into());
    }

    fn push(&mut self, steps: Vec<Segment>, text: Cow<'static, str>) {
        self.list.push(Note {
            path: JsonPath(steps),
            text,
        });
    }
}

#[cfg(test)]
mod tests;
