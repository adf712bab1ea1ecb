//! Fetching a document of a stranger: the merchant's profile, and whatever a document names
//! (overview, "Fetching").
//!
//! Every URL, also those that requests go to later, must be `https` and on no special-use address
//! (RFC 6890): one that the URL itself holds is seen before anything is sent, one that a name resolves
//! to by the default transport, which connects only to addresses that were checked. A [`Transport`]
//! of your own has to see to the latter itself, with [`public`].
//!
//! [`Transport`]: crate::Transport

use crate::agent::Inner;
use crate::error::{
    BodyProblem, DiscoveryError, DiscoveryProblem, Error, Late, RequestError, shown,
};
use crate::execute;
use crate::ids;
use crate::response::RawResponse;
use crate::transport::{BoxError, BoxFuture};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use iprfc::RFC6890;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::error::Error as StdError;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::Url;

/// How many bytes of an unusable answer are kept.
pub(crate) const KEPT: usize = 4 * 1024;
/// No document is asked for more often, whatever its server says of caching.
pub(crate) const FLOOR: SignedDuration = SignedDuration::from_secs(60);
/// No document is taken for fresh longer, whatever its server says.
const CEILING: SignedDuration = SignedDuration::from_hours(24);

/// Turns a host name into addresses.
///
/// ```
/// use std::net::{IpAddr, Ipv4Addr};
/// use ucp_runtime::BoxFuture;
/// use ucp_runtime::fetch::Resolver;
///
/// /// Knows one host.
/// struct Hosts;
/// impl Resolver for Hosts {
///     fn resolve<'a>(
///         &'a self,
///         host: &'a str,
///     ) -> BoxFuture<'a, Result<Vec<IpAddr>, ucp_runtime::BoxError>> {
///         Box::pin(async move {
///             match host {
///                 "shop.example" => Ok(vec![Ipv4Addr::new(192, 0, 2, 7).into()]),
///                 _ => Err("no such host".into()),
///             }
///         })
///     }
/// }
/// ```
pub trait Resolver: Send + Sync {
    /// The addresses of a host, in the order in which they are to be tried.
    ///
    /// # Errors
    ///
    /// Whatever the resolver reports; nothing is then sent.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, BoxError>>;
}

/// The operating system's resolver.
#[cfg(feature = "reqwest")]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SystemResolver;

#[cfg(feature = "reqwest")]
impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, BoxError>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// A host all of whose addresses are for special use.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpecialUse {
    /// The host.
    pub host: String,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
}

impl fmt::Display for SpecialUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.addresses.is_empty() {
            return write!(f, "{} has no address", self.host);
        }
        write!(f, "{} is at", self.host)?;
        for (index, address) in self.addresses.iter().enumerate() {
            write!(f, "{} {address}", if index == 0 { "" } else { "," })?;
        }
        f.write_str(", which is for special use (RFC 6890): nothing is sent there")
    }
}

impl StdError for SpecialUse {}

/// The addresses of a host that may be connected to. A transport connects to these and resolves no
/// second time, so that no later answer can lead elsewhere. In development, loopback is let through.
///
/// ```
/// use ucp_runtime::fetch::public;
///
/// let answer = vec!["10.0.0.5".parse()?, "8.8.8.8".parse()?];
/// assert_eq!(public("shop.example", answer, false)?, [std::net::Ipv4Addr::new(8, 8, 8, 8)]);
/// assert!(public("shop.example", vec!["::ffff:127.0.0.1".parse()?], false).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`SpecialUse`] when none is left.
pub fn public(
    host: &str,
    addresses: Vec<IpAddr>,
    development: bool,
) -> Result<Vec<IpAddr>, SpecialUse> {
    let is_allowed = |address: &IpAddr| {
        !is_special_use(*address) || (development && address.to_canonical().is_loopback())
    };
    let allowed: Vec<IpAddr> = addresses.iter().copied().filter(is_allowed).collect();
    if allowed.is_empty() {
        return Err(SpecialUse {
            host: host.to_owned(),
            addresses,
        });
    }
    Ok(allowed)
}

