//! The conversation loop. It has no state but the stored events: what it does next is read from them,
//! so that it goes on wherever it was when the process ended.

use crate::App;
use crate::events::{self, Stand};
use crate::model::Prompt;
use crate::shop::{Fresh, Trouble};
use crate::store::Draft;
use serde_json::{Value, json};
use std::collections::hash_map::Entry;
use tokio::sync::mpsc;
use ucp_runtime::BoxError;
use ucp_runtime::tools::{ToolResult, Tools};

/// Who the model is and what it may do.
const INSTRUCTIONS: &str = include_str!("../instructions.md");
/// The most answers of a model in one turn: one that calls tools for ever is stopped.
const MOST_STEPS: usize = 12;

impl App {
    /// Has a conversation's inputs answered, in the background. One at a time: what comes meanwhile is
    /// answered afterwards.
    pub(crate) fn kick(&self, conversation: &str) {
        match self.lock_turns().entry(conversation.to_owned()) {
            Entry::Occupied(mut again) => {
                again.insert(true);
                return;
            }
            Entry::Vacant(free) => free.insert(false),
        };
        let app = self.clone();
        let conversation = conversation.to_owned();
        tokio::spawn(async move {
            loop {
                if let Err(error) = app.drive(&conversation).await {
                    crate::log(&format!("a turn broke off: {error}"));
                }
                match app.lock_turns().entry(conversation.clone()) {
                    Entry::Occupied(mut again) if *again.get() => again.insert(false),
                    Entry::Occupied(over) => {
                        over.remove();
                        return;
                    }
                    Entry::Vacant(_) => return,
                };
            }
        });
    }

    /// Answers everything that is not answered.
    async fn drive(&self, conversation: &str) -> Result<(), BoxError> {
        loop {
            let events = self.store().events(conversation, 0).await?;
            let cursor = self.store().cursor(conversation).await?;
            match events::stand(&events, cursor) {
                Stand::Answered => return Ok(()),
                Stand::Calls(calls) => {
                    for (seq, name, arguments) in calls {
                        self.call_tool(conversation, seq, &name, &arguments).await?;
                    }
                }
                Stand::Speak { upto, steps, .. } if steps > MOST_STEPS => {
                    let text = "I got stuck there. Please say it in another way.";
                    let last = Draft::new("error", json!({ "text": text }));
                    self.store().answered(conversation, upto, last).await?;
                }
                Stand::Speak { upto, begun, .. } => {
                    let (step, said) = match begun {
                        Some(begun) => begun,
                        None => {
                            let step = vec![Draft::new("step", json!({}))];
                            let added = self.store().append(conversation, step).await?;
                            (added.first().copied().unwrap_or(0), String::new())
                        }
                    };
                    let history = events::history(&events, Some(step));
                    self.speak(conversation, upto, step, said, &history).await?;
                }
            }
        }
    }

    /// Has the model answer, and stores what it says as it says it.
    async fn speak(
        &self,
        conversation: &str,
        upto: i64,
        step: i64,
        said: String,
        history: &[crate::model::Message],
    ) -> Result<(), BoxError> {
        let tools = self.shop().tools().await;
        let instructions = match &tools {
            Ok(_) => INSTRUCTIONS.to_owned(),
            Err(trouble) => format!(
                "{INSTRUCTIONS}\nThere are no tools now. {}\n",
                trouble.text()
            ),
        };
        let prompt = Prompt {
            instructions: &instructions,
            history,
            tools: tools.as_ref().map_or(&[], Tools::definitions),
        };
        let (sender, mut deltas) = mpsc::channel::<String>(16);
        let listen = async {
            let mut speech = Speech::after(said);
            while let Some(delta) = deltas.recv().await {
                let events = speech.hear(&delta, step);
                if !events.is_empty() {
                    self.store().append(conversation, events).await?;
                }
            }
            let rest = speech.end(step);
            if !rest.is_empty() {
                self.store().append(conversation, rest).await?;
            }
            Ok::<_, BoxError>(())
        };
        let (answer, heard) = tokio::join!(self.model().answer(prompt, sender), listen);
        heard?;
        match answer {
            Ok(calls) if calls.is_empty() => {
                let last = Draft::new("done", json!({}));
                self.store().answered(conversation, upto, last).await
            }
            Ok(calls) => {
                let call = |call: crate::model::ToolCall| {
                    let body =
                        json!({ "step": step, "name": call.name, "arguments": call.arguments });
                    Draft::new("tool_call", body)
                };
                let calls = calls.into_iter().map(call).collect();
                self.store().append(conversation, calls).await?;
                Ok(())
            }
            Err(error) => {
                crate::log(&format!("the model does not answer: {error}"));
                let text = "There is no answer at the moment. Please try again.";
                let last = Draft::new("error", json!({ "text": text }));
                self.store().answered(conversation, upto, last).await
            }
        }
    }

