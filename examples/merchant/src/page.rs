//! The pages for people: the buyer's at `continue_url`, on their own or embedded in an agent's page,
//! and the order's.
//!
//! With `ec_version` in its query the checkout page speaks the embedded checkout protocol to the page
//! that frames it (`assets/embedded.js`). It lets any page of this machine do so, since a sandbox
//! knows no agents beforehand.

use axum::extract::{Path, Query, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::Value;

use crate::answer::Severity;
use crate::basket::severities;
use crate::{Merchant, lock, operation, profile};

pub(crate) fn router() -> Router<Merchant> {
    Router::new()
        .route("/", get(home))
        .route("/checkout/{id}", get(show).post(approve))
        .route("/checkout/{id}/state", get(state))
        .route("/checkout/{id}/pay", post(pay))
        .route("/orders/{id}", get(order))
        .route("/terms", get(terms))
        .route("/privacy", get(privacy))
        .route("/images/{file}", get(image))
        .route("/page.css", get(style))
        .route("/embedded.js", get(script))
}

/// What an agent adds to `continue_url` to embed the page, as far as the server looks at it.
#[derive(Deserialize)]
struct Embedding {
    ec_version: Option<String>,
    ec_color_scheme: Option<String>,
}

async fn show(
    State(merchant): State<Merchant>,
    Path(id): Path<String>,
    Query(embedding): Query<Embedding>,
) -> Response {
    let Some(body) = view(&merchant, &id) else {
        return missing();
    };
    let lines: String = body["line_items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|line| {
            format!(
                "<li><img src=\"{}\" alt=\"\" width=48 height=48><span>{} × {}</span></li>",
                text(&line["item"]["image_url"]),
                text(&line["quantity"]),
                text(&line["item"]["title"]),
            )
        })
        .collect();
    let messages: String = body["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|message| format!("<li>{}</li>", text(&message["content"])))
        .collect();
    let main = format!(
        "<h1>Sandbox Shop</h1>\
         <p>Checkout <code>{}</code>: <b id=status>{}</b></p>\
         <ul class=lines>{lines}</ul>{}<ul class=messages>{messages}</ul>{}\
         <p><a href=/terms>Terms of service</a> <a href=/privacy>Privacy</a></p>",
        text(&body["id"]),
        text(&body["status"]),
        totals(&body["totals"]),
        action(&body),
    );
    page("Checkout", &main, &embedding)
}

/// What the buyer can do with a checkout.
fn action(body: &Value) -> String {
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let form = |question: &str, button: &str| {
        format!("<form method=post>{question}<button>{button}</button></form>")
    };
    let question = "<label><input type=checkbox required> Yes, I confirm that.</label>";
    let mut open = severities(messages);
    match text(&body["status"]).as_str() {
        "completed" => format!(
            "<p id=done>Thank you. Your order {} is placed.</p>",
            text(&body["order"]["label"])
        ),
        "canceled" => "<p id=done>This checkout is canceled.</p>".to_owned(),
        "complete_in_progress" => "<p>Your order is being placed.</p>".to_owned(),
        _ if open.any(|it| it == Severity::RequiresBuyerInput) => form(question, "Confirm"),
        _ if severities(messages).all(Severity::needs_buyer) => form("", "Approve and buy"),
        _ => form(
            "<p>Something is still missing; your agent can add it.</p>",
            "Approve",
        ),
    }
}

async fn approve(State(merchant): State<Merchant>, Path(id): Path<String>) -> Response {
    if merchant.approve(&id) {
        Redirect::to(&format!("/checkout/{id}")).into_response()
    } else {
        missing()
    }
}

/// The checkout as the API shows it, for the embedded page to tell its host.
async fn state(State(merchant): State<Merchant>, Path(id): Path<String>) -> Response {
    view(&merchant, &id).map_or_else(missing, |body| Json(body).into_response())
}

/// The embedded page's purchase: `payment` is what the host handed over, or null.
async fn pay(
    State(merchant): State<Merchant>,
    Path(id): Path<String>,
    Json(body): Json<Value>,
) -> Response {
    let found = match &body["payment"] {
        Value::Null => merchant.approve(&id),
        payment => merchant.pay(&id, payment),
    };
    match view(&merchant, &id).filter(|_| found) {
        Some(body) => Json(body).into_response(),
        None => missing(),
    }
}

fn view(merchant: &Merchant, id: &str) -> Option<Value> {
    let shop = lock(&merchant.inner.shop);
    let checkout = shop.checkouts.get(id)?;
    let capability = operation::Operation::GetCheckout.capability();
    let ucp = profile::envelope(&checkout.owner().common, capability);
    Some(checkout.view(&shop, ucp))
}

async fn order(State(merchant): State<Merchant>, Path(id): Path<String>) -> Response {
    let orders = merchant.orders();
    let Some(order) = orders.iter().find(|order| order.id == id) else {
        return missing();
    };
    let main = format!(
        "<h1>Order {}</h1>{}",
        text(&order.body["label"]),
        totals(&order.body["totals"]),
    );
    page("Order", &main, &Embedding::NONE)
}

async fn home() -> Response {
    let main = "<h1>Sandbox Shop</h1><p>It sells to agents.</p>";
    page("Shop", main, &Embedding::NONE)
}

async fn terms() -> Response {
    let main = "<h1>Terms of service</h1><p>Nothing is sold here, and nothing is charged.</p>";
    page("Terms", main, &Embedding::NONE)
}

async fn privacy() -> Response {
    let main = "<h1>Privacy</h1><p>What you enter is forgotten when the sandbox stops.</p>";
    page("Privacy", main, &Embedding::NONE)
}

impl Embedding {
    const NONE: Self = Self {
        ec_version: None,
        ec_color_scheme: None,
    };
}

/// A whole page, with what it may load and who may frame it.
fn page(title: &str, main: &str, embedding: &Embedding) -> Response {
    let scheme = match embedding.ec_color_scheme.as_deref() {
        Some("dark") => "dark",
        Some("light") => "light",
        _ => "light dark",
    };
    let (script, ancestors) = match embedding.ec_version {
        Some(_) => (
            "<script type=module src=/embedded.js></script>",
            "http://127.0.0.1:* http://localhost:*",
        ),
        None => ("", "'none'"),
    };
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
         connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors {ancestors}"
    );
    let html = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\
         <meta name=color-scheme content=\"{scheme}\">\
         <link rel=stylesheet href=/page.css>{script}<main>{main}</main></html>"
    );
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(html)).into_response()
}

