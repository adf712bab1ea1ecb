//! A client of the chat completions that many model servers speak.

use super::{Message, Model, Prompt, ToolCall};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::mpsc;
use ucp_runtime::reqwest;
use ucp_runtime::secrecy::{ExposeSecret as _, SecretString};
use ucp_runtime::tools::Definition;
use ucp_runtime::{BoxError, BoxFuture, ReqwestTransport};

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The longest line of a stream, in bytes.
const LONGEST_LINE: usize = 1024 * 1024;

/// A model behind `POST {base}/chat/completions`, streamed.
pub struct OpenAi {
    client: reqwest::Client,
    url: String,
    model: String,
    key: Option<SecretString>,
}

impl OpenAi {
    /// A model by its server's base URL (such as `http://127.0.0.1:11434/v1`), its name there, and the
    /// key of an account where one is needed.
    ///
    /// # Errors
    ///
    /// When TLS cannot be set up.
    pub fn new(base: &str, model: &str, key: Option<SecretString>) -> Result<Self, BoxError> {
        let tls = ReqwestTransport::tls(ReqwestTransport::roots())?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .timeout(TIMEOUT)
            .build()?;
        Ok(Self {
            client,
            url: format!("{}/chat/completions", base.trim_end_matches('/')),
            model: model.to_owned(),
            key,
        })
    }
}

impl Model for OpenAi {
    fn answer<'a>(
        &'a self,
        prompt: Prompt<'a>,
        text: mpsc::Sender<String>,
    ) -> BoxFuture<'a, Result<Vec<ToolCall>, BoxError>> {
        Box::pin(async move {
            let body = request(&self.model, prompt).to_string();
            let mut request = self
                .client
                .post(&self.url)
                .header("content-type", "application/json")
                .body(body);
            if let Some(key) = &self.key {
                request = request.bearer_auth(key.expose_secret());
            }
            let mut answer = request.send().await?.error_for_status()?;
            let mut parts = Parts::default();
            let mut line = Vec::new();
            while let Some(chunk) = answer.chunk().await? {
                for byte in chunk {
                    if byte != b'\n' {
                        line.push(byte);
                        continue;
                    }
                    if let Some(said) = parts.take(&line)? {
                        let _ = text.send(said).await; // whether anybody listens or not
                    }
                    line.clear();
                }
                if line.len() > LONGEST_LINE {
                    return Err("the model's answer has a line that is too long".into());
                }
            }
            parts.calls()
        })
    }
}

/// The body of the request.
fn request(model: &str, prompt: Prompt<'_>) -> Value {
    let mut messages = vec![json!({ "role": "system", "content": prompt.instructions })];
    messages.extend(prompt.history.iter().map(|message| match message {
        Message::Buyer(text) => json!({ "role": "user", "content": text }),
        Message::Note { text, .. } => {
            json!({ "role": "system", "content": format!("[{text}]") })
        }
        Message::Assistant { text, calls } => {
            let mut said = json!({ "role": "assistant", "content": text });
            if let (false, Some(members)) = (calls.is_empty(), said.as_object_mut()) {
                members.insert("tool_calls".to_owned(), calls.iter().map(call).collect());
            }
            said
        }
        Message::Tool { id, text, .. } => {
            json!({ "role": "tool", "tool_call_id": id, "content": text })
        }
    }));
    let tool = |tool: &Definition| {
        json!({ "type": "function", "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": *tool.input_schema,
        } })
    };
    json!({
        "model": model,
        "stream": true,
        "messages": messages,
        "tools": prompt.tools.iter().map(tool).collect::<Vec<_>>(),
    })
}

fn call(call: &ToolCall) -> Value {
    json!({ "id": call.id, "type": "function", "function": {
        "name": call.name,
        "arguments": call.arguments.to_string(),
    } })
}

/// The tool calls, which arrive in pieces.
#[derive(Default)]
struct Parts(Vec<(String, String, String)>);

impl Parts {
    /// Takes a line of the stream, and gives the text in it.
    fn take(&mut self, line: &[u8]) -> Result<Option<String>, BoxError> {
        let Some(data) = line.trim_ascii().strip_prefix(b"data:") else {
            return Ok(None); // a comment, or the end of an event
        };
        if data.trim_ascii() == b"[DONE]" {
            return Ok(None);
        }
        let event: Value = serde_json::from_slice(data)?;
        if let Some(error) = event.get("error") {
            let said = error["message"].as_str().unwrap_or("it does not say why");
            return Err(format!("the model failed: {said}").into());
        }
        let Some(delta) = event.pointer("/choices/0/delta") else {
            return Ok(None);
        };
        for piece in delta["tool_calls"].as_array().into_iter().flatten() {
            let index = piece["index"].as_u64().unwrap_or(0);
            // A model that wants more than a few tools at once is not served.
            let index = usize::try_from(index).unwrap_or(usize::MAX).min(15);
            if self.0.len() <= index {
                self.0.resize(index + 1, Default::default());
            }
            if let Some((id, name, arguments)) = self.0.get_mut(index) {
                id.push_str(piece["id"].as_str().unwrap_or_default());
                let function = &piece["function"];
                name.push_str(function["name"].as_str().unwrap_or_default());
                arguments.push_str(function["arguments"].as_str().unwrap_or_default());
            }
        }
        let text = delta["content"].as_str().filter(|text| !text.is_empty());
        Ok(text.map(str::to_owned))
    }

    fn calls(self) -> Result<Vec<ToolCall>, BoxError> {
        let call = |(id, name, arguments): (String, String, String)| {
            Ok(ToolCall {
                id,
                name,
                arguments: match arguments.trim() {
                    "" => json!({}),
                    // What is not JSON is told to the model as any other mistake in its arguments.
                    text => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
                },
            })
        };
        self.0.into_iter().map(call).collect()
    }
}