    /// Calls a tool and stores its result, with what has to be shown because of it.
    async fn call_tool(
        &self,
        conversation: &str,
        seq: i64,
        name: &str,
        arguments: &Value,
    ) -> Result<(), BoxError> {
        let call = format!("tool/{seq}");
        let called = self
            .shop()
            .call_tool(conversation, &call, name, arguments.clone())
            .await;
        let (error, text, body) = match &called {
            Ok(result) => (result.is_error, result.text.as_str(), &result.body),
            Err(trouble) => (true, trouble.text(), &None),
        };
        let result =
            json!({ "call": seq, "name": name, "error": error, "text": text, "body": body });
        let result = Draft::new("tool_result", result).once(format!("result/{seq}"));
        self.store().append(conversation, vec![result]).await?;
        match called {
            Err(Trouble::SignIn) => self.wants_sign_in(conversation, &call).await,
            Ok(ToolResult {
                handoff: Some(handoff),
                body: Some(body),
                ..
            }) if name.ends_with("_checkout") => {
                let Some(id) = body["id"].as_str().map(str::to_owned) else {
                    return Ok(());
                };
                let fresh = Fresh { body, handoff };
                self.note_state(conversation, &id, &fresh, true).await
            }
            _ => Ok(()),
        }
    }
}

/// What a model says, against what it had said when it broke off.
struct Speech {
    before: String,
    now: String,
    same: bool,
}

impl Speech {
    fn after(before: String) -> Self {
        Self {
            same: !before.is_empty(),
            before,
            now: String::new(),
        }
    }

    /// What is new of this: nothing while it only says again what is stored; everything, once it says
    /// something else.
    fn hear(&mut self, delta: &str, step: i64) -> Vec<Draft> {
        self.now.push_str(delta);
        if !self.same {
            return vec![text(step, delta)];
        }
        if self.before.starts_with(&self.now) {
            return Vec::new();
        }
        self.same = false;
        match self.now.strip_prefix(&self.before) {
            Some(rest) => vec![text(step, rest)],
            None => vec![restarted(step), text(step, &self.now)],
        }
    }

    /// What is to be said at the end: it may have said less than before.
    fn end(&self, step: i64) -> Vec<Draft> {
        if self.same && self.now != self.before {
            return vec![restarted(step), text(step, &self.now)];
        }
        Vec::new()
    }
}

fn text(step: i64, delta: &str) -> Draft {
    Draft::new("text", json!({ "step": step, "delta": delta }))
}

fn restarted(step: i64) -> Draft {
    Draft::new("restarted", json!({ "step": step }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(before: &str, deltas: &[&str]) -> Vec<(&'static str, Value)> {
        let mut speech = Speech::after(before.to_owned());
        let mut events: Vec<Draft> = Vec::new();
        for delta in deltas {
            events.extend(speech.hear(delta, 2));
        }
        events.extend(speech.end(2));
        let plain = |new: Draft| (new.kind, new.body["delta"].clone());
        events.into_iter().map(plain).collect()
    }

    #[test]
    fn nothing_is_said_twice() {
        let text = |delta: &str| ("text", json!(delta));
        let restarted = ("restarted", Value::Null);
        assert_eq!(say("", &["a ", "b"]), [text("a "), text("b")]);
        assert_eq!(say("a b", &["a ", "b ", "c"]), [text(" "), text("c")]);
        assert_eq!(say("a ", &["a ", "b"]), [text("b")]);
        assert_eq!(say("a b", &["a ", "c"]), [restarted.clone(), text("a c")]);
        assert_eq!(say("a b", &["a b"]), []);
        assert_eq!(say("a b", &["a "]), [restarted, text("a ")]);
    }
}
