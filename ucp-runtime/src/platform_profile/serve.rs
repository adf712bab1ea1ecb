//! Serving the profile (overview, "Hosting").

use super::PlatformProfile;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};

impl PlatformProfile {
    /// Answers a request for the profile, whatever its path: `GET` and `HEAD`, with `If-None-Match`
    /// (RFC 9110 section 13.1.2), and with the caching that the protocol asks for. Use it with any
    /// server; [`router`](Self::router) (feature `axum`) is it for axum.
    #[must_use]
    pub fn respond<B>(&self, request: &Request<B>) -> Response<Bytes> {
        let mut response = Response::new(Bytes::new());
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
            let allowed = HeaderValue::from_static("GET, HEAD");
            response.headers_mut().insert(header::ALLOW, allowed);
            return response;
        }
        let headers = response.headers_mut();
        headers.insert(header::ETAG, self.0.etag.clone());
        headers.insert(header::CACHE_CONTROL, self.0.cache_control.clone());
        if self.is_known(request.headers()) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return response;
        }
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        headers.insert(header::CONTENT_LENGTH, self.0.bytes.len().into());
        if request.method() == Method::GET {
            *response.body_mut() = self.0.bytes.clone();
        }
        response
    }

    /// Whether who asks has these bytes already. The comparison is the weak one, as for every
    /// `If-None-Match`.
    fn is_known(&self, headers: &HeaderMap) -> bool {
        let lines = headers.get_all(header::IF_NONE_MATCH).into_iter();
        let mut tags = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
        tags.any(|tag| {
            let tag = tag.trim_ascii();
            tag == b"*" || tag.strip_prefix(b"W/").unwrap_or(tag) == self.0.etag.as_bytes()
        })
    }

    /// A router that serves the profile at [`PATH`](Self::PATH), to be merged into your own.
    ///
    /// ```no_run
    /// # async fn example(profile: ucp_runtime::platform_profile::PlatformProfile) -> std::io::Result<()> {
    /// let router = axum::Router::new().merge(profile.router());
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    /// axum::serve(listener, router).await
    /// # }
    /// ```
    #[cfg(feature = "axum")]
    pub fn router<S: Clone + Send + Sync + 'static>(&self) -> axum::Router<S> {
        let profile = self.clone();
        let answer = move |request: axum::extract::Request| async move {
            profile.respond(&request).map(axum::body::Body::from)
        };
        axum::Router::new().route(Self::PATH, axum::routing::any(answer))
    }
}
