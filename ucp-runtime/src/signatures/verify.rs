//! Verifying requests and responses (RFC 9421 section 3.2; UCP signatures, "Request Verification").

use super::base::{Component, Head, Message, RequestHead, ResponseHead, components, write_list};
use super::error::shown;
use super::fields::{
    IDEMPOTENCY_KEY, SIGNATURE, SIGNATURE_AGENT, SIGNATURE_INPUT, SIGNATURE_LIMIT, UCP_AGENT,
    dictionary,
};
use super::key::{usable, verifying};
use super::web_bot_auth::TAG;
use super::{Algorithm, Reason, Rejected, digest};
use crate::identity::ProfileUrl;
use crate::profile::PublishedKeys;
use http::HeaderMap;
use jiff::{SignedDuration, Timestamp};
use sfv::{BareItem, InnerList, ListEntry};
use std::cell::OnceCell;

/// Verifies messages at an instant, against keys that were looked up before.
///
/// Each signature is tried in turn, and the first that holds is enough. Before any cryptography it
/// must cover what the protocol wants: of a request `@method`, `@authority`, `@path`, `@query` if the
/// query is not empty, `content-digest` and `content-type` if there is a body, and each of
/// `ucp-agent`, `signature-agent;key="<its label>"` and `idempotency-key` if that header is there; of
/// a response `@status`, and those two of a body. Signatures with a foreign `tag` are passed over.
///
/// ```
/// use ucp_runtime::http::Response;
/// use ucp_runtime::jiff::Timestamp;
/// use ucp_runtime::profile::PublishedKeys;
/// use ucp_runtime::serde_json::json;
/// use ucp_runtime::signatures::{Algorithm, Code, Signing, SigningKey, Verifier};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // The merchant:
/// let key = SigningKey::from_scalar(Algorithm::Es256, &[7; 32])?.with_id("merchant-1")?;
/// let published = PublishedKeys::from_jwk_set(&json!({ "keys": [key.public_key().to_jwk()] }));
/// let mut response = Response::builder()
///     .header("content-type", "application/json")
///     .body(&b"{}"[..])?;
/// let signed = Signing::with(&key).response(&response, b"{}").await?;
/// signed.apply(response.headers_mut());
///
/// // The agent:
/// # let now = Timestamp::UNIX_EPOCH;
/// let verifier = Verifier::at(now);
/// assert_eq!(verifier.response(&response, b"{}", &published)?.key_id, "merchant-1");
/// let altered = verifier.response(&response, b"{ }", &published).unwrap_err();
/// assert_eq!(altered.code(), Code::DigestMismatch);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Verifier {
    now: i64,
    leeway: i64,
}

impl Verifier {
    /// Verifies at an instant: a signature whose `expires` is before it does not hold.
    pub fn at(now: Timestamp) -> Self {
        Self {
            now: now.as_second(),
            leeway: 0,
        }
    }

    /// Lets a signature live longer by so many whole seconds, since clocks differ. None by default.
    pub fn leeway(mut self, leeway: SignedDuration) -> Self {
        self.leeway = leeway.as_secs().max(0);
        self
    }

    /// Verifies a request, or a webhook, which is one.
    ///
    /// # Errors
    ///
    /// [`Rejected`] when no signature holds; it is about the one that got furthest.
    pub fn request<'m>(
        &self,
        head: impl Into<RequestHead<'m>>,
        body: &[u8],
        keys: &PublishedKeys,
    ) -> Result<Verified, Rejected> {
        let head = head.into();
        let mut floor = vec!["@method", "@authority", "@path"];
        if head.uri.query().is_some_and(|query| !query.is_empty()) {
            floor.push("@query");
        }
        for (header, name) in [
            (&UCP_AGENT, "ucp-agent"),
            (&SIGNATURE_AGENT, "signature-agent"),
            (&IDEMPOTENCY_KEY, "idempotency-key"),
        ] {
            if head.headers.contains_key(header) {
                floor.push(name);
            }
        }
        self.verify(Head::Request(head), floor, body, keys)
    }

    /// Verifies a response.
    ///
    /// # Errors
    ///
    /// [`Rejected`] when no signature holds; it is about the one that got furthest.
    pub fn response<'m>(
        &self,
        head: impl Into<ResponseHead<'m>>,
        body: &[u8],
        keys: &PublishedKeys,
    ) -> Result<Verified, Rejected> {
        self.verify(Head::Response(head.into()), vec!["@status"], body, keys)
    }

    fn verify(
        &self,
        head: Head<'_>,
        mut floor: Vec<&'static str>,
        body: &[u8],
        keys: &PublishedKeys,
    ) -> Result<Verified, Rejected> {
        if !body.is_empty() {
            floor.extend(["content-digest", "content-type"]);
        }
        let headers = head.headers();
        if !headers.contains_key(SIGNATURE_INPUT) || !headers.contains_key(SIGNATURE) {
            return Err(Rejected::of(Reason::Unsigned));
        }
        let inputs = dictionary(headers, &SIGNATURE_INPUT).map_err(Rejected::of)?;
        let values = dictionary(headers, &SIGNATURE).map_err(Rejected::of)?;
        if inputs.len() > SIGNATURE_LIMIT {
            return Err(Rejected::of(Reason::TooMuch {
                what: "the signatures of a message",
                limit: SIGNATURE_LIMIT,
            }));
        }
        let message = Message::received(head);
        // Hashed at most once, however many signatures there are.
        let digest = OnceCell::new();
        let mut furthest: Option<Rejected> = None;
        let mut unknown_key_id = None;
        for (label, input) in &inputs {
            let Some(value) = values.get(label) else {
                continue;
            };
            let candidate = Candidate::read(label.as_str(), input, value);
            let verified = candidate.and_then(|candidate| {
                candidate.covers_enough(headers, &floor)?;
                candidate.verify(self, &message, keys, || {
                    digest
                        .get_or_init(|| digest::check_content_digest(headers, body))
                        .clone()
                })
            });
            let reason = match verified {
                Ok(verified) => return Ok(verified),
                Err(reason) => reason,
            };
            if reason == Reason::UnknownKey && unknown_key_id.is_none() {
                unknown_key_id = key_id(input).map(ToOwned::to_owned);
            }
            if furthest
                .as_ref()
                .is_none_or(|other| reason.stage() > other.reason.stage())
            {
                furthest = Some(Rejected {
                    label: Some(label.as_str().to_owned()),
                    key_id: key_id(input).map(ToOwned::to_owned),
                    unknown_key_id: None,
                    reason,
                });
            }
        }
        Err(Rejected {
            unknown_key_id,
            ..furthest.unwrap_or_else(|| Rejected::of(Reason::NoPair))
        })
    }
}

