//! Buys something, from discovery to the shipped order: the whole road in one program.
//!
//! Everything happens on this machine. A sandbox merchant plays the shop; the agent is what you
//! would write. Run it with `cargo run -p quickstart` and read along.

mod agent_server;

use agent_server::{AgentServer, Orders};
use merchant::{Operation, Severity, Signatures, Stimulus, Target};
use std::error::Error;
use ucp_runtime::handoff::Next;
use ucp_runtime::signatures::{Algorithm, SigningKey};
use ucp_runtime::{Agent, Handoff, Host, Money, Response, Verification};

// The client of one release, with three extensions, generated here.
ucp_runtime::include_ucp! {
    release: "2026-04-08",
    extensions: [discount, fulfillment, buyer_consent],
    expose: ["Accept-Language"],
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The shop: it refuses what is not signed.
    let sandbox = merchant::Merchant::builder()
        .signatures(Signatures::Required)
        .start()
        .await
        .map_err(|error| error as Box<dyn Error>)?;

    step("Say who we are");
    // The agent's identity is its profile, which it serves itself, and which has the public half of the
    // key that it signs with. Yours comes from `SigningKey::from_jwk_file`; `ucp-cli keygen` makes one.
    let key = SigningKey::from_scalar(Algorithm::Es256, &[7; 32])?.with_id("agent-1")?;
    let public = key.public_key().clone();
    let server = AgentServer::bind().await?;
    let agent = Agent::builder(&server.profile_url())?
        .id_secret(b"a secret of 32 bytes, kept for ever") // call ids become keys through it
        .release(RELEASE) // what the generated client speaks
        .signing_key(key) // every request is signed …
        .verification(Verification::Required) // … and so must every answer be
        .development() // plain HTTP, on this machine only
        .build()?;
    let orders = Orders::default();
    let mut events = server.serve(&RELEASE, &public, agent.clone(), orders.clone())?;
    say(format!("{}, with the key {}", agent.profile(), public.id()));

    step("Discover the merchant");
    let merchant = agent.connect(sandbox.origin()).await?;
    say(format!(
        "{} speaks UCP {} at {}",
        merchant.origin(),
        merchant.version(),
        merchant.endpoint()
    ));
    let shop = Client::new(&merchant);

    step("Search the catalog");
    let search = shop
        .search_catalog(SearchRequest::new().query("mug"))
        .accept_language("en");
    let response = search.await?;
    verified(&response)?;
    let found = response.into_success()?;
    let product = found.products.first().ok_or("nothing found")?;
    let variant = product.variants.first().ok_or("nothing to buy")?;
    let price = Money::new(variant.price.amount, &variant.price.currency);
    say(format!("{} for {price}", product.title));

    step("Make a cart");
    // A call can be looked at before it is sent: this is what the runtime filled in.
    let cart = CreateCart::new([CreateLineItem::new(variant.id.as_str(), 2)]);
    let call = shop.create_cart(cart).call_id(("conversation-1", "turn-1"));
    let prepared = call.prepare().await?;
    say(format!("{} {}", prepared.method(), prepared.url()));
    for (name, value) in prepared.headers() {
        // There is no credential here; where there is one, its header is marked.
        let text = if value.is_sensitive() {
            "(hidden)"
        } else {
            value.to_str()?
        };
        say(format!("    {name}: {text}"));
    }
    let cart = prepared.send().await?.into_success()?;
    say(format!(
        "cart {} costs {}",
        cart.id,
        total(&cart.totals, &cart.currency)
    ));

    step("Turn it into a checkout");
    // The shop will ask the buyer something that an agent cannot answer.
    sandbox.script(Target::Next(Operation::CreateCheckout), [age_check()]);
    let create = CreateCheckout::new([]).cart_id(&cart.id);
    let response = shop
        .create_checkout(create)
        .call_id(("conversation-1", "turn-2"))
        .await?;
    let checkout = response.success()?;
    let id = checkout.id.clone();
    say(format!("checkout {id} is {}", checkout.status));

    step("Mend what an agent can mend");
    let host = Host::default().renders_disclosures().development();
    for blocker in &response.handoff(&host)?.context().fix_first {
        say(blocker.to_string());
    }
    // An update replaces everything, so it starts from what was received.
    let address = ShippingDestinationInput::new()
        .id("home")
        .street_address("1 Main Street")
        .address_country("US");
    let method = UpdateFulfillmentMethod::new(checkout.line_items.iter().map(|line| &line.id))
        .r#type(FulfillmentMethodType::Shipping)
        .destinations([address.into()])
        .selected_destination_id("home");
    let update = UpdateCheckout::update_from(checkout)?
        .buyer(BuyerWithConsent::new().email("ada@example.com"))
        .fulfillment(UpdateFulfillment::new().methods([method.clone()]));
    let response = shop
        .update_checkout(&id, &update)
        .call_id(("conversation-1", "turn-3"))
        .await?;
    for blocker in &response.handoff(&host)?.context().fix_first {
        say(blocker.to_string());
    }
    // Now that the destination is known, the shop offers ways to ship: the first will do.
    let group = first_group(response.success()?).ok_or("no way to ship")?;
    let option = group
        .options
        .as_ref()
        .and_then(|it| it.first())
        .ok_or("no option to ship")?;
    let chosen = UpdateFulfillmentGroup::new(&group.id).selected_option_id(&option.id);
    let update = update.fulfillment(UpdateFulfillment::new().methods([method.groups([chosen])]));
    let response = shop
        .update_checkout(&id, &update)
        .call_id(("conversation-1", "turn-4"))
        .await?;
    let checkout = response.success()?;
    let price = total(&checkout.totals, &checkout.currency);
    say(format!("{}: {price} in total", option.title));

    step("Hand over to the buyer where the shop wants it");
    match response.handoff(&host)? {
        Handoff::ContinueUrl { url, reason, .. } => {
            say(format!("{reason:?}: open {}", url.as_str()))
        }
        other => return Err(format!("expected an escalation, not {other:?}").into()),
    }
    sandbox.approve(&id); // the buyer, at that page, answers

    step("Place the order");
    let response = shop.get_checkout(&id).await?;
    let Handoff::Conversational {
        next: Next::Complete,
        ..
    } = response.handoff(&host)?
    else {
        return Err("the checkout is not ready".into());
    };
    let token = PaymentCredential::new("token").extra("token", "tok_sandbox"); // the handler's own member
    let card = SelectedPaymentInstrument::new("instrument-1", "sandbox_pay", "card")
        .selected(true)
        .credential(token);
    let complete = CompleteCheckout::new(Payment::new().instruments([card]));
    let agreed = response.into_success()?;
    let response = shop
        .complete_checkout(&id, complete)
        .from(&agreed) // checked before anything is sent
        .call_id(("conversation-1", "turn-5"))
        .await?;
    let Handoff::Completed {
        order: Some(order), ..
    } = response.handoff(&host)?
    else {
        return Err("the order was not placed".into());
    };
    let order_id = order.id.ok_or("the order has no id")?;
    // From whom we will hear of it. What arrives before this is refused, and repeated by the merchant.
    orders.record(&order_id, merchant.business()?);
    say(format!("order {order_id} is placed"));
    verified(&response)?;

    step("Read the order");
    let order = shop.get_order(&order_id).await?.into_success()?;
    say(format!(
        "{} line item(s), {}",
        order.line_items.len(),
        total(&order.totals, &order.currency)
    ));

    step("Hear from the merchant");
    let delivery = events.recv().await.ok_or("no webhook came")?;
    let (event, _) = delivery.event::<operations::OrderEventWebhook>()?;
    say(format!(
        "webhook: order {} has {} line item(s)",
        event.id,
        event.line_items.len()
    ));
    say(format!(
        "verified: signed by {} with the key {}",
        delivery.business, delivery.key_id
    ));

    sandbox.shutdown().await;
    println!("\nDone: one order, paid once.");
    Ok(())
}

