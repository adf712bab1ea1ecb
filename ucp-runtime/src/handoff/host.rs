//! What the application can do with a checkout.

use secrecy::SecretString;

/// What the application that talks to the buyer can do. The default can show a link, and no more.
///
/// ```
/// use ucp_runtime::Host;
///
/// let host = Host::default()
///     .delegates(["payment.credential"]) // embeds, and pays natively
///     .renders_disclosures();
/// ```
#[derive(Clone, Debug, Default)]
pub struct Host {
    pub(super) embeds: bool,
    pub(super) delegates: Vec<String>,
    pub(super) renders_disclosures: bool,
    pub(super) color_scheme: Option<ColorScheme>,
    pub(super) auth: Option<SecretString>,
    pub(super) development: bool,
}

impl Host {
    /// It can show the merchant's checkout in a frame or a web view.
    #[must_use]
    pub fn embeds(mut self) -> Self {
        self.embeds = true;
        self
    }

    /// It can embed, and handles these interactions natively, for example `payment.credential`.
    #[must_use]
    pub fn delegates<D: Into<String>>(mut self, delegates: impl IntoIterator<Item = D>) -> Self {
        self.embeds = true;
        self.delegates.extend(delegates.into_iter().map(Into::into));
        self
    }

    /// It shows warnings with `presentation: disclosure` as the protocol wants: beside what they are
    /// about, with their image, neither hidden nor dismissible. Without this, a checkout with a
    /// disclosure goes to the merchant's own pages.
    #[must_use]
    pub fn renders_disclosures(mut self) -> Self {
        self.renders_disclosures = true;
        self
    }

    /// The color scheme of an embedded checkout. Default: what the buyer's system prefers.
    #[must_use]
    pub fn color_scheme(mut self, scheme: ColorScheme) -> Self {
        self.color_scheme = Some(scheme);
        self
    }

    /// The token that authenticates the host to an embedded checkout (`ec_auth`), in the merchant's
    /// own format. It becomes part of the URL, which is therefore a secret itself.
    #[must_use]
    pub fn auth(mut self, token: impl Into<SecretString>) -> Self {
        self.auth = Some(token.into());
        self
    }

    /// It also opens `http` URLs on loopback hosts.
    #[must_use]
    pub fn development(mut self) -> Self {
        self.development = true;
        self
    }
}

/// A color scheme of an embedded checkout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorScheme {
    /// Dark text on a light background.
    Light,
    /// Light text on a dark background.
    Dark,
}

impl ColorScheme {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}