/// Whether an address is anything but a unicast address of the public internet: in a block of IANA's
/// special-purpose registries, multicast, reserved, or an IPv6 address that carries an IPv4 one.
/// Of NAT64 (RFC 6052), which networks without IPv4 need, the carried address decides.
///
/// ```
/// use ucp_runtime::fetch::is_special_use;
///
/// for address in ["169.254.169.254", "100.64.0.1", "::ffff:8.8.8.8", "64:ff9b::10.0.0.5", "fd00::1"] {
///     assert!(is_special_use(address.parse()?), "{address}");
/// }
/// for address in ["8.8.8.8", "2606:4700::1111", "64:ff9b::8.8.8.8"] {
///     assert!(!is_special_use(address.parse()?), "{address}");
/// }
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[must_use]
pub fn is_special_use(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_special_v4(address),
        IpAddr::V6(address) => match address.segments() {
            [0x64, 0xff9b, 0, 0, 0, 0, _, _] => {
                let [.., a, b, c, d] = address.octets();
                is_special_v4(Ipv4Addr::new(a, b, c, d))
            }
            _ => is_special_v6(address),
        },
    }
}

fn is_special_v4(address: Ipv4Addr) -> bool {
    address.is_multicast() || RFC6890.contains(&address)
}

/// All unicast addresses that are given out so far begin with the bits 001.
fn is_special_v6(address: Ipv6Addr) -> bool {
    let [first, ..] = address.segments();
    first >> 13 != 1 || RFC6890.contains(&address)
}

/// What a document is revalidated by.
#[derive(Clone, Debug, Default)]
pub(crate) struct Validators {
    etag: Option<HeaderValue>,
    last_modified: Option<HeaderValue>,
}

impl Validators {
    fn of(headers: &HeaderMap) -> Self {
        Self {
            etag: headers.get(header::ETAG).cloned(),
            last_modified: headers.get(header::LAST_MODIFIED).cloned(),
        }
    }

    fn conditions(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let etag = self.etag.clone();
        let modified = self.last_modified.clone();
        (etag.map(|etag| (header::IF_NONE_MATCH, etag)).into_iter())
            .chain(modified.map(|modified| (header::IF_MODIFIED_SINCE, modified)))
    }
}

/// What came of fetching.
pub(crate) enum Fetched<T> {
    /// The document is as it was: what was known of it.
    Same(T),
    /// A document, with the answer that brought it.
    New(Value, Box<RawResponse>),
}

/// When a document is stale, and how it is then asked for.
#[derive(Clone, Debug)]
pub(crate) struct Freshness {
    pub(crate) until: Timestamp,
    pub(crate) validators: Validators,
    pub(crate) may_store: bool,
}

impl Freshness {
    /// Of an answer that arrived now. `before` is what was known of the document.
    fn of(headers: &HeaderMap, now: Timestamp, before: Option<&Validators>) -> Self {
        let directives = Directives::of(headers);
        let age = (headers.get(header::AGE))
            .and_then(|age| age.to_str().ok()?.trim().parse().ok())
            .unwrap_or(0);
        let seconds = match directives.max_age {
            Some(max_age) if directives.may_reuse => max_age.saturating_sub(age),
            _ => 0,
        };
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
        let fresh = SignedDuration::from_secs(seconds).clamp(FLOOR, CEILING);
        let validators = match (directives.may_store, before) {
            (false, _) => Validators::default(),
            (true, Some(before)) if !headers.contains_key(header::ETAG) => before.clone(),
            (true, _) => Validators::of(headers),
        };
        Self {
            until: later(now, fresh),
            validators,
            may_store: directives.may_store,
        }
    }
}

