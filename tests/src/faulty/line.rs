//! The client's end of the line: says on each request what is to become of it, and keeps the trace.

use super::plan::{Fault, Plan, Step};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::net::TcpSocket;
use ucp_runtime::http::{HeaderName, HeaderValue, Request, Response, Uri, uri};
use ucp_runtime::{
    BoxError, BoxFuture, ReqwestTransport, ResponseBody, Transport, TransportError, reqwest,
};

/// The header that tells the [proxy](super::proxy) what to do: `purchase fault`, by number.
pub(super) const TAG: HeaderName = HeaderName::from_static("x-line");

/// What happened in a purchase, as the client saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request was sent, and this is what became of it.
    Sent(Step, Option<Fault>),
    /// A call was answered.
    Answered,
    /// A call said that its outcome is not known.
    Unknown,
    /// What was not known is.
    Recovered,
    /// What is not known could not be found out yet.
    StillUnknown,
    /// A call said that it was not done, or that nothing could be read.
    NotDone,
}

/// Lines to one place, which share their connections.
#[derive(Clone)]
pub struct Lines {
    transport: ReqwestTransport,
    plan: Plan,
    /// A port that is taken and that nobody listens on.
    closed: Arc<(TcpSocket, SocketAddr)>,
}

impl Lines {
    /// Lines with the faults of a plan.
    ///
    /// # Errors
    ///
    /// When a port or a client cannot be had.
    pub fn new(plan: Plan) -> Result<Self, BoxError> {
        let closed = TcpSocket::new_v4()?;
        closed.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let address = closed.local_addr()?;
        Ok(Self {
            transport: transport()?,
            plan,
            closed: Arc::new((closed, address)),
        })
    }

    /// The line of a purchase.
    #[must_use]
    pub fn line(&self, purchase: u32) -> Line {
        Line {
            lines: self.clone(),
            purchase,
            trace: Arc::default(),
        }
    }
}

/// HTTP over loopback.
pub(super) fn transport() -> Result<ReqwestTransport, BoxError> {
    let tls = ReqwestTransport::tls(ReqwestTransport::roots())?;
    let builder = reqwest::Client::builder().no_proxy();
    Ok(ReqwestTransport::with_builder(builder, tls)?)
}

#[derive(Debug, Default)]
struct Trace {
    tried: BTreeMap<Step, u32>,
    events: Vec<Event>,
}

/// The line of one purchase.
#[derive(Clone)]
pub struct Line {
    lines: Lines,
    purchase: u32,
    trace: Arc<Mutex<Trace>>,
}

impl Line {
    fn trace(&self) -> MutexGuard<'_, Trace> {
        self.trace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds to the trace.
    pub fn note(&self, event: Event) {
        self.trace().events.push(event);
    }

    /// What happened.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.trace().events.clone()
    }

    /// What becomes of a request that is sent now; `None` for one that is no part of a purchase.
    fn strike(&self, request: &Request<Bytes>) -> Option<Option<Fault>> {
        let mut trace = self.trace();
        let completed = trace.tried.contains_key(&Step::Complete);
        let step = Step::of(request.method(), request.uri().path(), completed)?;
        let tried = trace.tried.entry(step).or_default();
        let fault = self.lines.plan.fault(self.purchase, step, *tried);
        *tried += 1;
        trace.events.push(Event::Sent(step, fault));
        Some(fault)
    }

    fn divert(&self, to: &Uri) -> Result<Uri, BoxError> {
        let mut parts = uri::Parts::from(to.clone());
        parts.authority = Some(self.lines.closed.1.to_string().parse()?);
        Ok(Uri::from_parts(parts)?)
    }
}

impl Transport for Line {
    fn send(
        &self,
        mut request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<Response<ResponseBody>, TransportError>> {
        match self.strike(&request) {
            None => {}
            Some(Some(Fault::Refused)) => match self.divert(request.uri()) {
                Ok(diverted) => *request.uri_mut() = diverted,
                Err(error) => return Box::pin(std::future::ready(Err(TransportError::new(error)))),
            },
            Some(fault) => {
                let number = fault.and_then(|it| Fault::ALL.iter().position(|other| *other == it));
                let number = number.map_or_else(|| "-".to_owned(), |number| number.to_string());
                if let Ok(tag) = HeaderValue::try_from(format!("{} {number}", self.purchase)) {
                    request.headers_mut().insert(TAG, tag);
                }
            }
        }
        self.lines.transport.send(request)
    }
}
