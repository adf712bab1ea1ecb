//! The proxy between client and merchant: does to each request what its tag says, and keeps what it
//! saw. It works on sockets, since it breaks what a server would mend.

use super::line::{TAG, transport};
use super::plan::{Fault, Plan};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use ucp_runtime::http::{self, HeaderMap, HeaderName, Method, header};
use ucp_runtime::jiff::Timestamp;
use ucp_runtime::{BoxError, ReqwestTransport, Transport as _};

/// What the proxy saw of a purchase, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A request to complete a checkout.
    Complete,
    /// A checkout that was read, and whose answer went out whole.
    Read,
}

/// What the proxy knows of a purchase.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// What it saw.
    pub seen: Vec<Seen>,
    /// The checkouts that the merchant made.
    pub checkouts: Vec<String>,
}

/// A request on its way.
#[derive(Clone, Debug)]
pub struct Passing<'a> {
    /// The purchase.
    pub purchase: u32,
    /// The request's number within it, from 1.
    pub number: u32,
    /// Nothing before the merchant has acted; then the id of the checkout that it made, if it did.
    pub acted: Option<Option<&'a str>>,
}

/// Is told of every request that passes.
pub type Watch = dyn Fn(Passing<'_>) + Send + Sync;

/// A proxy on loopback.
pub struct Proxy {
    origin: String,
    inner: Arc<Inner>,
}

struct Inner {
    merchant: String,
    transport: ReqwestTransport,
    plan: Plan,
    began: Timestamp,
    desks: Mutex<HashMap<u32, Desk>>,
    watch: Box<Watch>,
    /// Where the merchant is to know no repetition: how many keys were exchanged.
    forgetful: Option<AtomicU64>,
}

/// One purchase.
#[derive(Default)]
struct Desk {
    arrived: u32,
    /// How many of its requests are on their way to the merchant.
    active: u32,
    /// Requests that are late, and after how many arrivals they go on.
    held: Vec<(u32, Incoming)>,
    record: Record,
}

#[derive(Clone)]
struct Incoming {
    method: Method,
    target: String,
    headers: HeaderMap,
    body: Bytes,
    purchase: u32,
    fault: Option<Fault>,
}

struct Answer {
    status: http::StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Proxy {
    /// Listens on a free port and forwards to a merchant (`http://host:port`). Where that is
    /// `forgetful`, each request gets a key of its own on the way, as if no key were kept.
    ///
    /// # Errors
    ///
    /// When there is no port or no client.
    pub async fn start(
        merchant: &str,
        plan: Plan,
        began: Timestamp,
        watch: Box<Watch>,
        forgetful: bool,
    ) -> Result<Self, BoxError> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let origin = format!("http://{}", listener.local_addr()?);
        let inner = Arc::new(Inner {
            merchant: merchant.to_owned(),
            transport: transport()?,
            plan,
            began,
            desks: Mutex::default(),
            watch,
            forgetful: forgetful.then(AtomicU64::default),
        });
        let serving = inner.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let inner = serving.clone();
                tokio::spawn(async move {
                    // A client that goes away is its own affair.
                    let _ = inner.serve(stream).await;
                });
            }
        });
        Ok(Self { origin, inner })
    }

    /// `http://host:port`.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Ends a purchase: what is late is delivered now, and what was seen comes back.
    pub async fn finish(&self, purchase: u32) -> Record {
        self.inner.deliver(purchase, u32::MAX).await;
        loop {
            {
                let mut desks = self.inner.desks();
                match desks.get(&purchase) {
                    Some(desk) if desk.active > 0 => {}
                    _ => return desks.remove(&purchase).unwrap_or_default().record,
                }
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

impl Inner {
    fn desks(&self) -> MutexGuard<'_, HashMap<u32, Desk>> {
        self.desks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(&self, mut stream: TcpStream) -> Result<(), BoxError> {
        stream.set_nodelay(true)?;
        let mut buffer = BytesMut::new();
        while let Some(request) = read(&mut stream, &mut buffer).await? {
            let number = self.arrive(&request);
            (self.watch)(Passing {
                purchase: request.purchase,
                number,
                acted: None,
            });
            self.deliver(request.purchase, number).await;
            if !self.answer(&mut stream, request, number).await? {
                break;
            }
        }
        Ok(())
    }

    fn arrive(&self, request: &Incoming) -> u32 {
        let mut desks = self.desks();
        let desk = desks.entry(request.purchase).or_default();
        desk.arrived += 1;
        if request.target.ends_with("/complete") {
            desk.record.seen.push(Seen::Complete);
        }
        desk.arrived
    }

    /// Delivers what was held back until so many requests have arrived.
    async fn deliver(&self, purchase: u32, arrived: u32) {
        let mut due = Vec::new();
        if let Some(desk) = self.desks().get_mut(&purchase) {
            desk.held.retain(|(after, request)| {
                let is_due = *after <= arrived;
                if is_due {
                    due.push(request.clone());
                }
                !is_due
            });
        }
        for request in due {
            // Nobody waits for its answer.
            let _ = self.forward(&request, arrived).await;
        }
    }

    /// Does what the tag says. False when the connection is at its end.
    async fn answer(
        &self,
        stream: &mut TcpStream,
        request: Incoming,
        number: u32,
    ) -> Result<bool, BoxError> {
        match request.fault {
            None | Some(Fault::Refused) => {
                let answer = self.forward(&request, number).await?;
                self.read_by(&request, &answer);
                stream.write_all(&answer.bytes()).await?;
                return Ok(true);
            }
            Some(Fault::ResetBefore) => stream.set_zero_linger()?,
            Some(Fault::ResetAfter) => {
                self.forward(&request, number).await?;
                stream.set_zero_linger()?;
            }
            Some(Fault::LateBefore) => {
                let after = number + self.plan.lateness(request.purchase, number);
                if let Some(desk) = self.desks().get_mut(&request.purchase) {
                    desk.held.push((after, request));
                }
                gone(stream).await;
            }
            Some(Fault::LateAfter) => {
                self.forward(&request, number).await?;
                gone(stream).await;
            }
            Some(Fault::HeadCut) => {
                let answer = self.forward(&request, number).await?;
                let head = answer.head();
                stream.write_all(half(&head)).await?;
            }
            Some(Fault::BodyCut) => {
                let answer = self.forward(&request, number).await?;
                let mut bytes = answer.head();
                bytes.extend_from_slice(half(&answer.body));
                stream.write_all(&bytes).await?;
            }
            Some(Fault::Duplicated) => {
                let (one, other) = tokio::join!(
                    self.forward(&request, number),
                    self.forward(&request, number)
                );
                other?;
                let answer = one?;
                self.read_by(&request, &answer);
                stream.write_all(&answer.bytes()).await?;
                return Ok(true);
            }
            Some(Fault::StatusBefore(status)) => {
                stream.write_all(&self.gate(status)?.bytes()).await?;
                return Ok(true);
            }
            Some(Fault::StatusAfter(status)) => {
                self.forward(&request, number).await?;
                stream.write_all(&self.gate(status)?.bytes()).await?;
                return Ok(true);
            }
            Some(Fault::Signature) => {
                let mut answer = self.forward(&request, number).await?;
                corrupt(&mut answer.headers)?;
                stream.write_all(&answer.bytes()).await?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Hands a request to the merchant.
    async fn forward(&self, request: &Incoming, number: u32) -> Result<Answer, BoxError> {
        let count = |more: bool| {
            let mut desks = self.desks();
            let desk = desks.entry(request.purchase).or_default();
            desk.active = match more {
                true => desk.active + 1,
                false => desk.active.saturating_sub(1),
            };
        };
        count(true);
        let answer = self.exchange(request).await;
        count(false);
        let answer = answer?;
        let made = (request.method == Method::POST
            && request.target.ends_with("/checkout-sessions")
            && answer.status == http::StatusCode::CREATED)
            .then(|| serde_json::from_slice::<Value>(&answer.body).ok())
            .flatten();
        let made = made.as_ref().and_then(|body| body.get("id")?.as_str());
        if let Some(id) = made {
            let mut desks = self.desks();
            let record = &mut desks.entry(request.purchase).or_default().record;
            if !record.checkouts.iter().any(|known| known == id) {
                record.checkouts.push(id.to_owned());
            }
        }
        (self.watch)(Passing {
            purchase: request.purchase,
            number,
            acted: Some(made),
        });
        Ok(answer)
    }

    async fn exchange(&self, request: &Incoming) -> Result<Answer, BoxError> {
        let mut forwarded = http::Request::new(request.body.clone());
        *forwarded.method_mut() = request.method.clone();
        *forwarded.uri_mut() = format!("{}{}", self.merchant, request.target).parse()?;
        *forwarded.headers_mut() = request.headers.clone();
        if let (Some(exchanged), Some(key)) = (
            &self.forgetful,
            forwarded.headers_mut().get_mut("idempotency-key"),
        ) {
            let number = exchanged.fetch_add(1, Ordering::Relaxed);
            *key = format!("00000000-0000-4000-8000-{number:012x}").parse()?;
        }
        let response = self.transport.send(forwarded).await?;
        let (head, body) = response.into_parts();
        Ok(Answer {
            status: head.status,
            headers: head.headers,
            body: body.collect().await?.to_bytes(),
        })
    }

    /// Notes a checkout that was read.
    fn read_by(&self, request: &Incoming, answer: &Answer) {
        if request.method == Method::GET && answer.status.is_success() {
            let mut desks = self.desks();
            let desk = desks.entry(request.purchase).or_default();
            desk.record.seen.push(Seen::Read);
        }
    }

    /// What a gate between client and merchant says.
    fn gate(&self, status: u16) -> Result<Answer, BoxError> {
        let mut headers = HeaderMap::new();
        let (kind, body) = match status {
            502 => ("text/html", "<html><body>Bad Gateway</body></html>"),
            500 => ("text/plain", "Internal Server Error"),
            _ => ("application/json", r#"{"detail":"later"}"#),
        };
        headers.insert(header::CONTENT_TYPE, kind.parse()?);
        match status {
            429 => headers.insert(header::RETRY_AFTER, "2".parse()?),
            503 => {
                // By the clock at the run's beginning: past for a client that has waited since.
                let at = self.began.saturating_add(Duration::from_secs(3))?;
                let date = at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
                headers.insert(header::RETRY_AFTER, date.parse()?)
            }
            _ => None,
        };
        Ok(Answer {
            status: http::StatusCode::from_u16(status)?,
            headers,
            body: Bytes::from_static(body.as_bytes()),
        })
    }
}

impl Answer {
    fn head(&self) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} -\r\n", self.status.as_u16()).into_bytes();
        for (name, value) in &self.headers {
            if is_framing(name) {
                continue;
            }
            head.extend_from_slice(name.as_str().as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value.as_bytes());
            head.extend_from_slice(b"\r\n");
        }
        let length = format!("content-length: {}\r\n\r\n", self.body.len());
        head.extend_from_slice(length.as_bytes());
        head
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

fn is_framing(name: &HeaderName) -> bool {
    [
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
        header::CONNECTION,
    ]
    .contains(name)
}

fn half(bytes: &[u8]) -> &[u8] {
    bytes.get(..bytes.len() / 2).unwrap_or_default()
}

/// Waits until the client has given up.
async fn gone(stream: &mut TcpStream) {
    let mut rest = [0; 64];
    while matches!(stream.read(&mut rest).await, Ok(read) if read > 0) {}
}

/// Exchanges one character within the signature's value.
fn corrupt(headers: &mut HeaderMap) -> Result<(), BoxError> {
    let signature = headers.get("signature").ok_or("the answer is not signed")?;
    let mut value = signature.as_bytes().to_vec();
    let middle = value.len() / 2;
    if let Some(byte) = value.get_mut(middle) {
        *byte = if *byte == b'A' { b'B' } else { b'A' };
    }
    headers.insert("signature", value.as_slice().try_into()?);
    Ok(())
}

/// Reads one request; nothing when the client has closed the connection.
async fn read(stream: &mut TcpStream, buffer: &mut BytesMut) -> Result<Option<Incoming>, BoxError> {
    loop {
        if let Some(request) = parse(buffer)? {
            return Ok(Some(request));
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

fn parse(buffer: &mut BytesMut) -> Result<Option<Incoming>, BoxError> {
    let mut lines = [httparse::EMPTY_HEADER; 64];
    let mut parsed = httparse::Request::new(&mut lines);
    let httparse::Status::Complete(length) = parsed.parse(buffer)? else {
        return Ok(None);
    };
    let mut headers = HeaderMap::new();
    for line in parsed.headers.iter() {
        headers.append(
            HeaderName::from_bytes(line.name.as_bytes())?,
            line.value.try_into()?,
        );
    }
    let method: Method = parsed.method.unwrap_or_default().parse()?;
    let target = parsed.path.unwrap_or_default().to_owned();
    let size: usize = match headers.get(header::CONTENT_LENGTH) {
        Some(size) => size.to_str()?.parse()?,
        None => 0,
    };
    if buffer.len() < length + size {
        return Ok(None);
    }
    let mut whole = buffer.split_to(length + size);
    let body = whole.split_off(length).freeze();
    let tag = headers.remove(TAG).ok_or("a request without a tag")?;
    let (purchase, fault) = tag.to_str()?.split_once(' ').ok_or("a broken tag")?;
    for name in [header::CONTENT_LENGTH, header::CONNECTION] {
        headers.remove(name);
    }
    Ok(Some(Incoming {
        method,
        target,
        headers,
        body,
        purchase: purchase.parse()?,
        fault: match fault {
            "-" => None,
            number => Fault::ALL.get(number.parse::<usize>()?).copied(),
        },
    }))
}
