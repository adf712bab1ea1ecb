//! The signature base (RFC 9421 section 2.5): the text that is signed.

use super::error::shown;
use super::fields::{COMPONENT_LIMIT, Lines, joined, line};
use super::{Reason, SignError};
use http::{HeaderMap, Method, StatusCode, Uri, header};
use sfv::{BareItem, Dictionary, InnerList, ItemSerializer, ListEntry, ListSerializer, Parser};

/// What a signature covers of a request: its head, borrowed.
///
/// The URI is absolute, as a client has it, or only a path as a server receives it; then the
/// authority is taken from `Host`, and the scheme is `https`. A server behind a proxy that rewrites
/// either puts the public ones back before it verifies.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    /// The method.
    pub method: &'a Method,
    /// The URI, percent-encoded as on the wire.
    pub uri: &'a Uri,
    /// The headers.
    pub headers: &'a HeaderMap,
}

impl<'a> From<&'a http::request::Parts> for RequestHead<'a> {
    fn from(parts: &'a http::request::Parts) -> Self {
        Self {
            method: &parts.method,
            uri: &parts.uri,
            headers: &parts.headers,
        }
    }
}

impl<'a, B> From<&'a http::Request<B>> for RequestHead<'a> {
    fn from(request: &'a http::Request<B>) -> Self {
        Self {
            method: request.method(),
            uri: request.uri(),
            headers: request.headers(),
        }
    }
}

/// What a signature covers of a response: its head, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct ResponseHead<'a> {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: &'a HeaderMap,
}

impl<'a> From<&'a http::response::Parts> for ResponseHead<'a> {
    fn from(parts: &'a http::response::Parts) -> Self {
        Self {
            status: parts.status,
            headers: &parts.headers,
        }
    }
}

impl<'a, B> From<&'a http::Response<B>> for ResponseHead<'a> {
    fn from(response: &'a http::Response<B>) -> Self {
        Self {
            status: response.status(),
            headers: response.headers(),
        }
    }
}

/// The head of a message.
#[derive(Clone, Copy)]
pub(super) enum Head<'a> {
    Request(RequestHead<'a>),
    Response(ResponseHead<'a>),
}

impl<'a> Head<'a> {
    pub(super) fn headers(&self) -> &'a HeaderMap {
        match self {
            Self::Request(head) => head.headers,
            Self::Response(head) => head.headers,
        }
    }
}

/// One component of a message: a field, a member of a field, or something derived (RFC 9421 section
/// 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Component<'a> {
    pub(super) name: &'a str,
    pub(super) key: Option<&'a str>,
}

impl<'a> Component<'a> {
    pub(super) const fn named(name: &'a str) -> Self {
        Self { name, key: None }
    }

    fn write_identifier(&self, base: &mut String) {
        // Neither a name nor a key has anything to escape.
        base.push('"');
        base.push_str(self.name);
        base.push('"');
        if let Some(key) = self.key {
            base.push_str(";key=\"");
            base.push_str(key);
            base.push('"');
        }
    }
}

/// The components of a received signature, in its order.
pub(super) fn components(list: &InnerList) -> Result<Vec<Component<'_>>, Reason> {
    if list.items.len() > COMPONENT_LIMIT {
        return Err(Reason::TooMuch {
            what: "the components of a signature",
            limit: COMPONENT_LIMIT,
        });
    }
    let mut components = Vec::with_capacity(list.items.len());
    for item in &list.items {
        let BareItem::String(name) = &item.bare_item else {
            return Err(unlisted("", "it is not a string"));
        };
        let name = name.as_str();
        let mut component = Component::named(name);
        for (parameter, value) in &item.params {
            match (parameter.as_str(), value) {
                ("key", BareItem::String(key)) => component.key = Some(key.as_str()),
                _ => return Err(unlisted(name, "it has a parameter that is not supported")),
            }
        }
        if components.contains(&component) {
            return Err(unlisted(name, "it stands twice"));
        }
        components.push(component);
    }
    Ok(components)
}

fn unlisted(name: &str, problem: &'static str) -> Reason {
    let name = shown(name);
    Reason::Identifier { name, problem }
}

/// A component that cannot be taken from a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Obstacle {
    pub(super) name: String,
    pub(super) problem: &'static str,
}

impl From<Obstacle> for Reason {
    fn from(Obstacle { name, problem }: Obstacle) -> Self {
        Self::Component { name, problem }
    }
}

impl From<Obstacle> for SignError {
    fn from(Obstacle { name, problem }: Obstacle) -> Self {
        Self::Component { name, problem }
    }
}

/// A message, and the fields that signing will put in the place of its own.
pub(super) struct Message<'a> {
    pub(super) head: Head<'a>,
    pub(super) content_digest: Option<&'a str>,
    pub(super) signature_agent: Option<&'a str>,
}

impl<'a> Message<'a> {
    /// A message as it is.
    pub(super) fn received(head: Head<'a>) -> Self {
        Self {
            head,
            content_digest: None,
            signature_agent: None,
        }
    }

