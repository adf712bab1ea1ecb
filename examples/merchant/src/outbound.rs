//! The HTTP client for what the merchant fetches and sends.

use std::sync::Arc;
use std::time::Duration;

use crate::Error;

/// A client that follows no redirect, asks no proxy and waits no longer than `timeout`.
///
/// # Errors
///
/// When TLS cannot be set up.
pub fn client(timeout: Duration) -> Result<reqwest::Client, Error> {
    // reqwest without a process-wide TLS provider must be handed a complete configuration.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let roots = rustls::RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .timeout(timeout)
        .build()?;
    Ok(client)
}
