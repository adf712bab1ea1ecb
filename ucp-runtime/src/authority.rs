//! Who may speak for a name: capabilities, services and payment handlers are named after a domain,
//! and the `schema` that describes one must come from there (overview, "Authority Binding").
//!
//! A binding says who makes a claim, not that the claim deserves trust, and it does not make the URL
//! safe to fetch.

use crate::endpoint;
use url::{Host, Url};

/// Why a `schema` URL does not bind a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Unbound {
    /// It does not parse as an absolute URL.
    #[error("its schema is not an absolute URL")]
    NotUrl,
    /// Its host is this machine, which is nobody's authority. In development it passes.
    #[error("its schema is on a loopback host, which needs the development setting")]
    Loopback,
    /// Its scheme is another than `https`.
    #[error("its schema is not on https")]
    NotHttps,
    /// It carries user information.
    #[error("its schema's URL carries user information")]
    UserInfo,
    /// Its host is an IP address, or a name with an empty label.
    #[error("its schema is not on a domain")]
    NotDomain,
    /// Its host has only one label.
    #[error("its schema is on a host of a single label")]
    SingleLabel,
    /// Its host does not own the name.
    #[error("its schema is on {host}, which does not own the name")]
    Foreign {
        /// The host, in ASCII and lower case, without a dot at its end.
        host: String,
    },
}

/// Checks that the host of a `schema` URL owns a name: the host's labels in reverse equal the name,
/// or are the labels that the name begins with.
///
/// ```
/// use ucp_runtime::authority::{Unbound, bind};
///
/// let name = "dev.ucp.shopping.checkout";
/// assert_eq!(bind(name, "https://ucp.dev/schemas/checkout.json"), Ok(()));
/// assert_eq!(bind(name, "https://shopping.ucp.dev/checkout.json"), Ok(()));
/// assert_eq!(bind(name, "https://ucp.dev@evil.example/x"), Err(Unbound::UserInfo));
/// ```
///
/// # Errors
///
/// [`Unbound`] when it does not.
pub fn bind(name: &str, schema: &str) -> Result<(), Unbound> {
    let url = Url::parse(schema).map_err(|_| Unbound::NotUrl)?;
    let has_user = !url.username().is_empty() || url.password().is_some();
    if has_user || endpoint::has_userinfo(schema) {
        return Err(Unbound::UserInfo);
    }
    if matches!(url.scheme(), "http" | "https") && endpoint::is_loopback(&url) {
        return Err(Unbound::Loopback);
    }
    if url.scheme() != "https" {
        return Err(Unbound::NotHttps);
    }
    // Parsing has put the host into lower case and A-labels.
    let Some(Host::Domain(host)) = url.host() else {
        return Err(Unbound::NotDomain);
    };
    let host = host.strip_suffix('.').unwrap_or(host);
    if host.split('.').any(str::is_empty) {
        return Err(Unbound::NotDomain);
    }
    if !host.contains('.') {
        return Err(Unbound::SingleLabel);
    }
    let mut labels = name.split('.');
    if host.rsplit('.').all(|label| labels.next() == Some(label)) {
        Ok(())
    } else {
        Err(Unbound::Foreign {
            host: host.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn foreign(host: &str) -> Result<(), Unbound> {
        Err(Unbound::Foreign {
            host: host.to_owned(),
        })
    }

    #[test]
    fn c100_the_host_in_reverse_begins_the_name() {
        let checkout = "dev.ucp.shopping.checkout";
        for (name, schema, verdict) in [
            (
                checkout,
                "https://ucp.dev/2026-04-08/schemas/shopping/checkout.json",
                Ok(()),
            ),
            (checkout, "https://shopping.ucp.dev/x", Ok(())),
            (checkout, "https://UCP.Dev./x", Ok(())),
            (checkout, "https://ucp.dev:8443/x?y#z", Ok(())),
            (checkout, "https://checkout.shopping.ucp.dev", Ok(())),
            (
                checkout,
                "https://a.checkout.shopping.ucp.dev/x",
                foreign("a.checkout.shopping.ucp.dev"),
            ),
            (
                checkout,
                "https://ucp.dev@evil.example/x",
                Err(Unbound::UserInfo),
            ),
            (
                checkout,
                "https://ucp.dev:p@evil.example/x",
                Err(Unbound::UserInfo),
            ),
            (checkout, "https://@ucp.dev/x", Err(Unbound::UserInfo)),
            (checkout, "https://evil.example/x", foreign("evil.example")),
            (
                checkout,
                "https://evil.example/https://ucp.dev/x",
                foreign("evil.example"),
            ),
            (
                checkout,
                "https://evil.example\\@ucp.dev/x",
                foreign("evil.example"),
            ),
            (
                checkout,
                "https://ucp.dev.evil.example/x",
                foreign("ucp.dev.evil.example"),
            ),
            (checkout, "https://xucp.dev/x", foreign("xucp.dev")),
            (checkout, "http://ucp.dev/x", Err(Unbound::NotHttps)),
            (checkout, "ftp://ucp.dev/x", Err(Unbound::NotHttps)),
            (checkout, "data:application/json,{}", Err(Unbound::NotHttps)),
            (checkout, "//ucp.dev/x", Err(Unbound::NotUrl)),
            (checkout, "checkout.json", Err(Unbound::NotUrl)),
            (checkout, "", Err(Unbound::NotUrl)),
            (checkout, "https://dev/x", Err(Unbound::SingleLabel)),
            (checkout, "https://ucp.dev../x", Err(Unbound::NotDomain)),
            (checkout, "https://203.0.113.10/x", Err(Unbound::NotDomain)),
            (checkout, "https://0xCB00710A/x", Err(Unbound::NotDomain)),
            (checkout, "https://[2001:db8::1]/x", Err(Unbound::NotDomain)),
            (checkout, "https://localhost/x", Err(Unbound::Loopback)),
            (checkout, "http://127.0.0.1:8182/x", Err(Unbound::Loopback)),
            ("dev.ucp", "https://ucp.dev/x", Ok(())),
            ("dev.ucpx.checkout", "https://ucp.dev/x", foreign("ucp.dev")),
            ("com.example.pay", "https://pay.example.com/x", Ok(())),
            ("com.example.pay", "https://example.com/x", Ok(())),
            (
                "com.example.pay",
                "https://cdn.example.com/x",
                foreign("cdn.example.com"),
            ),
            (
                "com.examplecorp.pay",
                "https://example.com/x",
                foreign("example.com"),
            ),
            (
                "example.xn--bcher-kva.pay",
                "https://bücher.example/x",
                Ok(()),
            ),
            ("", "https://ucp.dev/x", foreign("ucp.dev")),
        ] {
            assert_eq!(bind(name, schema), verdict, "{name} {schema}");
        }
    }
}
