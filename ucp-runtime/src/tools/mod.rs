//! A merchant's operations as tools for a model.
//!
//! A model sees an operation's own inputs and nothing of the protocol: no header, no key, no identity.
//! Generated code has the tools as data (`TOOLS`, with the option `tools: true`), `Client::tools` takes
//! what the application adds, and [`Tools::call_tool`] makes a call of what a model asks for. Arguments
//! that do not fit are answered in words that a model can act on, and nothing is sent.
//!
//! ```no_run
//! # mod shop {
//! #     use ucp_runtime::{Merchant, tools::ToolsBuilder};
//! #     pub struct Client(pub Merchant);
//! #     impl Client { pub fn tools(&self) -> ToolsBuilder { ToolsBuilder::new(&self.0, &[], &[]) } }
//! # }
//! use ucp_runtime::serde_json::json;
//! use ucp_runtime::tools::{Approval, Purchase};
//!
//! # async fn example(shop: shop::Client) -> Result<(), Box<dyn std::error::Error>> {
//! let tools = shop
//!     .tools()
//!     .provide("context", json!({"address_country": "US"})) // the model neither sees nor sets it
//!     .withhold("buyer") // nor this, which the buyer tells the application
//!     .partial_updates() // what an update does not say stays as it is
//!     .approve(|purchase: Purchase| async move {
//!         println!("{} at {}", purchase.checkout["totals"], purchase.merchant);
//!         Approval::Declined { reason: None } // ask the buyer here
//!     })
//!     .build()?;
//! for tool in tools.definitions() {
//!     println!("{}: {}", tool.name, tool.description); // for the model, with `tool.input_schema`
//! }
//! let arguments = json!({"body": {"line_items": [{"item": {"id": "sku_1"}, "quantity": 2}]}});
//! let result = tools.call_tool("create_checkout", arguments, ("conversation-1", "call-1")).await;
//! println!("{}", result.text); // for the model
//! # Ok(())
//! # }
//! ```
//!
//! Completing a checkout moves money, so no model is offered it unless the application says who
//! [approves](ToolsBuilder::approve) a purchase.

mod approval;
mod arguments;
mod result;
#[cfg(feature = "rig")]
pub mod rig;
mod schema;
mod updates;

pub use approval::{Approval, Purchase};
pub use arguments::{Mistake, Mistakes};
pub use result::{Kind, ToolResult};

use crate::call::Call;
use crate::handoff::Host;
use crate::ids::CallId;
use crate::merchant::Merchant;
use crate::transport::BoxFuture;
use crate::untyped::{Callable, Untyped};
use crate::wire::{Map, Value};
use serde::{Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// An operation as a model is told of it. Generated code has all of a client's as `TOOLS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tool {
    /// Its name: at most 64 characters of `[A-Za-z0-9_-]`, and no other tool's.
    pub name: &'static str,
    /// The contract's `operationId`.
    pub operation: &'static str,
    /// The capability that must be agreed with a merchant; empty for none.
    pub capability: &'static str,
    /// What it does, for a model.
    pub description: &'static str,
    /// The JSON Schema (2020-12) of its inputs, as text. It refers to nothing outside itself.
    pub schema: &'static str,
}

impl Tool {
    /// A tool. Written by generated code.
    #[must_use]
    pub const fn new(
        name: &'static str,
        operation: &'static str,
        capability: &'static str,
        description: &'static str,
        schema: &'static str,
    ) -> Self {
        Self {
            name,
            operation,
            capability,
            description,
            schema,
        }
    }
}

/// A tool as it is offered to a model: without what the application provides.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Definition {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
    /// The JSON Schema (2020-12) of its arguments, an object.
    #[serde(serialize_with = "shared")]
    pub input_schema: Arc<Map>,
    /// Whether it only reads.
    #[serde(skip)]
    pub read_only: bool,
}

fn shared<S: Serializer>(schema: &Arc<Map>, serializer: S) -> Result<S::Ok, S::Error> {
    schema.as_ref().serialize(serializer)
}

/// Tools that cannot be made of what was given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolsError {
    /// Something is provided or withheld that no operation takes.
    #[error("no operation takes `{name}`, neither as an input nor as a member of its body")]
    Unknown {
        /// What was provided or withheld.
        name: String,
    },
    /// A schema that is no JSON object: a defect of whoever made the list.
    #[error("the schema of the tool `{name}` is not a JSON object")]
    Schema {
        /// The tool.
        name: &'static str,
    },
    /// A tool of an operation that is not among the client's.
    #[error("the tool `{name}` is of an operation that the client does not have")]
    Operation {
        /// The tool.
        name: &'static str,
    },
}

type Approve = Arc<dyn Fn(Purchase) -> BoxFuture<'static, Approval> + Send + Sync>;

/// What the application adds to the tools, before a model sees them.
#[must_use = "tools are made by `build`"]
pub struct ToolsBuilder {
    merchant: Merchant,
    operations: &'static [Callable],
    tools: &'static [Tool],
    host: Host,
    provided: Vec<(String, Option<Value>)>,
    partial: bool,
    approve: Option<Approve>,
}

