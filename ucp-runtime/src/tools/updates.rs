//! Updates that say only what changes.

use super::arguments::{self, Mistakes};
use super::{Definition, Offered, ToolResult, Tools, approval, result};
use crate::call::Call;
use crate::error::Error;
use crate::ids::CallId;
use crate::merchant::Merchant;
use crate::outcome::Before;
use crate::untyped::{self, Untyped};
use crate::wire::{Map, Value};

/// What a model is told of it, whatever the contract says of replacing.
pub(super) const DESCRIPTION: &str = "Changes what there is. Send only the members of `body` that change: each takes the place of the one that is there, as a whole, and `null` takes it away; what is not sent stays as it is. So of a list send all that it shall hold, and keep the `id` of each entry that is there already.";

/// Completes the body of an update: with what was sent under its call id before, or with what there is
/// now. The result instead, where the update was answered or cannot be made.
pub(super) async fn complete(
    tools: &Tools,
    definition: &Definition,
    offered: &Offered,
    inputs: &mut Map,
    call_id: &CallId,
) -> Result<(), Box<ToolResult>> {
    let failed = |error: Error| Box::new(ToolResult::error(tools, error));
    // One that is missing, or no object, is refused where the call is made.
    let Some(Value::Object(changes)) = inputs.get("body") else {
        return Ok(());
    };
    let named = |mistakes: Mistakes| mistakes.of(definition.name);
    let call = about(&tools.0.merchant, definition, offered, inputs).map_err(named)?;
    let call = call.call_id(call_id.clone());
    let start = match call.before().await.map_err(failed)? {
        Before::Answered(answer) => {
            let result = result::of(tools, answer.read()).await;
            return Err(Box::new(result));
        }
        // What was sent before already has the changes: with them it is the same once more.
        Before::Sent(body) => serde_json::from_slice(&body).unwrap_or(Value::Null),
        Before::Nothing => approval::read(tools, &call, 1).await?,
    };
    let unfit = |error| {
        let problem = format!("what the shop has cannot be the start of an update: {error}");
        named(Mistakes::about(problem))
    };
    let mut body = offered.callable.unchanged(&start).map_err(unfit)?;
    body.extend(changes.clone());
    inputs.insert("body".to_owned(), body.into());
    Ok(())
}

/// An update without its body: what it is about.
pub(super) fn about(
    merchant: &Merchant,
    definition: &Definition,
    offered: &Offered,
    inputs: &Map,
) -> Result<Call<Untyped>, Mistakes> {
    let mut inputs = inputs.clone();
    inputs.remove("body");
    let made = untyped::make(merchant, &offered.callable.bare(), inputs);
    made.map(|(call, _)| call)
        .map_err(|error| arguments::mistake(error, definition))
}