    fn replaced(&self, name: &str) -> Option<&'a str> {
        match name {
            "content-digest" => self.content_digest,
            "signature-agent" => self.signature_agent,
            _ => None,
        }
    }

    /// Writes the base, `parameters` being what follows `"@signature-params": `. Returns it and where
    /// that starts.
    pub(super) fn base(
        &self,
        components: &[Component<'_>],
        parameters: impl FnOnce(&mut String),
    ) -> Result<(String, usize), Obstacle> {
        let mut base = String::with_capacity(1024);
        for component in components {
            component.write_identifier(&mut base);
            base.push_str(": ");
            self.write_value(component, &mut base)
                .map_err(|problem| Obstacle {
                    name: shown(component.name),
                    problem,
                })?;
            base.push('\n');
        }
        base.push_str("\"@signature-params\": ");
        let start = base.len();
        parameters(&mut base);
        Ok((base, start))
    }

    fn write_value(
        &self,
        component: &Component<'_>,
        base: &mut String,
    ) -> Result<(), &'static str> {
        let Component { name, key } = *component;
        if !name.starts_with('@') {
            return self.write_field(name, key, base);
        }
        if key.is_some() {
            return Err("it has a parameter that is not supported");
        }
        match (self.head, name) {
            (Head::Request(head), "@method") => base.push_str(head.method.as_str()),
            (Head::Request(head), "@authority") => write_authority(head, base)?,
            (Head::Request(head), "@scheme") => write_scheme(head, base),
            (Head::Request(head), "@path") => base.push_str(path(head.uri)),
            (Head::Request(head), "@query") => {
                base.push('?');
                base.push_str(head.uri.query().unwrap_or_default());
            }
            (Head::Request(head), "@target-uri") => {
                write_scheme(head, base);
                base.push_str("://");
                write_authority(head, base)?;
                base.push_str(path(head.uri));
                if let Some(query) = head.uri.query() {
                    base.push('?');
                    base.push_str(query);
                }
            }
            (Head::Response(head), "@status") => base.push_str(head.status.as_str()),
            _ => return Err("such a message has no such component"),
        }
        Ok(())
    }

    fn write_field(
        &self,
        name: &str,
        key: Option<&str>,
        base: &mut String,
    ) -> Result<(), &'static str> {
        // Lookup is without case, but a component's name is lower case (RFC 9421 section 2.1).
        if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err("its name is not in lower case");
        }
        match (key, self.replaced(name)) {
            (Some(key), Some(value)) => write_member(value, key, base),
            (None, Some(value)) => {
                base.push_str(value);
                Ok(())
            }
            (Some(key), None) => {
                let name = name.parse().map_err(|_| "it is not the name of a field")?;
                match joined(self.head.headers(), &name) {
                    Lines::Absent => Err("the message has no such field"),
                    Lines::NotAscii => Err("its value is not ASCII"),
                    Lines::Text(value) => write_member(&value, key, base),
                }
            }
            (None, None) => {
                let mut lines = self.head.headers().get_all(name).iter();
                let first = lines.next().ok_or("the message has no such field")?;
                base.push_str(line(first).ok_or("its value is not ASCII")?);
                for value in lines {
                    base.push_str(", ");
                    base.push_str(line(value).ok_or("its value is not ASCII")?);
                }
                Ok(())
            }
        }
    }
}

/// Writes a member of a dictionary (RFC 9421 section 2.1.2).
fn write_member(value: &str, key: &str, base: &mut String) -> Result<(), &'static str> {
    let members: Dictionary = Parser::new(value)
        .parse()
        .map_err(|_| "the field is not a dictionary")?;
    match members.get(key) {
        Some(ListEntry::Item(item)) => {
            let _ = ItemSerializer::with_buffer(base)
                .bare_item(&item.bare_item)
                .parameters(&item.params)
                .finish();
            Ok(())
        }
        Some(ListEntry::InnerList(list)) => {
            write_list(list, base);
            Ok(())
        }
        None => Err("the field has no such member"),
    }
}

/// Writes an inner list in its own order.
pub(super) fn write_list(list: &InnerList, text: &mut String) {
    let mut serializer = ListSerializer::with_buffer(text);
    let mut inner = serializer.inner_list();
    inner.items(&list.items);
    inner.finish().parameters(&list.params);
}

/// Writes the parenthesised list of components that a signature of ours covers.
pub(super) fn write_components(components: &[Component<'_>], text: &mut String) {
    text.push('(');
    for (index, component) in components.iter().enumerate() {
        if index > 0 {
            text.push(' ');
        }
        component.write_identifier(text);
    }
    text.push(')');
}

fn path(uri: &Uri) -> &str {
    match uri.path() {
        "" => "/",
        path => path,
    }
}

fn write_scheme(head: RequestHead<'_>, base: &mut String) {
    let start = base.len();
    base.push_str(head.uri.scheme_str().unwrap_or("https"));
    lower(base, start);
}

/// The authority that a request is for: of its URI, or of `Host`.
pub(super) fn authority<'a>(head: RequestHead<'a>) -> Option<&'a str> {
    match head.uri.authority() {
        Some(authority) => Some(authority.as_str()),
        None => line(head.headers.get(header::HOST)?),
    }
}

/// `@authority` (RFC 9421 section 2.2.3): lower case, without user information and default port.
fn write_authority(head: RequestHead<'_>, base: &mut String) -> Result<(), &'static str> {
    let authority = authority(head).ok_or("the request names no host")?;
    write_normal(authority, head.uri.scheme_str(), base);
    Ok(())
}

pub(super) fn write_normal(authority: &str, scheme: Option<&str>, base: &mut String) {
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let default = match scheme {
        Some(scheme) if scheme.eq_ignore_ascii_case("http") => 80,
        _ => 443,
    };
    // A colon inside the brackets of an IPv6 address is no port.
    let host_end = authority.rfind(']').unwrap_or_default();
    let (host, port) = match authority.get(host_end..).and_then(|rest| rest.rfind(':')) {
        Some(colon) => authority.split_at(host_end + colon),
        None => (authority, ""),
    };
    let start = base.len();
    base.push_str(host);
    lower(base, start);
    let number = port.strip_prefix(':').unwrap_or_default();
    if !number.is_empty() && number.parse() != Ok(default) {
        base.push_str(port);
    }
}

fn lower(text: &mut str, start: usize) {
    if let Some(part) = text.get_mut(start..) {
        part.make_ascii_lowercase();
    }
}

#[cfg(test)]
mod tests;
