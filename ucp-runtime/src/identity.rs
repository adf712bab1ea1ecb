//! Who asks: the agent's profile and the `UCP-Agent` header that names it.

use crate::endpoint;
use crate::error::ConfigError;
use sfv::{BareItem, DictSerializer, Dictionary, KeyRef, ListEntry, Parser, StringRef};
use std::fmt;
use url::Url;

/// The URL of a UCP profile, sent exactly as given.
///
/// It is an absolute `https` URL (RFC 3986: no spaces, no controls, no characters outside ASCII)
/// without user information and without a fragment. `http` passes on a loopback host, for
/// development.
///
/// ```
/// use ucp_runtime::ProfileUrl;
///
/// let profile = ProfileUrl::new("https://agent.example/.well-known/ucp")?;
/// assert_eq!(
///     profile.header(),
///     r#"profile="https://agent.example/.well-known/ucp""#
/// );
/// assert!(ProfileUrl::new("/.well-known/ucp").is_err());
/// # Ok::<(), ucp_runtime::ConfigError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ProfileUrl {
    text: Box<str>,
    header: Box<str>,
    loopback: bool,
}

impl ProfileUrl {
    /// Checks a URL.
    ///
    /// # Errors
    ///
    /// [`ConfigError::ProfileUrl`] when it cannot be a profile's URL.
    pub fn new(text: &str) -> Result<Self, ConfigError> {
        let refuse = |problem| ConfigError::ProfileUrl { problem };
        // WHATWG parsing mends what RFC 3986 refuses. What is sent is the text, so the text must be
        // right by itself.
        if !text.bytes().all(is_uri_byte) {
            return Err(refuse(
                "it holds a space, a control, a quote or a character outside ASCII",
            ));
        }
        let url = Url::parse(text).map_err(|_| refuse("it is not an absolute URL"))?;
        let loopback = match url.scheme() {
            "https" => false,
            "http" if endpoint::is_loopback(&url) => true,
            _ => return Err(refuse("its scheme is not https")),
        };
        if !endpoint::has_authority(text) {
            return Err(refuse("it is not an absolute URL"));
        }
        if endpoint::has_userinfo(text) {
            return Err(refuse("it carries user information"));
        }
        if url.fragment().is_some() {
            return Err(refuse("it carries a fragment"));
        }
        let header = dictionary(&[("profile", text)])
            .ok_or_else(|| refuse("it does not fit an RFC 8941 string"))?;
        Ok(Self {
            text: text.into(),
            header: header.into(),
            loopback,
        })
    }

    /// Reads a received `UCP-Agent` header, given its field lines in order.
    ///
    /// # Errors
    ///
    /// [`ConfigError::ProfileUrl`] when the lines are not an RFC 8941 dictionary whose `profile` is
    /// a string with a profile's URL.
    pub fn from_header<'a>(lines: impl IntoIterator<Item = &'a str>) -> Result<Self, ConfigError> {
        let refuse = |problem| ConfigError::ProfileUrl { problem };
        // RFC 9110 section 5.3: the lines of a list-based field join with a comma.
        let joined = lines.into_iter().collect::<Vec<_>>().join(", ");
        let members: Dictionary = Parser::new(&joined)
            .parse()
            .map_err(|_| refuse("UCP-Agent is not an RFC 8941 dictionary"))?;
        match members.get("profile") {
            Some(ListEntry::Item(item)) => match &item.bare_item {
                BareItem::String(url) => Self::new(url.as_str()),
                _ => Err(refuse("the member `profile` of UCP-Agent is not a string")),
            },
            Some(ListEntry::InnerList(_)) => {
                Err(refuse("the member `profile` of UCP-Agent is not a string"))
            }
            None => Err(refuse("UCP-Agent has no member `profile`")),
        }
    }

    /// The URL as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The value of the `UCP-Agent` header.
    #[must_use]
    pub fn header(&self) -> &str {
        &self.header
    }

    /// Whether the URL is `http` on a loopback host, which only development allows.
    #[must_use]
    pub fn is_loopback_http(&self) -> bool {
        self.loopback
    }
}

