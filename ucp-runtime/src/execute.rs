//! The one path that every call takes: from a call's inputs to the bytes sent, and from the bytes
//! received to an answer. Nothing here is generic over the operation.

use crate::agent::Inner;
use crate::call::Inputs;
use crate::error::{BodyProblem, Error, Late, NoAnswer, RequestError};
use crate::guard;
use crate::headers;
use crate::hooks::{self, Outgoing, Trust};
use crate::ids::Keys;
use crate::prepared::Request;
use crate::response::{Answer, RawResponse};
use crate::retry::{Attempt, Attempted};
use crate::transport::{ResponseBody, TransportError};
use crate::{endpoint, outcome, signing, trace, transport, verification};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use http_body_util::BodyExt as _;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use url::Url;
use uuid::Uuid;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Prepares, sends, and judges the answer.
pub(crate) async fn execute(inputs: Inputs) -> Result<Answer, Error> {
    outcome::settle(&prepare(inputs).await?).await
}

/// From a call's inputs to what will be sent: body, URL, headers, hooks, and last the runtime's own
/// steps over all of it.
pub(crate) async fn prepare(inputs: Inputs) -> Result<Request, Error> {
    let operation = inputs.operation;
    prepare_request(inputs)
        .await
        .map_err(|problem| Error::not_sent(operation.id, problem))
}

async fn prepare_request(mut inputs: Inputs) -> Result<Request, RequestError> {
    if let Some(problem) = inputs.problem.take() {
        return Err(problem);
    }
    if let Some(violations) = inputs.violations.take() {
        return Err(RequestError::Rules { violations });
    }
    let operation = inputs.operation;
    let merchant = inputs.merchant.clone();
    let agent = merchant.agent().inner();
    if operation.release != merchant.version() {
        return Err(RequestError::Release {
            release: operation.release,
            version: merchant.version().to_owned(),
        });
    }
    if !recorded(&inputs, agent).await? {
        guard::check(&inputs).await?;
    }
    let keys = inputs.keys()?;
    let url = endpoint::join(
        merchant.endpoint(),
        operation.path,
        &inputs.path,
        &inputs.query,
    )?;
    let mut headers = own_headers(&inputs, agent, &keys)?;
    let credential = credential(&inputs, agent).await?;
    let has_credential = credential.is_some();
    for (name, value) in &inputs.exposed {
        expose(&mut headers, name, value, has_credential)?;
    }
    headers.extend(credential.into_iter().flatten());

    let mut outgoing = Outgoing {
        operation,
        origin: merchant.origin().to_owned(),
        method: operation.method.clone(),
        url,
        headers,
        body: inputs.body.clone().unwrap_or_default(),
        covered: Vec::new(),
        call_id: inputs.call_id.clone(),
    };
    let application = Trust::Application {
        credential: has_credential,
    };
    for hook in &agent.hooks {
        hooks::run(hook.as_ref(), application, &mut outgoing).await?;
    }
    for step in &agent.last {
        hooks::run(step.as_ref(), Trust::Runtime, &mut outgoing).await?;
    }
    Ok(Request {
        created: agent.clock.now(),
        timeout: inputs.timeout.unwrap_or(agent.timeout),
        retry: inputs.retry.unwrap_or_else(|| agent.retry.clone()),
        path: inputs.path,
        merchant: inputs.merchant,
        operation,
        message: Message {
            method: outgoing.method,
            url: outgoing.url,
            headers: outgoing.headers,
            body: inputs.body,
        },
        covered: outgoing.covered,
        call_id: outgoing.call_id,
        verification: inputs.verification.unwrap_or(agent.verification),
        keys,
    })
}

/// Whether a call that is judged was judged and recorded before: it may have been sent, and what it
/// was judged by may have changed because of that.
pub(crate) async fn recorded(inputs: &Inputs, agent: &Inner) -> Result<bool, RequestError> {
    match (inputs.judged(), &inputs.call_id) {
        (Some(_), Some(call_id)) => {
            let found = agent.journal.find(call_id.as_str()).await;
            let found = found.map_err(|source| RequestError::Journal { source })?;
            Ok(found.is_some())
        }
        _ => Ok(false),
    }
}

