//! URLs that a buyer is sent to, and the parameters that an embedded checkout wants on them.

use super::Host;
use crate::anomaly::Anomaly;
use crate::endpoint::{self, push_encoded};
use secrecy::ExposeSecret as _;
use std::fmt;
use url::{Url, form_urlencoded};

/// A URL to send the buyer to: checked, and byte for byte as the merchant gave it, save the `ec_*`
/// parameters of an embedded one.
///
/// [`Debug`] hides `ec_auth`; what [`HandoffUrl::as_str`] gives does not belong in a log.
#[derive(Clone, PartialEq, Eq)]
pub struct HandoffUrl(String);

impl HandoffUrl {
    /// The URL.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Takes a `continue_url` if a buyer can be sent to it: absolute `https` without user
    /// information; in development also `http` on a loopback host.
    pub(super) fn check(text: &str, development: bool) -> Result<Self, &'static str> {
        // A browser drops or mends these, so what it opens would not be what was checked.
        if text
            .chars()
            .any(|c| c.is_whitespace() || c.is_control() || c == '\\')
        {
            return Err("it holds a space, a control or a backslash");
        }
        let url = Url::parse(text).map_err(|_| "it is not an absolute URL")?;
        match url.scheme() {
            "https" => {}
            "http" if development && endpoint::is_loopback(&url) => {}
            _ => return Err("its scheme is not https"),
        }
        if !endpoint::has_authority(text) {
            return Err("it is not an absolute URL");
        }
        if endpoint::has_userinfo(text) {
            return Err("it carries user information");
        }
        Ok(Self(text.to_owned()))
    }

    fn origin(&self) -> String {
        Url::parse(&self.0).map_or_else(
            |_| "null".to_owned(),
            |url| url.origin().ascii_serialization(),
        )
    }
}

impl AsRef<str> for HandoffUrl {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for HandoffUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, query, fragment) = split(&self.0);
        let pairs: Vec<&str> = query
            .split('&')
            .map(|pair| {
                if is_named(pair, |name| name == "ec_auth") {
                    "ec_auth=[redacted]"
                } else {
                    pair
                }
            })
            .collect();
        let mark = if query.is_empty() { "" } else { "?" };
        write!(f, "\"{before}{mark}{}{fragment}\"", pairs.join("&"))
    }
}

/// The binding that a response carries when its checkout can be embedded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Binding {
    pub(super) delegate: Vec<String>,
    /// `None` where the merchant does not restrict it.
    pub(super) color_scheme: Option<Vec<String>>,
}

/// A checkout's embedded URL.
pub(super) struct Embedding {
    pub(super) url: HandoffUrl,
    pub(super) origin: String,
    pub(super) delegates: Vec<String>,
    pub(super) anomaly: Option<Anomaly>,
}

pub(super) fn embed(url: &HandoffUrl, binding: &Binding, version: &str, host: &Host) -> Embedding {
    let mut delegates: Vec<String> = Vec::new();
    for delegate in &host.delegates {
        if binding.delegate.contains(delegate) && !delegates.contains(delegate) {
            delegates.push(delegate.clone());
        }
    }
    let mut added = String::from("ec_version=");
    push_encoded(&mut added, version);
    for (index, delegate) in delegates.iter().enumerate() {
        added.push_str(if index == 0 { "&ec_delegate=" } else { "," });
        push_encoded(&mut added, delegate);
    }
    if let Some(auth) = &host.auth {
        added.push_str("&ec_auth=");
        push_encoded(&mut added, auth.expose_secret());
    }
    let mut anomaly = None;
    if let Some(scheme) = host.color_scheme.map(super::ColorScheme::as_str) {
        let offered = binding.color_scheme.as_ref();
        if offered.is_none_or(|schemes| schemes.iter().any(|offered| offered == scheme)) {
            added.push_str("&ec_color_scheme=");
            added.push_str(scheme);
        } else {
            anomaly = Some(Anomaly::ColorSchemeNotOffered);
        }
    }
    Embedding {
        url: HandoffUrl(augment(url.as_str(), &added)),
        origin: url.origin(),
        delegates,
        anomaly,
    }
}

