//! The default transport.

use crate::error::ConfigError;
use crate::fetch::{self, Resolver, SystemResolver};
use crate::transport::{BoxFuture, ResponseBody, Transport, TransportError};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use reqwest::ClientBuilder;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use rustls::{ClientConfig, RootCertStore};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// HTTP/1.1 and HTTP/2 through [`reqwest`], TLS through [`rustls`] with `ring`.
///
/// The crypto provider is chosen in this client alone and never installed for the process; the roots
/// are those of `webpki-roots`, the same on every machine; proxies of the environment are not used;
/// redirects are refused, also those of a builder that is passed in.
///
/// To go through a proxy, to trust a further authority or to show a client certificate:
///
/// ```
/// use ucp_runtime::{ReqwestTransport, reqwest, rustls};
///
/// let mut roots = ReqwestTransport::roots();
/// // roots.add(certificate)?;
/// let tls = ReqwestTransport::tls(roots)?;
/// let proxy = reqwest::Proxy::all("http://proxy.example:3128")?;
/// let transport = ReqwestTransport::with_builder(reqwest::Client::builder().proxy(proxy), tls)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReqwestTransport {
    client: reqwest::Client,
}

impl ReqwestTransport {
    /// The transport that an agent has by default: it connects to public addresses only.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Transport`] when the client cannot be made.
    pub fn new() -> Result<Self, ConfigError> {
        Self::guarded(Arc::new(SystemResolver), false)
    }

    /// With another resolver, and in development with loopback.
    pub(crate) fn guarded(
        resolver: Arc<dyn Resolver>,
        development: bool,
    ) -> Result<Self, ConfigError> {
        let guard = Guard {
            resolver,
            development,
        };
        let builder = reqwest::Client::builder()
            .no_proxy()
            .dns_resolver(guard)
            .connect_timeout(Duration::from_secs(10));
        Self::with_builder(builder, Self::tls(Self::roots())?)
    }

    /// A transport of a builder of your own. It resolves names as it is set to, so keeping away from
    /// special-use addresses is its own affair: see [`fetch`](crate::fetch). Its redirect policy is replaced, as a followed redirect
    /// would carry credentials to another place and could not be seen afterwards; its TLS settings
    /// are replaced by `tls`. ALPN is set unless `tls` sets it. A builder without a proxy of its own
    /// and without `no_proxy()` uses those of the environment.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Transport`] when the client cannot be made.
    pub fn with_builder(
        builder: ClientBuilder,
        mut tls: ClientConfig,
    ) -> Result<Self, ConfigError> {
        if tls.alpn_protocols.is_empty() {
            // reqwest sets none on a configuration that it is given, and then speaks HTTP/1.1 only.
            tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        }
        let client = builder
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .tls_backend_preconfigured(tls)
            .build()
            .map_err(|error| ConfigError::Transport {
                source: error.into(),
            })?;
        Ok(Self { client })
    }

    /// The roots that are trusted by default.
    #[must_use]
    pub fn roots() -> RootCertStore {
        webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect()
    }

    /// The default TLS settings with other roots.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Transport`] when the provider supports no version of TLS.
    pub fn tls(roots: RootCertStore) -> Result<ClientConfig, ConfigError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| ConfigError::Transport {
                source: error.into(),
            })?;
        Ok(builder.with_root_certificates(roots).with_no_client_auth())
    }
}

/// Gives the connector the addresses that were checked, and no others.
#[derive(Clone)]
struct Guard {
    resolver: Arc<dyn Resolver>,
    development: bool,
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move {
            let host = name.as_str();
            let found = guard.resolver.resolve(host).await?;
            let checked = fetch::public(host, found, guard.development)?;
            // The port is the URL's.
            let checked = checked.into_iter().map(|ip| SocketAddr::new(ip, 0));
            Ok(Box::new(checked) as Addrs)
        })
    }
}

impl Transport for ReqwestTransport {
    fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'_, Result<http::Response<ResponseBody>, TransportError>> {
        Box::pin(async move {
            let request = reqwest::Request::try_from(request).map_err(TransportError::not_sent)?;
            let response = self.client.execute(request).await.map_err(|error| {
                // The URL is in our own error, without what it may hold in its query.
                let error = error.without_url();
                if error.is_connect() || error.is_builder() {
                    TransportError::not_sent(error)
                } else {
                    TransportError::new(error)
                }
            })?;
            let response = http::Response::<reqwest::Body>::from(response);
            Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
        })
    }
}
