//! Where requests go: what makes a URL acceptable, and how an operation's path joins it.

use crate::error::{ConfigError, RequestError, shown};
use crate::fetch;
use url::{Host, Url};

/// Whether the host is this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => {
            address.is_loopback() || address.to_ipv4_mapped().is_some_and(|v4| v4.is_loopback())
        }
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        None => false,
    }
}

/// Whether the text has the form `scheme://host`. WHATWG parsing also takes `https:host` and
/// `https:///host`, which others read differently.
pub(crate) fn has_authority(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, rest)| {
        scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && !rest.starts_with(['/', '\\', '?', '#'])
            && !rest.is_empty()
    })
}

/// Whether the authority has an `@`, also with nothing before it: WHATWG parsing drops an empty user
/// name, but what we check and what others read must be the same.
pub(crate) fn has_userinfo(text: &str) -> bool {
    text.split_once("://")
        .and_then(|(_, rest)| rest.split(['/', '\\', '?', '#']).next())
        .is_some_and(|authority| authority.contains('@'))
}

/// A merchant's origin (RFC 6454), from the text given to `connect`.
pub(crate) fn origin(text: &str, development: bool) -> Result<Url, ConfigError> {
    let refuse = |problem| ConfigError::Origin {
        origin: shown(text),
        problem,
    };
    let url = Url::parse(text).map_err(|_| refuse("it is not an absolute URL"))?;
    secure(&url, text, development).map_err(refuse)?;
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return Err(refuse("an origin has no path, query or fragment"));
    }
    Ok(url)
}

/// The base URL of a merchant's REST contract, without a slash at its end.
pub(crate) fn base(text: &str, development: bool) -> Result<String, ConfigError> {
    let refuse = |problem| ConfigError::Endpoint {
        endpoint: shown(text),
        problem,
    };
    let url = Url::parse(text).map_err(|_| refuse("it is not an absolute URL"))?;
    secure(&url, text, development).map_err(refuse)?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refuse("paths cannot be appended to a query or a fragment"));
    }
    let base = url.as_str().trim_end_matches('/');
    // What a `Url` allows and an HTTP request line does not must surface here, not at each call.
    base.parse::<http::Uri>()
        .map_err(|_| refuse("it holds characters that no request line can carry"))?;
    Ok(base.to_owned())
}

/// The URL of a document that another document names.
pub(crate) fn document(text: &str, development: bool) -> Result<Url, &'static str> {
    let url = Url::parse(text).map_err(|_| "it is not an absolute URL")?;
    secure(&url, text, development)?;
    Ok(url)
}

fn secure(url: &Url, text: &str, development: bool) -> Result<(), &'static str> {
    // No resolver sees an address that stands in the URL.
    let literal = match url.host() {
        Some(Host::Ipv4(address)) => Some(address.into()),
        Some(Host::Ipv6(address)) => Some(address.into()),
        _ => None,
    };
    match is_loopback(url) {
        true if development => {}
        true => return Err("a loopback host needs `development()` on the agent"),
        false if literal.is_some_and(fetch::is_special_use) => {
            return Err("its host is an address for special use (RFC 6890)");
        }
        false => {}
    }
    match url.scheme() {
        "https" => {}
        "http" if is_loopback(url) => {}
        _ => return Err("its scheme is not https"),
    }
    if !has_authority(text) {
        return Err("it is not of the form https://host");
    }
    if has_userinfo(text) {
        return Err("it carries user information");
    }
    Ok(())
}

