//! Sessions of MCP clients, message by message.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use mcp_server::{Completion, RELEASE, Shop};
use merchant::Running;
use rmcp::ServiceExt as _;
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::net::TcpListener;
use ucp_runtime::serde_json::{self, Value, json};
use ucp_runtime::{Agent, Merchant, PlatformProfile};

/// A merchant, and an agent that is connected to it.
async fn stage() -> (Running, Merchant) {
    let sandbox = merchant::Merchant::builder().seed(1).start().await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!(
        "http://{}{}",
        listener.local_addr().unwrap(),
        PlatformProfile::PATH
    );
    let profile = PlatformProfile::builder(&RELEASE)
        .development()
        .build()
        .unwrap();
    tokio::spawn(async move { axum::serve(listener, profile.router()).await });
    let agent = Agent::builder(&url)
        .unwrap()
        .id_secret([7; 32])
        .release(RELEASE);
    let agent = agent.development().build().unwrap();
    let merchant = agent.connect(sandbox.origin()).await.unwrap();
    (sandbox, merchant)
}

/// What a client's user answers; what they were asked is kept.
type Asked = Arc<std::sync::Mutex<Vec<Value>>>;

/// One client, over a pipe.
struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
    answer: Value,
    asked: Asked,
}

impl Client {
    async fn start(shop: &Shop, capabilities: Value, answer: Value) -> Self {
        Self::resume(shop.session().unwrap(), capabilities, answer).await
    }

    async fn resume(session: mcp_server::Session, capabilities: Value, answer: Value) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        tokio::spawn(async move { session.serve(theirs).await.unwrap().waiting().await });
        let (reader, writer) = tokio::io::split(ours);
        let mut client = Self {
            lines: BufReader::new(reader).lines(),
            writer,
            answer,
            asked: Asked::default(),
        };
        let hello = client
            .request(
                0,
                "initialize",
                json!({
                    "protocolVersion": "2025-06-18",
                    "capabilities": capabilities,
                    "clientInfo": {"name": "test", "version": "1"},
                }),
            )
            .await;
        assert_eq!(hello["protocolVersion"], "2025-06-18");
        client
            .send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        client
    }

    async fn send(&mut self, message: Value) {
        let line = message.to_string() + "\n";
        self.writer.write_all(line.as_bytes()).await.unwrap();
    }

    /// Sends a request, answers what the server asks meanwhile, and waits for the result.
    async fn request(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        loop {
            let line = self.lines.next_line().await.unwrap().unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["method"] == "elicitation/create" {
                self.asked.lock().unwrap().push(message["params"].clone());
                let answer = self.answer.clone();
                self.send(json!({"jsonrpc": "2.0", "id": message["id"], "result": answer}))
                    .await;
            } else if message["id"] == id && message.get("method").is_none() {
                assert!(message.get("error").is_none(), "{message}");
                return message["result"].clone();
            }
        }
    }

    async fn tools(&mut self, id: u64) -> Vec<Value> {
        let listed = self.request(id, "tools/list", json!({})).await;
        listed["tools"].as_array().unwrap().clone()
    }

    async fn call(&mut self, id: u64, name: &str, arguments: Value) -> Value {
        let params = json!({"name": name, "arguments": arguments});
        self.request(id, "tools/call", params).await
    }

    /// Makes a checkout that is ready, and completes it: requests 1 and 2.
    async fn buy(&mut self) -> Value {
        let made = self.call(1, "create_checkout", ready()).await;
        let id = made["structuredContent"]["id"].clone();
        assert_eq!(
            made["structuredContent"]["status"], "ready_for_complete",
            "{made}"
        );
        self.call(2, "complete_checkout", json!({ "id": id })).await
    }
}

fn ready() -> Value {
    json!({ "body": {
        "line_items": [{"item": {"id": "var_mug"}, "quantity": 2}],
        "buyer": {"email": "ada@example.com"},
        "fulfillment": {"methods": [{
            "type": "shipping",
            "destinations": [{"id": "home", "street_address": "1 Main St", "address_country": "US"}],
            "selected_destination_id": "home",
            "groups": [{"selected_option_id": "standard"}],
        }]},
    } })
}

fn shop(merchant: &Merchant, completion: Completion) -> Shop {
    let payment = json!({ "instruments": [{
        "id": "instrument_1", "handler_id": "sandbox_pay", "type": "card", "selected": true,
        "credential": {"type": "token", "token": "tok_ok"},
    }] });
    let shop = Shop::new(merchant).completion(completion);
    shop.provide("payment", payment)
}