/// The headers that every request carries.
pub(crate) fn base_headers(agent: &Inner, request_id: Uuid) -> Result<HeaderMap, RequestError> {
    let mut headers = HeaderMap::new();
    headers.insert(
        headers::UCP_AGENT,
        value_of(&headers::UCP_AGENT, agent.profile.header())?,
    );
    headers.insert(
        headers::REQUEST_ID,
        value_of(&headers::REQUEST_ID, &request_id.to_string())?,
    );
    headers.insert(header::ACCEPT, JSON);
    // Our transports decode nothing, and digests cover the coded bytes.
    headers.insert(
        header::ACCEPT_ENCODING,
        HeaderValue::from_static("identity"),
    );
    headers.insert(header::USER_AGENT, agent.user_agent.clone());
    if let Some(languages) = &agent.accept_language {
        headers.insert(header::ACCEPT_LANGUAGE, languages.clone());
    }
    Ok(headers)
}

fn own_headers(inputs: &Inputs, agent: &Inner, keys: &Keys) -> Result<HeaderMap, RequestError> {
    let mut headers = base_headers(agent, keys.request_id)?;
    if let Some(key) = &keys.idempotency_key {
        headers.insert(
            headers::IDEMPOTENCY_KEY,
            value_of(&headers::IDEMPOTENCY_KEY, key.as_str())?,
        );
    }
    if inputs.body.is_some() {
        headers.insert(header::CONTENT_TYPE, JSON);
    }
    // Only the releases of January 2026 declare it; what it holds is between merchant and agent.
    let declared = inputs
        .operation
        .headers
        .iter()
        .find(|declared| declared.name.eq_ignore_ascii_case("request-signature"));
    match (declared, &agent.request_signature) {
        (Some(_), Some(value)) => {
            headers.insert(headers::REQUEST_SIGNATURE, value.clone());
        }
        (Some(declared), None) if declared.required => {
            return Err(RequestError::NoRequestSignature);
        }
        _ => {}
    }
    Ok(headers)
}

async fn credential(inputs: &Inputs, agent: &Inner) -> Result<Option<HeaderMap>, RequestError> {
    let Some(provider) = &agent.credentials else {
        return Ok(None);
    };
    let origin = inputs.merchant.origin();
    let refuse = |source: transport::BoxError| RequestError::Credential {
        origin: origin.to_owned(),
        source,
    };
    let credential = provider
        .credential(origin.to_owned())
        .await
        .map_err(refuse)?;
    credential
        .map(|credential| credential.headers())
        .transpose()
        .map_err(refuse)
}

/// Sets a managed header that the generated client exposes as an argument.
fn expose(
    headers: &mut HeaderMap,
    name: &'static str,
    value: &str,
    has_credential: bool,
) -> Result<(), RequestError> {
    let refuse = |name, problem| RequestError::Header { name, problem };
    let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else {
        return Err(RequestError::HeaderName { name });
    };
    if headers::is_framing(&name) {
        return Err(refuse(name, "it belongs to the transport"));
    }
    if headers::is_credential(&name) && has_credential {
        return Err(refuse(
            name,
            "an argument cannot displace the merchant's credential",
        ));
    }
    let mut value = value_of(&name, value)?;
    value.set_sensitive(headers::is_credential(&name));
    headers.insert(name, value);
    Ok(())
}

fn value_of(name: &HeaderName, value: &str) -> Result<HeaderValue, RequestError> {
    HeaderValue::from_str(value).map_err(|_| RequestError::Header {
        name: name.clone(),
        problem: "its value does not fit a header",
    })
}

/// What is sent, byte for byte.
#[derive(Clone)]
pub(crate) struct Message {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
}

/// Sends a prepared request once, and judges the answer.
pub(crate) async fn attempt(
    request: &Request,
    number: u32,
    timeout: Duration,
) -> Result<Answer, Error> {
    let agent = request.merchant.agent().inner();
    let result = trace::attempt(request, number, once(request, number, timeout)).await;
    if let Some(observer) = &agent.observer {
        observer.attempt(&Attempt {
            operation: request.operation.id,
            merchant: request.merchant.origin().to_owned(),
            number,
            keys: request.keys.clone(),
            came: came(&result),
        });
    }
    result
}