/// The URL of one call: the endpoint, the operation's path with its parameters filled in, the query.
pub(crate) fn join(
    base: &str,
    template: &str,
    path: &[(&'static str, String)],
    query: &[(&'static str, String)],
) -> Result<Url, RequestError> {
    let mut text = base.to_owned();
    let mut rest = template;
    while let Some((before, tail)) = rest.split_once('{') {
        text.push_str(before);
        let (name, after) = tail.split_once('}').unwrap_or((tail, ""));
        let value = path.iter().find(|(given, _)| *given == name);
        let Some((_, value)) = value else {
            return Err(RequestError::Path {
                name: name.to_owned(),
                problem: "no value was given",
            });
        };
        push_segment(&mut text, name, value)?;
        rest = after;
    }
    text.push_str(rest);
    let mut url = Url::parse(&text).map_err(|_| RequestError::Path {
        name: template.to_owned(),
        problem: "it does not make a URL",
    })?;
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    Ok(url)
}

/// Appends a value as one path segment: all but RFC 3986's unreserved characters are encoded, so
/// that no id can reach into another path, a query or a fragment.
fn push_segment(text: &mut String, name: &str, value: &str) -> Result<(), RequestError> {
    let problem = match value {
        "" => Some("it is empty"),
        "." | ".." => Some("it is a dot segment, which URLs resolve away"),
        _ => None,
    };
    if let Some(problem) = problem {
        return Err(RequestError::Path {
            name: name.to_owned(),
            problem,
        });
    }
    push_encoded(text, value);
    Ok(())
}

/// Percent-encodes all but RFC 3986's unreserved characters.
pub(crate) fn push_encoded(text: &mut String, value: &str) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            text.push(char::from(byte));
        } else {
            text.push('%');
            for nibble in [byte >> 4, byte & 15] {
                text.push(
                    char::from_digit(nibble.into(), 16).map_or('0', |c| c.to_ascii_uppercase()),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_paths_to_endpoints() {
        for (endpoint, url) in [
            (
                "https://m.example/x/v2",
                "https://m.example/x/v2/checkout-sessions",
            ),
            (
                "https://m.example/x/v2/",
                "https://m.example/x/v2/checkout-sessions",
            ),
            ("https://m.example", "https://m.example/checkout-sessions"),
            (
                "https://m.example:8443/",
                "https://m.example:8443/checkout-sessions",
            ),
            (
                "https://M.Example:443/a%2Fb",
                "https://m.example/a%2Fb/checkout-sessions",
            ),
        ] {
            let base = base(endpoint, false).unwrap();
            let joined = join(&base, "/checkout-sessions", &[], &[]).unwrap();
            assert_eq!(joined.as_str(), url);
        }
    }

    #[test]
    fn refuses_endpoints_that_cannot_carry_a_path() {
        for (endpoint, problem) in [
            (
                "https://m.example/x?y",
                "paths cannot be appended to a query or a fragment",
            ),
            (
                "https://m.example/x#y",
                "paths cannot be appended to a query or a fragment",
            ),
            ("https://u@m.example/x", "it carries user information"),
            ("http://m.example/x", "its scheme is not https"),
            (
                "http://127.0.0.1/x",
                "a loopback host needs `development()` on the agent",
            ),
            ("/x", "it is not an absolute URL"),
            ("https:m.example", "it is not of the form https://host"),
        ] {
            match base(endpoint, false) {
                Err(ConfigError::Endpoint { problem: found, .. }) => assert_eq!(found, problem),
                other => panic!("{endpoint}: {other:?}"),
            }
        }
        assert_eq!(
            base("http://127.0.0.1:80/x", true).unwrap(),
            "http://127.0.0.1/x"
        );
    }

    #[test]
    fn an_id_stays_one_segment() {
        let join = |id: &str| {
            join(
                "https://m.example/v2",
                "/checkout-sessions/{id}/complete",
                &[("id", id.to_owned())],
                &[],
            )
        };
        for (id, segment) in [
            ("co_1", "co_1"),
            (
                "gid://shop/Checkout/1?key=2#f",
                "gid%3A%2F%2Fshop%2FCheckout%2F1%3Fkey%3D2%23f",
            ),
            ("a b+c", "a%20b%2Bc"),
            ("%2e%2e", "%252e%252e"),
            ("...", "..."),
            ("é", "%C3%A9"),
            ("\\..\\", "%5C..%5C"),
        ] {
            assert_eq!(
                join(id).unwrap().as_str(),
                format!("https://m.example/v2/checkout-sessions/{segment}/complete")
            );
        }
        for id in ["", ".", ".."] {
            assert!(matches!(join(id), Err(RequestError::Path { .. })), "{id:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_id_arrives_as_itself(id in ".{1,20}") {
            proptest::prop_assume!(id != "." && id != "..");
            let url = join("https://m.example/v2", "/c/{id}/x", &[("id", id.clone())], &[]).unwrap();
            let segments: Vec<&str> = url.path_segments().unwrap().collect();
            proptest::prop_assert_eq!(segments.len(), 4);
            let (arrived, _) = url::form_urlencoded::parse(segments[2].as_bytes()).next().unwrap();
            proptest::prop_assert_eq!(arrived, id);
            proptest::prop_assert_eq!((url.query(), url.fragment()), (None, None));
        }
    }

    #[test]
    fn queries_are_encoded() {
        let url = join(
            "https://m.example",
            "/x",
            &[],
            &[("q", "a&b=c d".to_owned()), ("n", "2".to_owned())],
        );
        assert_eq!(
            url.unwrap().as_str(),
            "https://m.example/x?q=a%26b%3Dc+d&n=2"
        );
    }

    #[test]
    fn origins_are_ascii() {
        let origin = |text| origin(text, false).map(|url| url.origin().ascii_serialization());
        assert_eq!(
            origin("https://Shop.Example:443/").unwrap(),
            "https://shop.example"
        );
        assert_eq!(
            origin("https://bücher.example").unwrap(),
            "https://xn--bcher-kva.example"
        );
        assert!(origin("https://shop.example/path").is_err());
        assert!(origin("shop.example").is_err());
        assert!(origin("http://shop.example").is_err());
    }
}