/// Whether a message claims to be signed: either header counts.
///
/// ```
/// use ucp_runtime::http::HeaderMap;
/// use ucp_runtime::signatures::is_signed;
///
/// let mut headers = HeaderMap::new();
/// assert!(!is_signed(&headers));
/// headers.insert("signature", "sig1=:AA==:".parse().unwrap());
/// assert!(is_signed(&headers));
/// ```
#[must_use]
pub fn is_signed(headers: &HeaderMap) -> bool {
    headers.contains_key(SIGNATURE_INPUT) || headers.contains_key(SIGNATURE)
}

/// The base that a verifier rebuilds of a request for the signature with a label (RFC 9421 section
/// 2.5), to compare with what was signed.
///
/// # Errors
///
/// [`Reason`] when there is no such signature, or something that it covers is not there.
pub fn received_request_base<'m>(
    head: impl Into<RequestHead<'m>>,
    label: &str,
) -> Result<String, Reason> {
    received_base(Head::Request(head.into()), label)
}

/// The base that a verifier rebuilds of a response for the signature with a label (RFC 9421 section
/// 2.5), to compare with what was signed.
///
/// # Errors
///
/// [`Reason`] when there is no such signature, or something that it covers is not there.
pub fn received_response_base<'m>(
    head: impl Into<ResponseHead<'m>>,
    label: &str,
) -> Result<String, Reason> {
    received_base(Head::Response(head.into()), label)
}

fn received_base(head: Head<'_>, label: &str) -> Result<String, Reason> {
    match dictionary(head.headers(), &SIGNATURE_INPUT)?.get(label) {
        Some(ListEntry::InnerList(input)) => base(&Message::received(head), input),
        Some(ListEntry::Item(_)) => Err(Reason::Malformed {
            header: SIGNATURE_INPUT,
        }),
        None => Err(Reason::NoPair),
    }
}

fn base(message: &Message<'_>, input: &InnerList) -> Result<String, Reason> {
    let components = components(input)?;
    let (base, _) = message.base(&components, |text| write_list(input, text))?;
    Ok(base)
}

/// What a signature that holds says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// The label that the signature stands under.
    pub label: String,
    /// The id of the key.
    pub key_id: String,
    /// The key's algorithm.
    pub algorithm: Algorithm,
    /// When it says that it was made.
    pub created: Option<Timestamp>,
    /// When it says that its time is over.
    pub expires: Option<Timestamp>,
    /// Its tag: none, or `web-bot-auth`.
    pub tag: Option<String>,
    covered: Vec<String>,
}

impl Verified {
    /// Whether it covers a field as a whole, by its name in lower case, or a derived component
    /// (`@path`). What it does not cover, anybody may have changed.
    #[must_use]
    pub fn covers(&self, name: &str) -> bool {
        self.covered.iter().any(|covered| covered == name)
    }
}

/// The `keyid` of a signature, if it has one that is a string.
fn key_id(input: &ListEntry) -> Option<&str> {
    match input {
        ListEntry::InnerList(input) => match input.params.get("keyid")? {
            BareItem::String(id) => Some(id.as_str()),
            _ => None,
        },
        ListEntry::Item(_) => None,
    }
}

