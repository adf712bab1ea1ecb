//! HTTP/1.1 messages as they are on the wire, and copies of them that somebody altered.

use tokio::io::{AsyncRead, AsyncReadExt as _};
use ucp_runtime::BoxError;

/// A message with a body of a stated length, or none.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// The first line.
    pub(crate) start: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Message {
    /// Reads the head of a message: all before the empty line.
    fn head(head: &[u8]) -> Result<Self, BoxError> {
        let head = std::str::from_utf8(head)?;
        let mut lines = head.split("\r\n");
        let start = lines.next().unwrap_or_default().to_owned();
        let headers = lines
            .map(|line| {
                let (name, value) = line.split_once(':').ok_or("a line without a colon")?;
                Ok((name.to_ascii_lowercase(), value.trim().to_owned()))
            })
            .collect::<Result<_, BoxError>>()?;
        Ok(Self {
            start,
            headers,
            body: Vec::new(),
        })
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, BoxError> {
        let end = end_of_head(bytes).ok_or("a message without an end of its head")?;
        let (head, body) = bytes.split_at(end);
        let mut message = Self::head(head)?;
        message.body = body.get(4..).unwrap_or_default().to_vec();
        Ok(message)
    }

    /// The only value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(of, _)| of == name);
        found.map(|(_, value)| value.as_str())
    }

    fn set(&self, name: &str, value: &str) -> Self {
        let mut altered = self.without(name);
        altered.headers.push((name.to_owned(), value.to_owned()));
        altered
    }

    fn without(&self, name: &str) -> Self {
        let mut altered = self.clone();
        altered.headers.retain(|(of, _)| of != name);
        altered
    }

    /// Copies that no signature of this message holds for, by what was done.
    pub(crate) fn altered(&self) -> Vec<(String, Self)> {
        let mut copies = Vec::new();
        let mut start = |what: &str, start: String| {
            copies.push((
                what.to_owned(),
                Self {
                    start,
                    ..self.clone()
                },
            ));
        };
        let parts: Vec<&str> = self.start.splitn(3, ' ').collect();
        if let ["HTTP/1.1", status, _] = parts.as_slice() {
            let other = if *status == "200" { "202" } else { "200" };
            start("status", format!("HTTP/1.1 {other} -"));
        } else if let [method, target, version] = parts.as_slice() {
            let other = if *method == "GET" { "DELETE" } else { "GET" };
            let (path, query) = target.split_once('?').unwrap_or((target, ""));
            start("method", format!("{other} {target} {version}"));
            start("path", format!("{method} {path}x?{query} {version}"));
            start("query", format!("{method} {path}?{query}&x=1 {version}"));
            copies.push(("host".to_owned(), self.set("host", "other.example")));
        }
        for name in [
            "ucp-agent",
            "idempotency-key",
            "signature-agent",
            "webhook-id",
            "webhook-timestamp",
            "content-type",
            "content-digest",
            "signature-input",
            "signature",
        ] {
            if let Some(value) = self.header(name) {
                copies.push((format!("{name} exchanged"), self.set(name, &other(value))));
                copies.push((format!("{name} removed"), self.without(name)));
            }
        }
        if let Some(input) = self.header("signature-input") {
            for first in ["\"@method\" ", "\"@status\" "] {
                if input.contains(first) {
                    let less = self.set("signature-input", &input.replacen(first, "", 1));
                    copies.push((format!("{first}dropped"), less));
                }
            }
        }
        let mut body = self.clone();
        let middle = body.body.len() / 2;
        match body.body.get_mut(middle) {
            Some(byte) => *byte ^= 1,
            None => body.body = b"{}".to_vec(),
        }
        copies.push(("body".to_owned(), body));
        copies
    }
}

/// The value with one character in its middle exchanged.
fn other(value: &str) -> String {
    let middle = value.len() / 2;
    let place = value
        .char_indices()
        .find(|(place, character)| *place >= middle && character.is_ascii_alphanumeric());
    let Some((place, character)) = place else {
        return format!("{value}x");
    };
    let exchanged = if character == 'A' { "B" } else { "A" };
    let mut value = value.to_owned();
    value.replace_range(place..=place, exchanged);
    value
}

fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n")
}

/// Reads the bytes of one message; none when the peer has closed.
pub(crate) async fn read(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
) -> Result<Option<Vec<u8>>, BoxError> {
    loop {
        if let Some(end) = end_of_head(buffer) {
            let head = Message::head(buffer.get(..end).unwrap_or_default())?;
            let length: usize = match head.header("content-length") {
                Some(length) => length.parse()?,
                None if head.header("transfer-encoding").is_some() => {
                    return Err("a body without a length".into());
                }
                None => 0,
            };
            let length = end + 4 + length;
            if buffer.len() >= length {
                let rest = buffer.split_off(length);
                return Ok(Some(std::mem::replace(buffer, rest)));
            }
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}
