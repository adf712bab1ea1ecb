//! A client that the fault run must find out: fresh keys with each attempt, a completion repeated
//! blindly, and what the merchant then refuses taken for a failed purchase.

use super::buyer::{Ending, Refusal, host, payment, placed, wanted};
use crate::golden::shopping_2026_04_08::{BuyerWithConsent, Checkout, Client};
use ucp_runtime::{Call, Endpoint, Guard, Handoff, Response};

/// How often a call is repeated, and how often the purchase is begun anew.
const REPEATS: u32 = 8;
const AGAIN: u32 = 3;

/// Buys with an agent that retries nothing itself.
pub async fn buy(shop: &Client) -> Ending {
    for _ in 0..AGAIN {
        if let Some(Ok(Handoff::Completed { order, .. })) =
            attempt(shop).await.map(|answer| answer.handoff(&host()))
        {
            return placed(order);
        }
    }
    Ending::NotPlaced
}

async fn attempt(shop: &Client) -> Option<Response<Checkout, Refusal>> {
    let buyer = BuyerWithConsent::new().email("ada@example.com");
    let wanted = wanted().buyer(buyer);
    let created = repeat(|| shop.create_checkout(&wanted)).await?;
    let checkout = created.into_success().ok()?;
    repeat(|| {
        let call = shop.complete_checkout(&checkout.id, payment());
        call.from(&checkout).allow(Guard::InProgress)
    })
    .await
}

/// Makes a call, and makes it anew whatever stood in its way.
async fn repeat<E: Endpoint>(
    call: impl Fn() -> Call<E>,
) -> Option<Response<E::Success, E::Failure>> {
    for _ in 0..REPEATS {
        if let Ok(answer) = call().await {
            return Some(answer);
        }
    }
    None
}