/// One signature of a message.
struct Candidate<'m> {
    label: &'m str,
    input: &'m InnerList,
    value: &'m [u8],
    components: Vec<Component<'m>>,
}

impl<'m> Candidate<'m> {
    fn read(label: &'m str, input: &'m ListEntry, value: &'m ListEntry) -> Result<Self, Reason> {
        let ListEntry::InnerList(input) = input else {
            return Err(Reason::Malformed {
                header: SIGNATURE_INPUT,
            });
        };
        let value = match value {
            ListEntry::Item(item) => match &item.bare_item {
                BareItem::ByteSequence(value) => value,
                _ => return Err(Reason::Malformed { header: SIGNATURE }),
            },
            ListEntry::InnerList(_) => return Err(Reason::Malformed { header: SIGNATURE }),
        };
        let mut candidate = Self {
            label,
            input,
            value,
            components: Vec::new(),
        };
        // What is of another application need not make sense here.
        if let Some(tag) = candidate.tag()?
            && tag != TAG
        {
            return Err(Reason::ForeignTag { tag: shown(tag) });
        }
        candidate.components = components(input)?;
        Ok(candidate)
    }

    fn covers_enough(&self, headers: &HeaderMap, floor: &[&'static str]) -> Result<(), Reason> {
        for name in floor {
            // A member of Signature-Agent is bound to its label; anything else counts as a whole.
            let wanted = Component {
                name,
                key: (*name == "signature-agent").then_some(self.label),
            };
            if !self.components.contains(&wanted) {
                return Err(Reason::Uncovered {
                    name: match wanted.key {
                        Some(key) => format!("{name};key=\"{key}\""),
                        None => (*name).to_owned(),
                    },
                });
            }
        }
        match floor.contains(&"signature-agent") {
            true => self.names_agent(headers),
            false => Ok(()),
        }
    }

    /// The member of `Signature-Agent` is an https URL ("Signature-Agent parsing rules"). That it is
    /// there at all, the base will show.
    fn names_agent(&self, headers: &HeaderMap) -> Result<(), Reason> {
        let agents = dictionary(headers, &SIGNATURE_AGENT)?;
        match agents.get(self.label) {
            None => Ok(()),
            Some(ListEntry::Item(item)) => match &item.bare_item {
                BareItem::String(url) if ProfileUrl::new(url.as_str()).is_ok() => Ok(()),
                _ => Err(Reason::SignatureAgent),
            },
            Some(ListEntry::InnerList(_)) => Err(Reason::SignatureAgent),
        }
    }

    fn verify(
        &self,
        verifier: &Verifier,
        message: &Message<'_>,
        keys: &PublishedKeys,
        digest: impl FnOnce() -> Result<(), Reason>,
    ) -> Result<Verified, Reason> {
        let (created, expires) = (self.seconds("created")?, self.seconds("expires")?);
        let (algorithm, tag) = (self.text("alg")?, self.tag()?);
        let id = self.text("keyid")?.ok_or(Reason::NoKeyId)?;
        let keys = usable(keys, id, |key| {
            if algorithm.is_some_and(|name| name != key.algorithm().http_name()) {
                return Err(Reason::AlgorithmParameter);
            }
            if tag == Some(TAG) && key.thumbprint() != id {
                return Err(Reason::NotThumbprint);
            }
            Ok(())
        })?;
        if let Some(expires) = expires
            && expires.saturating_add(verifier.leeway) < verifier.now
        {
            return Err(Reason::Expired {
                expires,
                now: verifier.now,
            });
        }
        if self
            .components
            .contains(&Component::named("content-digest"))
        {
            digest()?;
        }
        let (base, _) = message.base(&self.components, |text| write_list(self.input, text))?;
        let key = verifying(&keys, base.as_bytes(), self.value)?;
        let instant = |seconds: i64| Timestamp::from_second(seconds).ok();
        Ok(Verified {
            label: self.label.to_owned(),
            key_id: id.to_owned(),
            algorithm: key.algorithm(),
            created: created.and_then(instant),
            expires: expires.and_then(instant),
            tag: tag.map(ToOwned::to_owned),
            covered: (self.components.iter())
                .filter(|component| component.key.is_none())
                .map(|component| component.name.to_owned())
                .collect(),
        })
    }

    fn tag(&self) -> Result<Option<&'m str>, Reason> {
        self.text("tag")
    }

    fn text(&self, name: &'static str) -> Result<Option<&'m str>, Reason> {
        match self.input.params.get(name) {
            None => Ok(None),
            Some(BareItem::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(Reason::Parameter { name }),
        }
    }

    fn seconds(&self, name: &'static str) -> Result<Option<i64>, Reason> {
        match self.input.params.get(name) {
            None => Ok(None),
            Some(BareItem::Integer(seconds)) => Ok(Some(i64::from(*seconds))),
            Some(_) => Err(Reason::Parameter { name }),
        }
    }
}

#[cfg(test)]
mod tests;