/// What makes the sandbox escalate: a question that only the buyer can answer.
fn age_check() -> Stimulus {
    Stimulus::Error {
        severity: Severity::RequiresBuyerInput,
        code: "age_check".to_owned(),
        content: "Please confirm your age.".to_owned(),
        path: None,
    }
}

/// The first group of goods that travel together, with the ways in which they can.
fn first_group(checkout: &Checkout) -> Option<&FulfillmentGroup> {
    checkout
        .fulfillment
        .as_ref()?
        .methods
        .as_ref()?
        .first()?
        .groups
        .as_ref()?
        .first()
}

/// The entry `total`, as a person reads it.
fn total(totals: &[TotalsItem], currency: &str) -> String {
    let total = totals.iter().find(|entry| entry.r#type == "total");
    total.map_or_else(String::new, |entry| {
        Money::new(entry.amount, currency).to_string()
    })
}

/// Shows whose signature an answer has. One that does not hold is an error before this.
fn verified<S, F>(response: &Response<S, F>) -> Result<(), Box<dyn Error>> {
    let signature = response.verified().ok_or("the answer is not signed")?;
    say(format!(
        "verified: signed with the key {}",
        signature.key_id
    ));
    Ok(())
}

fn step(title: &str) {
    println!("\n== {title}");
}

fn say(line: String) {
    println!("   {line}");
}