fn missing() -> Response {
    StatusCode::NOT_FOUND.into_response()
}

/// A picture of a product: its initials on a color of its own.
async fn image(State(merchant): State<Merchant>, Path(file): Path<String>) -> Response {
    let id = file.strip_suffix(".svg").unwrap_or_default();
    let Some(title) = lock(&merchant.inner.shop).catalog.title(id) else {
        return missing();
    };
    let initials: String = title.split_whitespace().filter_map(first).take(2).collect();
    let hue = id
        .bytes()
        .fold(7_u32, |hue, byte| hue * 31 % 360 + u32::from(byte))
        % 360;
    let drawn = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 96 96'>\
         <rect width='96' height='96' fill='hsl({hue} 42% 38%)'/>\
         <text x='48' y='60' font-family='sans-serif' font-size='34' fill='#fff' \
         text-anchor='middle'>{initials}</text></svg>"
    );
    asset("image/svg+xml", drawn)
}

fn first(word: &str) -> Option<char> {
    word.chars().next()
}

async fn style() -> Response {
    asset("text/css", include_str!("../assets/page.css"))
}

async fn script() -> Response {
    asset("text/javascript", include_str!("../assets/embedded.js"))
}

fn asset(kind: &'static str, body: impl IntoResponse) -> Response {
    const NO_SNIFFING: (HeaderName, &str) = (header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    ([(header::CONTENT_TYPE, kind), NO_SNIFFING], body).into_response()
}

fn totals(totals: &Value) -> String {
    let row = |entry: &Value| {
        let label = text(&entry["display_text"]);
        let amount = entry["amount"].as_i64().unwrap_or(0);
        let sign = if amount < 0 { "−" } else { "" };
        let amount = amount.unsigned_abs();
        let (whole, part) = (amount / 100, amount % 100);
        format!("<tr><th scope=row>{label}<td>{sign}${whole}.{part:02}")
    };
    let rows: String = totals.as_array().into_iter().flatten().map(row).collect();
    format!("<table>{rows}</table>")
}

/// A value's text, safe within an element and within a quoted attribute.
fn text(value: &Value) -> String {
    let plain = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    plain
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
