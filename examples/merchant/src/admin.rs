//! The script over HTTP, for a merchant that runs as a program of its own; see [`crate::script`].

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post, put};
use axum::{Json, Router};
use serde_json::Value;

use crate::Merchant;
use crate::script::Cue;

pub(crate) fn router() -> Router<Merchant> {
    Router::new()
        .route("/sandbox/script", post(script))
        .route("/sandbox/stock/{variant}", put(stock))
        .route("/sandbox/orders/{id}/ship", post(ship))
        .route("/sandbox/checkouts/{id}/approve", post(approve))
        .route("/sandbox/orders", get(orders))
}

async fn script(State(merchant): State<Merchant>, Json(cue): Json<Cue>) -> StatusCode {
    merchant.script(cue.target, cue.stimuli);
    StatusCode::NO_CONTENT
}

async fn stock(
    State(merchant): State<Merchant>,
    Path(variant): Path<String>,
    Json(left): Json<u32>,
) -> StatusCode {
    merchant.set_stock(&variant, left);
    StatusCode::NO_CONTENT
}

async fn ship(State(merchant): State<Merchant>, Path(id): Path<String>) -> StatusCode {
    done(merchant.ship(&id))
}

async fn approve(State(merchant): State<Merchant>, Path(id): Path<String>) -> StatusCode {
    done(merchant.approve(&id))
}

fn done(found: bool) -> StatusCode {
    if found {
        StatusCode::NO_CONTENT
    } else {
        StatusCode::NOT_FOUND
    }
}

async fn orders(State(merchant): State<Merchant>) -> Json<Vec<Value>> {
    Json(merchant.orders().into_iter().map(|o| o.body).collect())
}
