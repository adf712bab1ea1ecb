//! What an agent serves itself: its profile, which the merchant reads.

use crate::golden::shopping_2026_04_08::RELEASE;
use ucp_runtime::{BoxError, PlatformProfile};

/// Serves a profile on loopback, and gives its URL.
pub(super) async fn profile() -> Result<String, BoxError> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let origin = format!("http://{}", listener.local_addr()?);
    let profile = PlatformProfile::builder(&RELEASE).development().build()?;
    tokio::spawn(async move { axum::serve(listener, profile.router()).await });
    Ok(format!("{origin}{}", PlatformProfile::PATH))
}
