//! What thinks: a [`Model`] is given a conversation and the tools there are, and says something, calls
//! tools, or both. It decides nothing about money: no tool places an order.

mod open_ai;
mod scripted;

pub use open_ai::OpenAi;
pub use scripted::Scripted;

use serde_json::Value;
use tokio::sync::mpsc;
use ucp_runtime::tools::Definition;
use ucp_runtime::{BoxError, BoxFuture};

/// Answers a conversation. Make one of your own for a model that speaks another protocol.
pub trait Model: Send + Sync {
    /// Says what comes next: text bit by bit into `text`, and the calls of tools when it is done. With
    /// no call, the turn is over and the buyer's again.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from answering. The buyer is told that there is no answer.
    fn answer<'a>(
        &'a self,
        prompt: Prompt<'a>,
        text: mpsc::Sender<String>,
    ) -> BoxFuture<'a, Result<Vec<ToolCall>, BoxError>>;
}

/// What a model is given.
#[derive(Debug, Clone, Copy)]
pub struct Prompt<'a> {
    /// Who it is and what it may do.
    pub instructions: &'a str,
    /// The conversation so far.
    pub history: &'a [Message],
    /// The tools that it may call.
    pub tools: &'a [Definition],
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The model's own id of it; it need not be unique.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Value,
}

/// A part of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// The buyer said so.
    Buyer(String),
    /// The application says what happened.
    Note {
        /// In words.
        text: String,
        /// In data: see the event `outcome`.
        outcome: Value,
    },
    /// The model said and did this.
    Assistant {
        /// What it said.
        text: String,
        /// The tools it called.
        calls: Vec<ToolCall>,
    },
    /// A tool's result.
    Tool {
        /// The id of its call.
        id: String,
        /// The tool.
        name: String,
        /// The result in words, for a language model.
        text: String,
        /// The shop's answer.
        body: Value,
    },
}