impl fmt::Debug for ProfileUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

impl fmt::Display for ProfileUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The characters of RFC 3986: reserved, unreserved and `%`.
fn is_uri_byte(byte: u8) -> bool {
    byte.is_ascii_graphic()
        && !matches!(
            byte,
            b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}'
        )
}

/// An RFC 8941 dictionary of strings. `None` when a key or a value does not fit one.
fn dictionary(members: &[(&str, &str)]) -> Option<String> {
    let mut serializer = DictSerializer::new();
    for (key, value) in members {
        let key = KeyRef::from_str(key).ok()?;
        serializer.bare_item(key, StringRef::from_str(value).ok()?);
    }
    serializer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn keeps_the_url_as_given() {
        for url in [
            "https://agent.example",
            "https://Agent.Example:443/a/../b?x=%7e",
            "https://[2001:db8::1]/p",
            "https://agent.example/a,b;c=(d)",
        ] {
            let profile = ProfileUrl::new(url).unwrap();
            assert_eq!(profile.as_str(), url);
            assert_eq!(profile.header(), format!("profile=\"{url}\""));
        }
    }

    #[test]
    fn refuses_what_is_no_profile_url() {
        for (url, problem) in [
            ("", "it is not an absolute URL"),
            ("/.well-known/ucp", "it is not an absolute URL"),
            ("//agent.example/p", "it is not an absolute URL"),
            ("agent.example", "it is not an absolute URL"),
            ("https:agent.example", "it is not an absolute URL"),
            ("https:///agent.example", "it is not an absolute URL"),
            ("http://agent.example/p", "its scheme is not https"),
            ("ftp://127.0.0.1/p", "its scheme is not https"),
            ("tool/0.1", "it is not an absolute URL"),
            ("https://u:p@agent.example/p", "it carries user information"),
            ("https://@agent.example/p", "it carries user information"),
            ("https://agent.example/p#x", "it carries a fragment"),
            (
                "https://agent.example/\r\nX-Evil: 1",
                "it holds a space, a control, a quote or a character outside ASCII",
            ),
            (
                "https://ägent.example/p",
                "it holds a space, a control, a quote or a character outside ASCII",
            ),
        ] {
            match ProfileUrl::new(url) {
                Err(ConfigError::ProfileUrl { problem: found }) => {
                    assert_eq!(found, problem, "{url:?}");
                }
                other => panic!("{url:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn loopback_http_is_marked() {
        for url in [
            "http://127.0.0.1:8080/p",
            "http://localhost/p",
            "http://[::1]/p",
        ] {
            assert!(ProfileUrl::new(url).unwrap().is_loopback_http(), "{url}");
        }
        assert!(
            !ProfileUrl::new("https://127.0.0.1/p")
                .unwrap()
                .is_loopback_http()
        );
    }

    /// The vectors live outside the repository: `UCP_SHARED` says where. Those for reading are compared
    /// in `tests/tests/vectors.rs`.
    #[test]
    #[ignore = "needs UCP_SHARED"]
    #[allow(clippy::disallowed_methods)]
    fn writes_what_the_shared_vectors_have() {
        let shared = std::env::var_os("UCP_SHARED").unwrap();
        let path = std::path::Path::new(&shared).join("vectors/ucp_agent.json");
        let vectors: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let mut written = 0;
        for case in vectors["serialize"].as_array().unwrap() {
            let members: Option<Vec<(&str, &str)>> = case["members"]
                .as_array()
                .unwrap()
                .iter()
                .map(|member| Some((member[0].as_str()?, member[1]["string"].as_str()?)))
                .collect();
            // We write strings only; the vectors also have a boolean.
            let Some(members) = members else { continue };
            assert_eq!(
                dictionary(&members).as_deref(),
                case["output"].as_str(),
                "{}",
                case["name"]
            );
            written += 1;
        }
        assert!(written >= 6, "{written}");
    }
}