fn asks() -> Value {
    json!({"elicitation": {}})
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

fn names(tools: &[Value]) -> BTreeSet<&str> {
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect()
}

/// The idempotency keys that reached an operation's path.
fn keys(sandbox: &Running, path: &str) -> Vec<String> {
    let exchanges = sandbox.exchanges().into_iter();
    let sent = exchanges.filter(|it| it.method == "POST" && it.path.ends_with(path));
    sent.map(|it| it.headers["idempotency-key"].to_str().unwrap().to_owned())
        .collect()
}

/// JSON-RPC ids begin anew in each session: that makes no call of one a repetition of the other's.
#[tokio::test]
async fn two_sessions_with_the_same_ids_are_two_orders() {
    let (sandbox, merchant) = stage().await;
    let shop = shop(&merchant, Completion::Unattended);
    let mut one = Client::start(&shop, json!({}), Value::Null).await;
    let mut other = Client::start(&shop, json!({}), Value::Null).await;
    let (first, second) = (one.buy().await, other.buy().await);
    let order = |result: &Value| {
        result["structuredContent"]["order"]["id"]
            .as_str()
            .map(str::to_owned)
    };
    assert!(order(&first).is_some(), "{first}");
    assert_ne!(order(&first), order(&second));
    assert_eq!(sandbox.orders().len(), 2);
    for path in ["/checkout-sessions", "/complete"] {
        let keys = keys(&sandbox, path);
        assert_eq!(keys.len(), 2, "{path}");
        assert_ne!(keys[0], keys[1], "{path}");
    }
    // In one session a repetition is one, and is not sent again.
    let again = one
        .call(
            2,
            "complete_checkout",
            json!({"id": first["structuredContent"]["id"]}),
        )
        .await;
    assert_eq!(order(&again), order(&first));
    assert_eq!(sandbox.orders().len(), 2);
    assert_eq!(keys(&sandbox, "/complete").len(), 2);
}

/// A conversation that goes on in another process repeats its calls.
#[tokio::test]
async fn a_conversation_that_goes_on_makes_the_same_calls() {
    let (sandbox, merchant) = stage().await;
    let shop = shop(&merchant, Completion::Withheld);
    let mut made = Vec::new();
    for _ in 0..2 {
        let session = shop.session().unwrap().conversation("kept");
        let mut client = Client::resume(session, json!({}), Value::Null).await;
        let result = client.call(1, "create_checkout", ready()).await;
        made.push(
            result["structuredContent"]["id"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    assert_eq!(made[0], made[1]);
    assert_eq!(keys(&sandbox, "/checkout-sessions").len(), 1);
}

#[tokio::test]
async fn tools_are_listed_as_mcp_has_them() {
    let (_sandbox, merchant) = stage().await;
    let mut client =
        Client::start(&shop(&merchant, Completion::Withheld), asks(), Value::Null).await;
    let tools = client.tools(1).await;
    assert_eq!(tools.len(), 12);
    assert!(!names(&tools).contains("complete_checkout"));
    let of = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    let order = of("get_order");
    assert_eq!(order["inputSchema"]["required"], json!(["id"]));
    assert_eq!(order["annotations"]["readOnlyHint"], true);
    let cancel = of("cancel_checkout");
    assert_eq!(
        cancel["annotations"],
        json!({"readOnlyHint": false, "destructiveHint": true, "openWorldHint": true})
    );
    let create = of("create_checkout");
    assert_eq!(create["inputSchema"]["required"], json!(["body"]));
    assert!(
        create["inputSchema"]["properties"]["body"]["properties"]
            .get("payment")
            .is_none()
    );
    // A mistake is a result that a model reads, not an error of the protocol.
    let result = client
        .call(
            2,
            "create_checkout",
            json!({"body": {"line_items": [{"item": {}, "quantity": 1}]}}),
        )
        .await;
    assert_eq!(result["isError"], true);
    assert!(
        text(&result).contains("$.body.line_items[0].item.id: is required"),
        "{result}"
    );
    let result = client
        .call(3, "complete_checkout", json!({"id": "1"}))
        .await;
    assert_eq!(result["isError"], true);
    assert!(
        text(&result).contains("placing an order is not offered here"),
        "{result}"
    );
}

/// The user is asked about the very totals, and only their word counts.
#[tokio::test]
async fn the_user_is_asked_before_an_order_is_placed() {
    let (sandbox, merchant) = stage().await;
    let shop = shop(&merchant, Completion::Asked);
    for (answer, reason) in [
        (json!({"action": "decline"}), "the user declined"),
        (json!({"action": "cancel"}), "the user declined"),
        (
            json!({"action": "accept", "content": {"confirm": false}}),
            "the user did not confirm it",
        ),
        (json!({"action": "accept"}), "the user did not confirm it"),
        (
            json!({"action": "accept", "content": {"confirm": "true"}}),
            "the user did not confirm it",
        ),
    ] {
        let mut client = Client::start(&shop, asks(), answer).await;
        assert!(names(&client.tools(3).await).contains("complete_checkout"));
        let result = client.buy().await;
        assert_eq!(result["isError"], true);
        assert!(
            text(&result).starts_with(&format!(
                "The purchase was not approved: {reason}. Nothing was ordered."
            )),
            "{result}"
        );
        assert_eq!(client.asked.lock().unwrap().len(), 1);
    }
    assert!(sandbox.orders().is_empty());

    let yes = json!({"action": "accept", "content": {"confirm": true}});
    let mut client = Client::start(&shop, asks(), yes).await;
    let result = client.buy().await;
    assert_eq!(result["isError"], false, "{result}");
    assert_eq!(sandbox.orders().len(), 1);
    let asked = client.asked.lock().unwrap().clone();
    let message = asked[0]["message"].as_str().unwrap();
    let total = ucp_runtime::Money::new(sandbox.orders()[0].total(), "USD").to_string();
    assert!(
        message.starts_with(&format!(
            "Place this order at {}?\n\n2 × ",
            sandbox.origin()
        )),
        "{message}"
    );
    assert!(message.contains(&total), "{message}");
    assert_eq!(asked[0]["requestedSchema"]["required"], json!(["confirm"]));
}

#[tokio::test]
async fn a_client_that_cannot_ask_places_no_order() {
    let (sandbox, merchant) = stage().await;
    let shop = shop(&merchant, Completion::Asked);
    for capabilities in [json!({}), json!({"elicitation": {"url": {}}})] {
        let mut client = Client::start(&shop, capabilities, Value::Null).await;
        assert!(!names(&client.tools(3).await).contains("complete_checkout"));
        let result = client.buy().await;
        assert_eq!(result["isError"], true);
        assert!(
            text(&result)
                .starts_with("No order is placed through this client: it cannot ask its user"),
            "{result}"
        );
    }
    assert!(sandbox.orders().is_empty());
}
