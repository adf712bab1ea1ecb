//! The pages for people: the buyer's at `continue_url`, and the order's.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use serde_json::Value;

use crate::{Merchant, lock};

pub(crate) fn router() -> Router<Merchant> {
    Router::new()
        .route("/checkout/{id}", get(show).post(approve))
        .route("/orders/{id}", get(order))
}

async fn show(State(merchant): State<Merchant>, Path(id): Path<String>) -> Response {
    let shop = lock(&merchant.inner.shop);
    let Some(checkout) = shop.checkouts.get(&id) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let body = checkout.view(&shop, Value::Null);
    let messages: String = body["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|message| format!("<li>{}</li>", text(&message["content"])))
        .collect();
    Html(format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Checkout</title>\
         <h1>Checkout {}</h1><p>Status: <b id=status>{}</b></p>{}<ul>{messages}</ul>\
         <form method=post><button>Approve and buy</button></form></html>",
        text(&body["id"]),
        text(&body["status"]),
        totals(&body["totals"]),
    ))
    .into_response()
}

async fn approve(State(merchant): State<Merchant>, Path(id): Path<String>) -> Response {
    if merchant.approve(&id) {
        Redirect::to(&format!("/checkout/{id}")).into_response()
    } else {
        StatusCode::NOT_FOUND.into_response()
    }
}

async fn order(State(merchant): State<Merchant>, Path(id): Path<String>) -> Response {
    let orders = merchant.orders();
    let Some(order) = orders.iter().find(|order| order.id == id) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    Html(format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Order</title>\
         <h1>Order {}</h1>{}</html>",
        text(&order.body["label"]),
        totals(&order.body["totals"]),
    ))
    .into_response()
}

fn totals(totals: &Value) -> String {
    let row = |entry: &Value| {
        let label = text(&entry["display_text"]);
        format!("<tr><td>{label}<td align=right>{}", text(&entry["amount"]))
    };
    let rows: String = totals.as_array().into_iter().flatten().map(row).collect();
    format!("<table>{rows}</table>")
}

/// A value's text, safe within an element.
fn text(value: &Value) -> String {
    let plain = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    plain
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