async fn once(request: &Request, number: u32, timeout: Duration) -> Result<Answer, Error> {
    let agent = request.merchant.agent().inner();
    let signed = signing::refreshed(
        agent,
        &request.message,
        &request.covered,
        number,
        request.created,
    );
    let message = signed
        .await
        .map_err(|source| Error::not_sent(request.operation.id, RequestError::Hook { source }))?;
    let (raw, broken) = exchange(agent, message, timeout, agent.response_limit).await?;
    if broken.is_some() {
        // What there is of it proves nothing, and nothing rests on it.
        return Answer::new(raw, broken, request.keys.clone(), &request.merchant);
    }
    let (raw, verified) =
        verification::verify(raw, &request.merchant, request.verification).await?;
    let mut answer = Answer::new(raw, broken, request.keys.clone(), &request.merchant)?;
    answer.verified = verified;
    Ok(answer)
}

fn came(result: &Result<Answer, Error>) -> Attempted {
    match result {
        Ok(answer) => Attempted::Answered(answer.raw.status().as_u16()),
        Err(Error::Status(error)) => Attempted::Answered(error.status.as_u16()),
        Err(Error::Transport(error)) if !error.error.may_have_arrived() => Attempted::NotSent,
        Err(error) => match error.response() {
            Some(raw) => Attempted::Unusable(raw.status().as_u16()),
            None => Attempted::Lost,
        },
    }
}

/// One request and its answer, with as much of the body as there is.
pub(crate) async fn exchange(
    agent: &Inner,
    message: Message,
    timeout: Duration,
    limit: usize,
) -> Result<(RawResponse, Option<BodyProblem>), Error> {
    let Message {
        method,
        url,
        headers,
        body,
    } = message;
    let no_answer = |error| {
        Error::Transport(Box::new(NoAnswer {
            method: method.clone(),
            url: url.clone(),
            error,
        }))
    };
    let mut request = http::Request::new(body.unwrap_or_default());
    *request.method_mut() = method.clone();
    *request.uri_mut() = url
        .as_str()
        .parse()
        .map_err(|error: http::uri::InvalidUri| no_answer(TransportError::not_sent(error)))?;
    *request.headers_mut() = headers;

    // A timeout too long to add is none.
    let deadline = Instant::now().checked_add(timeout);
    let sent = within(deadline, agent.transport.send(request)).await;
    let response = match sent {
        Some(Ok(response)) => response,
        Some(Err(error)) => return Err(no_answer(error)),
        None => {
            return Err(no_answer(TransportError::new(Late(timeout))));
        }
    };
    trace::answered(response.status());
    let (head, body) = response.into_parts();
    let mut raw = RawResponse::new(method, url, head);
    let mut bytes = BytesMut::new();
    let broken = match within(deadline, read(body, &mut bytes, limit)).await {
        Some(broken) => broken.or_else(|| short(&raw, bytes.len())),
        None => Some(BodyProblem::Truncated {
            received: bytes.len(),
            source: Late(timeout).into(),
        }),
    };
    raw.fill(bytes.freeze(), broken.is_none());
    Ok((raw, broken))
}

async fn within<T>(deadline: Option<Instant>, future: impl Future<Output = T>) -> Option<T> {
    match deadline {
        Some(deadline) => timeout_at(deadline, future).await.ok(),
        None => Some(future.await),
    }
}

/// Reads a body up to a limit. What arrived before an error stays in `bytes`.
async fn read(mut body: ResponseBody, bytes: &mut BytesMut, limit: usize) -> Option<BodyProblem> {
    while let Some(frame) = body.frame().await {
        let data = match frame {
            Ok(frame) => frame.into_data().unwrap_or_default(),
            Err(source) => {
                return Some(BodyProblem::Truncated {
                    received: bytes.len(),
                    source,
                });
            }
        };
        let room = limit.saturating_sub(bytes.len());
        bytes.extend_from_slice(data.get(..room).unwrap_or(&data));
        if data.len() > room {
            return Some(BodyProblem::TooLong { limit });
        }
    }
    None
}

/// A transport may end a body without an error before the length that was announced.
fn short(raw: &RawResponse, received: usize) -> Option<BodyProblem> {
    let announced: usize = raw
        .headers()
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()?;
    (received < announced).then(|| BodyProblem::Truncated {
        received,
        source: format!("{announced} bytes were announced").into(),
    })
}