/// Replaces the `ec_*` parameters of a URL: that prefix belongs to the embedded protocol. All else
/// stays byte for byte.
fn augment(url: &str, added: &str) -> String {
    let (before, query, fragment) = split(url);
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| !is_named(pair, |name| name.starts_with("ec_")))
        .collect();
    let kept = kept.join("&");
    let separator = if kept.is_empty() || kept.ends_with('&') {
        ""
    } else {
        "&"
    };
    format!("{before}?{kept}{separator}{added}{fragment}")
}

/// What stands before the query, the query without its mark, the fragment with its mark.
fn split(url: &str) -> (&str, &str, &str) {
    let (rest, fragment) = url.split_at(url.find('#').unwrap_or(url.len()));
    let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
    (before, query, fragment)
}

/// Whether a parameter has such a name, however it is written.
fn is_named(pair: &str, name: impl Fn(&str) -> bool) -> bool {
    form_urlencoded::parse(pair.as_bytes())
        .next()
        .is_some_and(|(found, _)| name(&found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_all_but_older_parameters() {
        for (url, augmented) in [
            ("https://m.example/c", "https://m.example/c?ec_version=V"),
            ("https://m.example", "https://m.example?ec_version=V"),
            ("https://m.example/c?", "https://m.example/c?ec_version=V"),
            (
                "https://M.example:443/a/../%7e?x=%2f&y=a+b&&z#f?g",
                "https://M.example:443/a/../%7e?x=%2f&y=a+b&&z&ec_version=V#f?g",
            ),
            (
                "https://m.example/c?ec_version=1&a=1&ec_auth=S&ec%5Fdelegate=x&b=2",
                "https://m.example/c?a=1&b=2&ec_version=V",
            ),
            (
                "https://m.example/c?ec_color_scheme=dark#ec_version=1",
                "https://m.example/c?ec_version=V#ec_version=1",
            ),
            (
                "https://m.example/c?sec_x=1&EC_y",
                "https://m.example/c?sec_x=1&EC_y&ec_version=V",
            ),
        ] {
            assert_eq!(augment(url, "ec_version=V"), augmented);
        }
    }

    #[test]
    fn takes_only_urls_that_a_buyer_can_be_sent_to() {
        for (url, problem) in [
            ("http://m.example/c", "its scheme is not https"),
            ("http://127.0.0.1/c", "its scheme is not https"),
            ("javascript:alert(1)", "its scheme is not https"),
            ("/c/1", "it is not an absolute URL"),
            ("//m.example/c", "it is not an absolute URL"),
            ("https:m.example", "it is not an absolute URL"),
            ("https://", "it is not an absolute URL"),
            ("", "it is not an absolute URL"),
            (
                "https://shop.example@evil.example/c",
                "it carries user information",
            ),
            ("https://@m.example/c", "it carries user information"),
            (
                " https://m.example/c",
                "it holds a space, a control or a backslash",
            ),
            (
                "https://m.example/c\n",
                "it holds a space, a control or a backslash",
            ),
            (
                "https://evil.example\\@m.example",
                "it holds a space, a control or a backslash",
            ),
        ] {
            assert_eq!(HandoffUrl::check(url, false), Err(problem), "{url:?}");
        }
        for url in [
            "http://127.0.0.1:9/c",
            "http://localhost/c",
            "http://[::1]/c",
        ] {
            assert_eq!(HandoffUrl::check(url, true).unwrap().as_str(), url);
        }
        assert!(HandoffUrl::check("http://m.example/c", true).is_err());
        for url in [
            "HTTPS://M.example",
            "https://m.example/a@b?c=@#d",
            "https://m.example/ü",
        ] {
            assert_eq!(HandoffUrl::check(url, false).unwrap().as_str(), url);
        }
    }

    #[test]
    fn debug_hides_the_token() {
        let url = HandoffUrl("https://m.example/c?a=1&ec_auth=SECRET&b#f".into());
        assert_eq!(
            format!("{url:?}"),
            r#""https://m.example/c?a=1&ec_auth=[redacted]&b#f""#
        );
    }
}
