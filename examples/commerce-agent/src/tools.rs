//! What the model can do: the shop's operations as tools, which the toolkit makes of the contract.
//!
//! None places an order: without an approval no tool for it is offered. What the buyer tells the page
//! is not the model's to see or to set, and an update leaves it as it is.

use crate::shop::{Shop, Trouble};
use serde_json::{Value, json};
use ucp_runtime::tools::{ToolResult, Tools};

/// What no model writes: it comes of the page's form and of the wallet, or from nobody.
const WITHHELD: [&str; 6] = [
    "attribution",
    "buyer",
    "context",
    "fulfillment",
    "payment",
    "signals",
];

/// How many products a search brings: as many as the page shows.
pub(crate) const PRODUCTS: usize = 12;

impl Shop {
    /// What the shop offers of the tools, which depends on what was agreed with it.
    pub(crate) async fn tools(&self) -> Result<Tools, Trouble> {
        let mut tools = self
            .client()
            .await?
            .tools()
            .host(self.host(None, true))
            .provide("pagination", json!({ "limit": PRODUCTS }))
            .partial_updates();
        for name in WITHHELD {
            tools = tools.withhold(name);
        }
        tools
            .build()
            .map_err(|error| Trouble::Other(error.to_string()))
    }

    /// Calls a tool. `call` names it within the conversation for ever: the same call again, in this
    /// process or another, is the same request.
    pub(crate) async fn call_tool(
        &self,
        conversation: &str,
        call: &str,
        name: &str,
        arguments: Value,
    ) -> Result<ToolResult, Trouble> {
        let tools = self.tools().await?;
        let result = tools.call_tool(name, arguments, (conversation, call)).await;
        match result.status {
            Some(401) => Err(Trouble::SignIn),
            _ => Ok(result),
        }
    }
}
