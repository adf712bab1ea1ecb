//! Fetching a document of a stranger: the merchant's profile, and what it names.

use crate::agent::Inner;
use crate::error::{
    BodyProblem, DiscoveryError, DiscoveryProblem, Error, Late, RequestError, shown,
};
use crate::execute;
use crate::ids;
use crate::response::RawResponse;
use http::{Method, StatusCode};
use serde_json::Value;
use url::Url;

/// How many bytes of a document are read, at most. The protocol wants no less than 128 KiB.
const LIMIT: usize = 256 * 1024;
/// How many bytes of an unusable answer are kept.
pub(crate) const KEPT: usize = 4 * 1024;

/// Fetches a JSON document. Redirects are not followed.
pub(crate) async fn json(agent: &Inner, url: &Url) -> Result<(Value, RawResponse), DiscoveryError> {
    let fail = |problem, response| DiscoveryError {
        url: url.clone(),
        problem,
        response,
    };
    let request =
        request(agent, url).map_err(|problem| fail(DiscoveryProblem::NotSent(problem), None))?;
    let answer = execute::exchange(agent, request, agent.timeout, LIMIT).await;
    let (mut response, broken) = match answer {
        Ok(answer) => answer,
        Err(error) => return Err(fail(unanswered(error), None)),
    };
    match judge(&response, broken) {
        Ok(document) => Ok((document, response)),
        Err(problem) => {
            response.shorten(KEPT);
            Err(fail(problem, Some(response)))
        }
    }
}

fn request(agent: &Inner, url: &Url) -> Result<execute::Message, RequestError> {
    let request_id = ids::random(agent.randomness.as_ref())?;
    Ok(execute::Message {
        method: Method::GET,
        url: url.clone(),
        headers: execute::base_headers(agent, request_id)?,
        body: None,
    })
}

fn unanswered(error: Error) -> DiscoveryProblem {
    match error {
        Error::Transport(error) => match late(std::error::Error::source(&error.error)) {
            Some(problem) => problem,
            None => DiscoveryProblem::NoAnswer(error.error),
        },
        // Exchanging has no other errors.
        other => DiscoveryProblem::NoAnswer(crate::TransportError::new(other)),
    }
}

fn late(error: Option<&(dyn std::error::Error + 'static)>) -> Option<DiscoveryProblem> {
    let Late(after) = error?.downcast_ref()?;
    Some(DiscoveryProblem::Timeout { after: *after })
}

fn judge(response: &RawResponse, broken: Option<BodyProblem>) -> Result<Value, DiscoveryProblem> {
    let status = response.status();
    if status.is_redirection() {
        return Err(match response.location() {
            Some(to) => DiscoveryProblem::Redirect { to: shown(to) },
            None => DiscoveryProblem::Status(status),
        });
    }
    match (status, broken) {
        (StatusCode::OK, None) => response.json().map_err(DiscoveryProblem::Body),
        (StatusCode::OK, Some(problem)) => {
            Err(late(std::error::Error::source(&problem))
                .unwrap_or(DiscoveryProblem::Body(problem)))
        }
        (
            StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::TOO_MANY_REQUESTS
            | StatusCode::SERVICE_UNAVAILABLE,
            _,
        ) => Err(DiscoveryProblem::Blocked(status)),
        _ => Err(DiscoveryProblem::Status(status)),
    }
}
