//! Carts: create, get, update, cancel.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::basket::Basket;
use crate::catalog::Catalog;
use crate::pricing::Delivery;
use crate::shop::{Call, Shop};

/// A cart.
#[derive(Debug)]
pub(crate) struct Cart {
    id: String,
    pub(crate) basket: Basket,
}

impl Cart {
    fn view(&self, catalog: &Catalog, ucp: Value) -> Value {
        let priced = self.basket.price(catalog, Delivery::default());
        let mut body = json!({ "ucp": ucp, "id": self.id });
        self.basket.write(&mut body, &priced, &priced.messages);
        body
    }
}

/// The caller's cart, as long as it lives.
pub(crate) fn find<'a>(
    carts: &'a mut BTreeMap<String, Cart>,
    call: &Call<'_>,
    id: &str,
) -> Option<&'a mut Cart> {
    carts.get_mut(id).filter(|cart| {
        cart.basket.owner.profile == call.agent.profile && call.now < cart.basket.expires_at
    })
}

impl Shop {
    pub(crate) fn create_cart(&mut self, call: &Call<'_>) -> Answer {
        let mut basket = Basket::new(call.agent.clone(), call.expires_at());
        basket.replace(call.body, &self.catalog);
        basket.script.extend(call.script.iter().cloned());
        if basket.lines.is_empty() {
            return Answer::envelope(call.ucp(), "item_unavailable", "None of this can be had.");
        }
        let id = self.id("cart");
        let cart = Cart {
            id: id.clone(),
            basket,
        };
        let answer = Answer::created(cart.view(&self.catalog, call.ucp()));
        self.carts.insert(id, cart);
        answer
    }

    pub(crate) fn get_cart(&mut self, call: &Call<'_>) -> Answer {
        let Some(cart) = find(&mut self.carts, call, call.id) else {
            return call.not_found();
        };
        cart.basket.script.extend(call.script.iter().cloned());
        Answer::ok(cart.view(&self.catalog, call.ucp()))
    }

    pub(crate) fn update_cart(&mut self, call: &Call<'_>) -> Answer {
        if call.body["id"] != call.id {
            return Answer::invalid("/id", "is not the id in the path");
        }
        if let Some(cart) = find(&mut self.carts, call, call.id) {
            cart.basket.replace(call.body, &self.catalog);
        }
        self.get_cart(call)
    }

    pub(crate) fn cancel_cart(&mut self, call: &Call<'_>) -> Answer {
        let answer = self.get_cart(call);
        if find(&mut self.carts, call, call.id).is_some() {
            self.carts.remove(call.id);
        }
        answer
    }
}
