//! The tools as those of [rig](https://docs.rs/rig-core)'s agents.
//!
//! rig does not tell a tool which of the model's calls it is, so what names a call is yours to give: from
//! a function, or, in a loop of your own, as a [`ToolCall`] in the context of each dispatch, which goes
//! first.
//!
//! ```no_run
//! # async fn example(tools: ucp_runtime::tools::Tools, stored: u64) -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use ucp_runtime::{CallId, serde_json::json};
//! use ucp_runtime::tools::rig::{self, ToolCall};
//! use rig_core::tool::ToolContext;
//!
//! let turn = AtomicU64::new(stored); // how far the stored conversation is
//! let all = rig::tools(&tools, move || {
//!     CallId::from(("conversation-1", turn.fetch_add(1, Ordering::Relaxed).to_string()))
//! });
//! let mut context = ToolContext::new();
//! context.insert(ToolCall("call_7Hx".to_owned()))?; // by the model's own id instead
//! all[0].execute_with(&mut context, json!({})).await?;
//! # Ok(())
//! # }
//! ```

use super::{Kind, ToolResult, Tools};
use crate::ids::CallId;
use crate::wire::Value;
use rig_core::completion::message::ToolName;
use rig_core::tool::{ContextValue, DynamicTool, ToolContext, ToolExecutionError, ToolOutput};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The call id of one dispatch, in its context: of the conversation and the model's tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall(pub String);

impl ContextValue for ToolCall {
    const KEY: &'static str = "ucp.tool_call";
}

/// What came of one dispatch, for the application: a [`ToolResult`] as JSON, without its decision, which
/// may hold a secret. [`View::from_tool_result`](crate::handoff::View::from_tool_result) makes that anew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Returned(pub Value);

impl ContextValue for Returned {
    const KEY: &'static str = "ucp.tool_result";
}

/// The tools, for an agent of rig's. `call_ids` names the calls: no name may come again for another
/// call, in this process or another. Each dispatch leaves a [`Returned`] in its context's results.
#[must_use]
pub fn tools(
    tools: &Tools,
    call_ids: impl Fn() -> CallId + Send + Sync + 'static,
) -> Vec<DynamicTool> {
    let call_ids = Arc::new(call_ids);
    let definitions = tools.definitions().iter();
    let tool = |definition: &super::Definition| {
        let (tools, call_ids, name) = (tools.clone(), call_ids.clone(), definition.name);
        let schema = Value::Object((*definition.input_schema).clone());
        Some(DynamicTool::new_with_context(
            // No tool is nameless.
            ToolName::new(name).ok()?,
            definition.description,
            schema,
            move |context: &mut ToolContext, arguments| {
                let (tools, call_ids) = (tools.clone(), call_ids.clone());
                Box::pin(async move {
                    let call_id = match context.get::<ToolCall>() {
                        Ok(Some(ToolCall(id))) => CallId::from(id),
                        Ok(None) => call_ids(),
                        Err(error) => return Err(ToolExecutionError::from_error(error)),
                    };
                    answer(tools.call_tool(name, arguments, call_id).await, context)
                })
            },
        ))
    };
    definitions.filter_map(tool).collect()
}

fn answer(
    mut result: ToolResult,
    context: &mut ToolContext,
) -> Result<ToolOutput, ToolExecutionError> {
    result.handoff = None;
    let returned = serde_json::to_value(&result).map(Returned);
    if let Ok(returned) = returned {
        context
            .insert_result(returned)
            .map_err(ToolExecutionError::from_error)?;
    }
    if !result.is_error {
        return Ok(ToolOutput::text(result.text));
    }
    // What may be repeated was, with the same key; a model is to read why it came to nothing.
    let error = match result.kind {
        Kind::NotSent => ToolExecutionError::invalid_args(result.text),
        _ => ToolExecutionError::other(result.text),
    };
    Err(error.with_retryable(false))
}