impl ToolsBuilder {
    /// The tools of a client; what `Client::tools` of generated code calls.
    pub fn new(
        merchant: &Merchant,
        operations: &'static [Callable],
        tools: &'static [Tool],
    ) -> Self {
        Self {
            merchant: merchant.clone(),
            operations,
            tools,
            host: Host::default(),
            provided: Vec::new(),
            partial: false,
            approve: None,
        }
    }

    /// What the application can do with a checkout: how results say what happens next.
    pub fn host(mut self, host: Host) -> Self {
        self.host = host;
        self
    }

    /// Sets an input, or a member of the body, of every operation that takes one of this name. A model
    /// neither sees nor sets it: it is taken out of the schemas, and put into the arguments last.
    pub fn provide(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.provided.push((name.into(), Some(value.into())));
        self
    }

    /// Keeps an input, or a member of the body, from the model in every operation that takes one of this
    /// name: it is taken out of the schemas, and what a model writes there is discarded. For what the
    /// buyer gives the application, such as `buyer` and `payment`; not for what an operation needs.
    pub fn withhold(mut self, name: impl Into<String>) -> Self {
        self.provided.push((name.into(), None));
        self
    }

    /// Lets a model say only what changes. An update replaces all that there is, so what a model leaves
    /// out would be erased, and what is [withheld](Self::withhold) from it in any case. With this, the
    /// resource is read when the tool is called; of what the operation takes, each member of the body
    /// that the model gives takes the place of the one there is, and the rest stays.
    ///
    /// The same call id sends the same update, whatever the resource has become meanwhile; one that was
    /// answered is known by its call id alone.
    pub fn partial_updates(mut self) -> Self {
        self.partial = true;
        self
    }

    /// Offers to complete checkouts, each once this has approved it: typically by showing the buyer
    /// the [`Purchase`] and waiting for an answer. Without it, no tool moves money.
    ///
    /// It is asked once a call id: a call that was recorded has been approved.
    pub fn approve<F, A>(mut self, approve: F) -> Self
    where
        F: Fn(Purchase) -> A + Send + Sync + 'static,
        A: Future<Output = Approval> + Send + 'static,
    {
        self.approve = Some(Arc::new(move |purchase| Box::pin(approve(purchase))));
        self
    }

    /// The tools that the merchant agreed to: those of the capabilities that were negotiated, or all
    /// where nothing was (see [`Merchant::negotiated`]).
    ///
    /// # Errors
    ///
    /// [`ToolsError`] when something is provided or withheld that no operation takes.
    pub fn build(self) -> Result<Tools, ToolsError> {
        let mut known = vec![false; self.provided.len()];
        let mut offered = Vec::new();
        let mut definitions = Vec::new();
        for tool in self.tools {
            let mut schema: Map = serde_json::from_str(tool.schema)
                .map_err(|_| ToolsError::Schema { name: tool.name })?;
            let mut operations = self.operations.iter();
            let callable = operations
                .find(|of| of.operation.id == tool.operation)
                .ok_or(ToolsError::Operation { name: tool.name })?;
            let provided = schema::provide(&mut schema, &self.provided, &mut known);
            schema::keep_from_models(&mut schema);
            let partial = self.partial && callable.replaces();
            let mut description = tool.description;
            if partial {
                schema::loosen(&mut schema);
                description = updates::DESCRIPTION;
            }
            let withheld = callable.operation.completes() && self.approve.is_none();
            if withheld || !is_agreed(&self.merchant, tool) {
                continue;
            }
            definitions.push(Definition {
                name: tool.name,
                description,
                input_schema: Arc::new(schema),
                read_only: !callable.operation.changes,
            });
            offered.push(Offered {
                callable,
                provided,
                partial,
            });
        }
        let unknown = self.provided.into_iter().zip(known);
        let mut unknown = unknown.filter(|(_, known)| !known);
        if let Some(((name, _), _)) = unknown.next() {
            return Err(ToolsError::Unknown { name });
        }
        Ok(Tools(Arc::new(Inner {
            merchant: self.merchant,
            host: self.host,
            definitions,
            offered,
            tools: self.tools,
            approve: self.approve,
        })))
    }
}

impl fmt::Debug for ToolsBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |withheld: bool| -> Vec<&str> {
            let all = self.provided.iter();
            let these = all.filter(|(_, value)| value.is_none() == withheld);
            these.map(|(name, _)| &**name).collect()
        };
        f.debug_struct("ToolsBuilder")
            .field("merchant", &self.merchant)
            .field("provided", &names(false))
            .field("withheld", &names(true))
            .field("partial_updates", &self.partial)
            .field("approves", &self.approve.is_some())
            .finish_non_exhaustive()
    }
}

fn is_agreed(merchant: &Merchant, tool: &Tool) -> bool {
    let negotiated = merchant.negotiated();
    negotiated.is_none_or(|agreed| tool.capability.is_empty() || agreed.has(tool.capability))
}

