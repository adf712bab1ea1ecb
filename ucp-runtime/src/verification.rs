//! Which answers must be signed, and what becomes of those whose signature does not hold.

use crate::error::Error;
use crate::keys::KeySource as _;
use crate::merchant::Merchant;
use crate::response::RawResponse;
use crate::signatures::{Rejected, ResponseHead, Verified, Verifier, is_signed};
use crate::signing;
use bytes::Bytes;
use http::StatusCode;
use std::fmt;

/// Which answers must carry a signature that holds (RFC 9421; UCP signatures, "Response Verification").
///
/// The merchant's keys are those of its profile. The releases of January 2026 do not sign answers, so
/// none of theirs is verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verification {
    /// None: signatures are not looked at.
    Off,
    /// Those that say they are signed: either header counts.
    #[default]
    WhenPresent,
    /// All that anything rests on. What a gateway says in passing (401, 403, 407, 408, 425, 429, 5xx)
    /// decides nothing, and passes unsigned.
    Required,
}

/// An answer whose signature does not hold, or that has none where one is required. Nothing in it can
/// be trusted, so there is no typed data and no decision.
///
/// `Display` has the protocol's code (`signature_missing`, `signature_invalid`, `key_not_found`,
/// `digest_mismatch`, `algorithm_unsupported`) and the reason.
pub struct Unverified {
    problem: Problem,
    response: RawResponse,
}

#[derive(Debug)]
enum Problem {
    Rejected(Rejected),
    /// The keys could not be had.
    Keys(Error),
}

impl Unverified {
    /// Why it was rejected; `None` when the merchant's keys could not be had.
    #[must_use]
    pub fn rejected(&self) -> Option<&Rejected> {
        match &self.problem {
            Problem::Rejected(rejected) => Some(rejected),
            Problem::Keys(_) => None,
        }
    }

    /// The status, which nobody vouches for.
    #[must_use]
    pub fn unverified_status(&self) -> StatusCode {
        self.response.status()
    }

    /// The body, which nobody vouches for: for a log, or for finding out what went wrong.
    #[must_use]
    pub fn unverified_bytes(&self) -> &Bytes {
        self.response.bytes()
    }
}

impl fmt::Debug for Unverified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unverified")
            .field("problem", &self.problem)
            .field("response", &self.response)
            .finish()
    }
}

impl fmt::Display for Unverified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.response.request_line();
        match &self.problem {
            Problem::Rejected(rejected) => write!(
                f,
                "the answer to {line} cannot be trusted: {rejected}; it may not be the merchant's"
            ),
            Problem::Keys(_) => write!(
                f,
                "the answer to {line} cannot be trusted: the merchant's keys could not be had"
            ),
        }
    }
}

impl std::error::Error for Unverified {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            Problem::Rejected(rejected) => Some(rejected),
            Problem::Keys(error) => Some(error),
        }
    }
}

/// Verifies a whole answer as far as the policy asks for it.
pub(crate) async fn verify(
    raw: RawResponse,
    merchant: &Merchant,
    policy: Verification,
) -> Result<(RawResponse, Option<Verified>), Error> {
    let wanted = match policy {
        Verification::Off => false,
        _ if !signing::signs(merchant.version()) => false,
        Verification::WhenPresent => is_signed(raw.headers()),
        Verification::Required => is_signed(raw.headers()) || !decides_nothing(raw.status()),
    };
    if !wanted {
        return Ok((raw, None));
    }
    let problem = match check(&raw, merchant).await {
        Ok(Ok(verified)) => return Ok((raw, Some(verified))),
        Ok(Err(rejected)) => Problem::Rejected(rejected),
        Err(error) => Problem::Keys(error),
    };
    Err(Error::Unverified(Box::new(Unverified {
        problem,
        response: raw,
    })))
}

async fn check(
    raw: &RawResponse,
    merchant: &Merchant,
) -> Result<Result<Verified, Rejected>, Error> {
    let agent = merchant.agent();
    let verifier = Verifier::at(agent.inner().clock.now());
    let head = ResponseHead {
        status: raw.status(),
        headers: raw.headers(),
    };
    // Without a signature there is nothing to fetch keys for.
    let keys = if is_signed(raw.headers()) {
        agent.keys(merchant.origin()).await?
    } else {
        Default::default()
    };
    let result = verifier.response(head, raw.bytes(), &keys);
    match result {
        Err(rejected) if rejected.unknown_key_id.is_some() => {
            let keys = agent.refresh(merchant.origin()).await?;
            Ok(verifier.response(head, raw.bytes(), &keys))
        }
        result => Ok(result),
    }
}

fn decides_nothing(status: StatusCode) -> bool {
    status.is_server_error() || [401, 403, 407, 408, 425, 429].contains(&status.as_u16())
}