/// An instant so much later, or the last that there is.
pub(crate) fn later(now: Timestamp, by: SignedDuration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// What `Cache-Control` says (RFC 9111 section 5.2.2).
struct Directives {
    max_age: Option<u64>,
    may_reuse: bool,
    may_store: bool,
}

impl Directives {
    fn of(headers: &HeaderMap) -> Self {
        let mut found = Self {
            max_age: None,
            may_reuse: true,
            may_store: true,
        };
        let values = headers.get_all(header::CACHE_CONTROL).into_iter();
        let values = values.filter_map(|value| value.to_str().ok());
        for directive in values.flat_map(|value| value.split(',')) {
            let (name, argument) = directive.split_once('=').unwrap_or((directive, ""));
            let argument = argument.trim().trim_matches('"');
            match name.trim().to_ascii_lowercase().as_str() {
                "max-age" => found.max_age = argument.parse().ok(),
                "no-store" => found.may_store = false,
                // With an argument it is about single headers.
                "no-cache" if argument.is_empty() => found.may_reuse = false,
                _ => {}
            }
        }
        found
    }
}

/// Fetches a JSON document, or learns that it is as it was: `known` is what is known of it, and by
/// what it is revalidated. Redirects are not followed.
pub(crate) async fn get<T>(
    agent: &Inner,
    url: &Url,
    known: Option<(&Validators, T)>,
) -> Result<(Fetched<T>, Freshness), Box<DiscoveryError>> {
    let fail = |problem, response| {
        Box::new(DiscoveryError {
            url: url.clone(),
            problem,
            response,
        })
    };
    let (validators, known) = known.unzip();
    let request = request(agent, url, validators)
        .map_err(|problem| fail(DiscoveryProblem::NotSent(problem), None))?;
    let is_conditional = [header::IF_NONE_MATCH, header::IF_MODIFIED_SINCE]
        .iter()
        .any(|name| request.headers.contains_key(name));
    let options = &agent.discovery;
    let answer = execute::exchange(agent, request, options.timeout, options.limit).await;
    let now = agent.clock.now();
    let (mut response, broken) = match answer {
        Ok(answer) => answer,
        Err(error) => return Err(fail(unanswered(error), None)),
    };
    if response.status() == StatusCode::NOT_MODIFIED
        && is_conditional
        && let Some(known) = known
    {
        let freshness = Freshness::of(response.headers(), now, validators);
        return Ok((Fetched::Same(known), freshness));
    }
    match judge(&response, broken) {
        Ok(document) => {
            let freshness = Freshness::of(response.headers(), now, None);
            Ok((Fetched::New(document, Box::new(response)), freshness))
        }
        Err(problem) => {
            response.shorten(KEPT);
            Err(fail(problem, Some(response)))
        }
    }
}

fn request(
    agent: &Inner,
    url: &Url,
    validators: Option<&Validators>,
) -> Result<execute::Message, RequestError> {
    let request_id = ids::random(agent.randomness.as_ref())?;
    let mut headers = execute::base_headers(agent, request_id)?;
    headers.extend(validators.into_iter().flat_map(Validators::conditions));
    Ok(execute::Message {
        method: Method::GET,
        url: url.clone(),
        headers,
        body: None,
    })
}

/// What of a kind is behind an error.
pub(crate) fn cause_of<'e, T: StdError + 'static>(
    error: &'e (dyn StdError + 'static),
) -> Option<&'e T> {
    std::iter::successors(Some(error), |error| (*error).source())
        .find_map(|error| error.downcast_ref())
}

fn unanswered(error: Error) -> DiscoveryProblem {
    let error = match error {
        Error::Transport(error) => error.error,
        // Exchanging has no other errors.
        other => crate::TransportError::not_sent(other),
    };
    if let Some(refused) = cause_of::<SpecialUse>(&error) {
        return DiscoveryProblem::SpecialUse(refused.clone());
    }
    if let Some(Late(after)) = cause_of(&error) {
        return DiscoveryProblem::Timeout { after: *after };
    }
    DiscoveryProblem::NoAnswer(error)
}

fn judge(response: &RawResponse, broken: Option<BodyProblem>) -> Result<Value, DiscoveryProblem> {
    let status = response.status();
    if status.is_redirection() {
        return Err(match response.location() {
            Some(to) => DiscoveryProblem::Redirect { to: shown(to) },
            None => DiscoveryProblem::Status(status),
        });
    }
    match (status, broken) {
        (StatusCode::OK, None) => response.json().map_err(DiscoveryProblem::Body),
        (StatusCode::OK, Some(problem)) => Err(broken_off(problem)),
        (
            StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::TOO_MANY_REQUESTS
            | StatusCode::SERVICE_UNAVAILABLE,
            _,
        ) => Err(DiscoveryProblem::Blocked(status)),
        _ => Err(DiscoveryProblem::Status(status)),
    }
}