/// A merchant's operations, to be offered to a model. Cheap to clone.
#[derive(Clone)]
pub struct Tools(Arc<Inner>);

struct Inner {
    merchant: Merchant,
    host: Host,
    definitions: Vec<Definition>,
    /// Of each definition, what is called.
    offered: Vec<Offered>,
    /// All that there are, offered or not.
    tools: &'static [Tool],
    approve: Option<Approve>,
}

struct Offered {
    callable: &'static Callable,
    provided: Vec<schema::Provided>,
    /// Whether its body is completed with what there is.
    partial: bool,
}

impl Tools {
    /// The tools, to be given to a model as they are.
    #[must_use]
    pub fn definitions(&self) -> &[Definition] {
        &self.0.definitions
    }

    /// The merchant.
    #[must_use]
    pub fn merchant(&self) -> &Merchant {
        &self.0.merchant
    }

    /// Holds arguments against a tool without calling it, and says what of them would be ignored. The body
    /// of a [partial update](ToolsBuilder::partial_updates) fits or not only together with what it
    /// changes: it is not looked at here.
    ///
    /// # Errors
    ///
    /// Everything that [`call_tool`](Self::call_tool) would refuse them for.
    pub fn check(&self, name: &str, arguments: Value) -> Result<Vec<String>, Mistakes> {
        let mut notes = Vec::new();
        let (definition, offered) = self.find(name)?;
        let of = |mistakes: Mistakes| mistakes.of(name);
        let inputs = arguments::inputs(offered, arguments, &mut notes).map_err(of)?;
        let merchant = &self.0.merchant;
        let call = match offered.partial && inputs.get("body").is_some_and(Value::is_object) {
            true => updates::about(merchant, definition, offered, &inputs),
            false => arguments::call(merchant, definition, offered, inputs, &mut notes),
        };
        call.map_err(of).map(|_| notes)
    }

    /// Calls a tool with a model's arguments.
    ///
    /// The call id makes it the same call in any process: see [`CallId`]. Make it of a stored random
    /// id of the conversation and the id of the model's tool call. Where the merchant's answer is lost,
    /// what became of it is found out first.
    ///
    /// Headers of the protocol among the arguments are discarded, with a note. What the arguments leave
    /// to be desired, and every error, is a [`ToolResult`] too: a model is to read it.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: Value,
        call_id: impl Into<CallId>,
    ) -> ToolResult {
        let mut notes = Vec::new();
        let call = self.call(name, arguments, call_id.into(), &mut notes);
        let mut result = match call.await {
            Ok(call) => result::of(self, call.await).await,
            Err(refused) => *refused,
        };
        result.note(notes);
        result
    }

    /// The call that is to be sent, or what came of it without.
    async fn call(
        &self,
        name: &str,
        arguments: Value,
        call_id: CallId,
        notes: &mut Vec<String>,
    ) -> Result<Call<Untyped>, Box<ToolResult>> {
        let of = |mistakes: Mistakes| mistakes.of(name);
        let (definition, offered) = self.find(name)?;
        let mut inputs = arguments::inputs(offered, arguments, notes).map_err(of)?;
        if offered.partial {
            updates::complete(self, definition, offered, &mut inputs, &call_id).await?;
        }
        let merchant = &self.0.merchant;
        let call = arguments::call(merchant, definition, offered, inputs, notes).map_err(of)?;
        approval::ask(self, call.call_id(call_id)).await
    }

    fn find(&self, name: &str) -> Result<(&Definition, &Offered), Mistakes> {
        let inner = &self.0;
        let mut all = inner.definitions.iter().zip(&inner.offered);
        all.find(|(definition, _)| definition.name == name)
            .ok_or_else(|| self.not_offered(name))
    }

    fn not_offered(&self, name: &str) -> Mistakes {
        let known = self.0.tools.iter().any(|tool| tool.name == name);
        let names: Vec<&str> = self.definitions().iter().map(|of| of.name).collect();
        let names = names.join(", ");
        Mistakes::about(
            if known && !self.offers_to_complete() && self.completes(name) {
                "placing an order is not offered here: the buyer confirms it in the application"
                    .into()
            } else if known {
                format!("this shop does not offer it; it offers {names}")
            } else {
                format!("there is no such tool; there are {names}")
            },
        )
        .of(name)
    }

    fn completes(&self, name: &str) -> bool {
        let mut tools = self.0.tools.iter();
        tools.any(|tool| tool.name == name && tool.operation == crate::operation::COMPLETES)
    }

    /// Whether a model may complete a checkout, with approval.
    pub(crate) fn offers_to_complete(&self) -> bool {
        self.0.approve.is_some()
    }
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.definitions().iter().map(|of| of.name).collect();
        f.debug_struct("Tools")
            .field("merchant", &self.0.merchant)
            .field("tools", &names)
            .finish_non_exhaustive()
    }
}