fn broken_off(problem: BodyProblem) -> DiscoveryProblem {
    if let BodyProblem::TooLong { limit } = problem {
        return DiscoveryProblem::TooLong { limit };
    }
    match problem.source().and_then(|source| source.downcast_ref()) {
        Some(Late(after)) => DiscoveryProblem::Timeout { after: *after },
        None => DiscoveryProblem::Body(problem),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c94_special_use_addresses_of_every_family() {
        for (special, public) in [
            ("0.0.0.0", "1.0.0.1"),
            ("10.255.255.255", "11.0.0.1"),
            ("100.64.0.1", "100.63.255.255"),
            ("100.127.255.255", "100.128.0.1"),
            ("127.0.0.1", "128.0.0.1"),
            ("169.254.169.254", "169.253.0.1"),
            ("172.16.0.1", "172.15.0.1"),
            ("172.31.255.255", "172.32.0.1"),
            ("192.0.0.8", "192.0.1.1"),
            ("192.0.2.1", "192.0.3.1"),
            ("192.88.99.1", "192.88.98.1"),
            ("192.168.1.1", "192.169.0.1"),
            ("198.18.0.1", "198.17.0.1"),
            ("198.19.255.255", "198.20.0.1"),
            ("198.51.100.7", "198.51.101.7"),
            ("203.0.113.7", "203.0.114.7"),
            ("224.0.0.1", "223.255.255.1"),
            ("239.255.255.255", "223.0.0.1"),
            ("240.0.0.1", "8.8.8.8"),
            ("255.255.255.255", "9.9.9.9"),
            ("::", "2606:4700::1"),
            ("::1", "2a00:1450::1"),
            ("::7f00:1", "2620:0:1cff::1"),
            ("::8.8.8.8", "2400:cb00::1"),
            ("::ffff:10.0.0.5", "2001:500::1"),
            ("::ffff:8.8.8.8", "2001:4860:4860::8888"),
            ("::ffff:0:8.8.8.8", "2600::1"),
            ("64:ff9b::10.0.0.5", "64:ff9b::8.8.8.8"),
            ("64:ff9b::169.254.169.254", "64:ff9b::1.1.1.1"),
            ("64:ff9b:1::8.8.8.8", "2610::1"),
            ("64:ff9b:0:1::8.8.8.8", "2630::1"),
            ("100::1", "2a01::1"),
            ("2001::1", "2001:200::1"),
            ("2001:db8::1", "2001:db9::1"),
            ("2002:a00:5::1", "2003::1"),
            ("2002:808:808::1", "2a02::1"),
            ("3fff::1", "3ffe::1"),
            ("5f00::1", "2a03::1"),
            ("fc00::1", "2a04::1"),
            ("fdff::1", "2a05::1"),
            ("fe80::1", "2a06::1"),
            ("fec0::1", "2a07::1"),
            ("ff02::1", "2a08::1"),
            ("4000::1", "2a09::1"),
        ] {
            assert!(is_special_use(special.parse().unwrap()), "{special}");
            assert!(!is_special_use(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn loopback_passes_in_development_and_nothing_else_does() {
        let addresses = |list: &[&str]| -> Vec<IpAddr> {
            list.iter()
                .map(|address| address.parse().unwrap())
                .collect()
        };
        let found = public("m.test", addresses(&["127.0.0.1", "::1", "10.0.0.5"]), true);
        assert_eq!(found.unwrap(), addresses(&["127.0.0.1", "::1"]));
        let refused = public("m.test", addresses(&["127.0.0.1", "fd00::1"]), false);
        assert_eq!(
            refused.unwrap_err().to_string(),
            "m.test is at 127.0.0.1, fd00::1, which is for special use (RFC 6890): nothing is sent there"
        );
        assert!(public("m.test", addresses(&["169.254.169.254"]), true).is_err());
        let none = public("m.test", Vec::new(), true).unwrap_err();
        assert_eq!(none.to_string(), "m.test has no address");
    }

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        let list = list.iter().map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        });
        list.collect()
    }

    #[test]
    fn freshness_follows_the_server_between_a_minute_and_a_day() {
        let now = Timestamp::UNIX_EPOCH;
        for (list, seconds, has_validators) in [
            (&[][..], 60, false),
            (
                &[("cache-control", "public, max-age=300"), ("etag", "\"a\"")],
                300,
                true,
            ),
            (
                &[("cache-control", "Max-Age=\"300\""), ("age", "100")],
                200,
                false,
            ),
            (
                &[("cache-control", "max-age=300"), ("age", "400")],
                60,
                false,
            ),
            (&[("cache-control", "max-age=5")], 60, false),
            (
                &[("cache-control", "max-age=99999999999999999999")],
                60,
                false,
            ),
            (&[("cache-control", "max-age=999999999")], 86_400, false),
            (
                &[
                    ("cache-control", "no-cache, max-age=300"),
                    ("etag", "\"a\""),
                ],
                60,
                true,
            ),
            (
                &[("cache-control", "no-cache=\"x-y\", max-age=300")],
                300,
                false,
            ),
            (
                &[("cache-control", "no-store"), ("etag", "\"a\"")],
                60,
                false,
            ),
            (
                &[("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT")],
                60,
                true,
            ),
        ] {
            let found = Freshness::of(&headers(list), now, None);
            assert_eq!(found.until.as_second(), seconds, "{list:?}");
            assert_eq!(
                found.validators.conditions().count() > 0,
                has_validators,
                "{list:?}"
            );
        }
        // What a 304 leaves out stays as it was.
        let before = Validators::of(&headers(&[("etag", "\"a\"")]));
        let found = Freshness::of(&headers(&[]), now, Some(&before));
        assert_eq!(found.validators.etag, before.etag);
    }
}
