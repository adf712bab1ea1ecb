//! Workers are killed in mid-purchase, at each of its requests, and the merchant's orders are counted.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use merchant::{Merchant, Operation, Stimulus, Target, profile::ENDPOINT};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::net::TcpListener;
use ucp_runtime::reqwest::Client;
use ucp_runtime::serde_json::{Value, json};
use ucp_runtime::{BoxError, ReqwestTransport, reqwest};

/// How long the server may take to be ready, and a purchase to be over.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that does not outlive the test.
struct Process(Child);

impl Process {
    fn start(command: &mut Command) -> std::io::Result<Self> {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
        quiet.spawn().map(Self)
    }

    /// `SIGKILL`, and its ports are free again.
    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// When a worker is killed: as this request reaches the shop, before or after it acts on it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Moment {
    request: usize,
    acted: bool,
}

/// The worker that buys, what it asks for, and when it dies.
struct Worker {
    arguments: Vec<String>,
    process: Process,
    moments: Vec<Moment>,
    /// Method, path and key of each request of the purchase.
    requests: Vec<(Method, String, String)>,
}

impl Worker {
    fn start(arguments: &[String]) -> std::io::Result<Process> {
        Process::start(Command::new(env!("CARGO_BIN_EXE_durable")).args(arguments))
    }

    /// Kills the worker if its moment has come, and starts another in its place: nothing of it is left
    /// but the id secret.
    fn strikes(&mut self, acted: bool) -> bool {
        let now = Moment {
            request: self.requests.len(),
            acted,
        };
        let strikes = self.moments.first() == Some(&now);
        if strikes {
            self.moments.remove(0);
            self.process.kill();
            self.process = Self::start(&self.arguments).unwrap();
        }
        strikes
    }
}

type Shared = Arc<Mutex<Option<Worker>>>;

fn lock(worker: &Shared) -> MutexGuard<'_, Option<Worker>> {
    worker.lock().unwrap()
}

/// Between the worker and the shop.
async fn watch(worker: Shared, request: Request, next: Next) -> Response {
    let gone = || StatusCode::SERVICE_UNAVAILABLE.into_response();
    if !request.uri().path().starts_with(ENDPOINT) {
        return next.run(request).await;
    }
    if let Some(worker) = &mut *lock(&worker) {
        let key = request.headers().get("idempotency-key");
        worker.requests.push((
            request.method().clone(),
            request.uri().path().to_owned(),
            key.map_or("", |key| key.to_str().unwrap()).to_owned(),
        ));
        if worker.strikes(false) {
            return gone();
        }
    }
    let answer = next.run(request).await;
    if let Some(worker) = &mut *lock(&worker)
        && worker.strikes(true)
    {
        return gone();
    }
    answer
}

struct Stage {
    merchant: Merchant,
    worker: Shared,
    restate: Process,
    ingress: String,
    http: Client,
    purchases: usize,
    _folder: tempfile::TempDir,
}

impl Stage {
    async fn set_up() -> Result<Self, BoxError> {
        let folder = tempfile::tempdir()?;
        let [node, ingress, admin, listen, profile] = free_ports()?;

        let worker = Shared::default();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let origin = format!("http://{}", listener.local_addr()?);
        let merchant = Merchant::builder().seed(1).build(&origin)?;
        let watched = worker.clone();
        let layer = from_fn(move |request, next| watch(watched.clone(), request, next));
        let router = merchant.router().layer(layer);
        tokio::spawn(async move { axum::serve(listener, router).await });

        let restate = Process::start(
            Command::new(server()?)
                .args(["--no-logo", "--bind-ip", "127.0.0.1", "--bind-port", &node])
                .arg("--base-dir")
                .arg(folder.path().join("restate"))
                .env("RESTATE_LISTEN_MODE", "tcp")
                .env("RESTATE_INGRESS__BIND_PORT", &ingress)
                .env("RESTATE_ADMIN__BIND_PORT", &admin)
                .env("RESTATE_DEFAULT_RETRY_POLICY__INITIAL_INTERVAL", "50ms")
                .env("RESTATE_ADMIN__DISABLE_WEB_UI", "true")
                .env("RESTATE_DISABLE_TELEMETRY", "true")
                .stderr(Stdio::null()),
        )?;

        let secret = folder.path().join("id-secret");
        std::fs::write(&secret, [7; 32])?;
        let arguments = [
            "--merchant".to_owned(),
            origin,
            "--profile".to_owned(),
            format!("http://127.0.0.1:{profile}/.well-known/ucp"),
            "--id-secret".to_owned(),
            secret.display().to_string(),
            "--listen".to_owned(),
            format!("127.0.0.1:{listen}"),
            "--development".to_owned(),
        ];
        *lock(&worker) = Some(Worker {
            process: Worker::start(&arguments)?,
            arguments: arguments.into(),
            moments: Vec::new(),
            requests: Vec::new(),
        });

        let stage = Self {
            merchant,
            worker,
            restate,
            ingress: format!("http://127.0.0.1:{ingress}"),
            http: Client::builder()
                .no_proxy()
                .tls_backend_preconfigured(ReqwestTransport::tls(ReqwestTransport::roots())?)
                .build()?,
            purchases: 0,
            _folder: folder,
        };
        let deployment = json!({"uri": format!("http://127.0.0.1:{listen}")});
        let admin = format!("http://127.0.0.1:{admin}/deployments");
        stage.register(&admin, &deployment).await?;
        Ok(stage)
    }

    /// Tells Restate of the worker, once both are there.
    async fn register(&self, admin: &str, deployment: &Value) -> Result<(), BoxError> {
        let registered = async {
            loop {
                match self.post(admin, None, deployment).await {
                    Ok((201, _)) => break,
                    _ => tokio::time::sleep(Duration::from_millis(100)).await,
                }
            }
        };
        Ok(tokio::time::timeout(PATIENCE, registered).await?)
    }

    async fn post(
        &self,
        url: &str,
        key: Option<&str>,
        body: &Value,
    ) -> reqwest::Result<(u16, Value)> {
        let mut request = self.http.post(url).body(body.to_string());
        request = request.header("content-type", "application/json");
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let answer = request.timeout(PATIENCE).send().await?;
        let (status, text) = (answer.status().as_u16(), answer.text().await?);
        let body = ucp_runtime::serde_json::from_str(&text).unwrap_or(Value::String(text));
        Ok((status, body))
    }

    /// A purchase whose worker is killed at each of these moments. How many requests it had, and what
    /// came of it.
    async fn buy(
        &mut self,
        at_most: i64,
        moments: &[Moment],
    ) -> Result<(Vec<(Method, String, String)>, Value), BoxError> {
        if let Some(worker) = &mut *lock(&self.worker) {
            worker.moments = moments.to_vec();
            worker.requests.clear();
        }
        self.purchases += 1;
        let key = format!("purchase-{}", self.purchases);
        let wish = json!({
            "item": "var_mug", "quantity": 1, "email": "ada@example.com",
            "street": "1 Main Street", "country": "US",
            "at_most": at_most, "currency": "USD",
        });
        let url = format!("{}/Purchases/buy", self.ingress);
        let (status, said) = self.post(&url, Some(&key), &wish).await?;
        assert_eq!(status, 200, "{moments:?}: {said}");
        // Asked again, Restate says the same, and nothing is sent.
        let (requests, left) = {
            let worker = lock(&self.worker);
            let worker = worker.as_ref().ok_or("no worker")?;
            (worker.requests.clone(), worker.moments.clone())
        };
        assert_eq!(left, [], "moments that did not come");
        assert_eq!(
            self.post(&url, Some(&key), &wish).await?,
            (200, said.clone())
        );
        let worker = lock(&self.worker);
        assert_eq!(
            worker.as_ref().map(|it| it.requests.len()),
            Some(requests.len())
        );
        Ok((requests, said))
    }

    /// What the shop sold for a checkout.
    fn orders(&self, checkout: &Value) -> Vec<String> {
        let orders = self.merchant.orders().into_iter();
        let sold = orders.filter(|order| checkout == order.checkout_id.as_str());
        sold.map(|order| order.id).collect()
    }
}

/// The server's program, of the npm package for this machine.
fn server() -> Result<PathBuf, BoxError> {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        os => os,
    };
    let arch = match std::env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "x64",
    };
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let package = format!("node_modules/@restatedev/restate-server-{os}-{arch}");
    let program = folder.join(package).join("bin/restate-server");
    match program.exists() {
        true => Ok(program),
        false => Err("no Restate server: npm ci --ignore-scripts, in examples/durable".into()),
    }
}

/// Ports that are free now.
fn free_ports<const N: usize>() -> Result<[String; N], BoxError> {
    let taken: Vec<_> = (0..N)
        .map(|_| std::net::TcpListener::bind("127.0.0.1:0"))
        .collect::<Result<_, _>>()?;
    let mut ports = [const { String::new() }; N];
    for (port, listener) in ports.iter_mut().zip(&taken) {
        *port = listener.local_addr()?.port().to_string();
    }
    Ok(ports)
}

/// One order, which the agent knows; each request under one key; and no completion repeated before a
/// read.
fn assert_one_order(
    stage: &Stage,
    moments: &[Moment],
    requests: &[(Method, String, String)],
    said: &Value,
) {
    assert_eq!(said["outcome"], "ordered", "{moments:?}: {said}");
    assert_eq!(
        stage.orders(&said["checkout"]),
        [said["order"].as_str().unwrap()],
        "{moments:?}"
    );
    let mut read = false;
    for (index, (method, path, key)) in requests.iter().enumerate() {
        read |= method == Method::GET;
        for (other, same, as_key) in &requests[..index] {
            if (other, same) == (method, path) {
                assert_eq!(
                    key, as_key,
                    "{moments:?}: {method} {path} under another key"
                );
            }
        }
        if path.ends_with("/complete") {
            assert!(read, "{moments:?}: completed without a look");
            read = false;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the Restate server: npm ci --ignore-scripts, in examples/durable"]
async fn a_worker_killed_at_any_request_leaves_one_order() -> Result<(), BoxError> {
    let mut stage = Stage::set_up().await?;
    let kill = |request, acted| Moment { request, acted };

    // Nobody is killed: to know how many requests there are.
    let (requests, said) = stage.buy(10_000, &[]).await?;
    assert_one_order(&stage, &[], &requests, &said);
    let methods: Vec<_> = requests
        .iter()
        .map(|(method, ..)| method.as_str())
        .collect();
    assert_eq!(methods, ["POST", "PUT", "GET", "POST"]);

    let mut plans: Vec<Vec<Moment>> = (1..=requests.len())
        .flat_map(|request| [vec![kill(request, false)], vec![kill(request, true)]])
        .collect();
    // Of a completion whose answer was lost, the look at it is lost too; and a worker at each request.
    plans.push(vec![kill(4, true), kill(5, true)]);
    plans.push(
        (1..=6)
            .map(|request| kill(request, request % 2 == 0))
            .collect(),
    );
    for moments in &plans {
        let (requests, said) = stage.buy(10_000, moments).await?;
        assert_one_order(&stage, moments, &requests, &said);
        // The completion that was acted on is not sent again: the look shows what came of it.
        if moments.contains(&kill(4, true)) {
            let completions = requests.iter().filter(|it| it.1.ends_with("/complete"));
            assert_eq!(completions.count(), 1, "{moments:?}");
        }
    }
    let orders = stage.merchant.orders();
    assert_eq!(orders.len(), 1 + plans.len());
    let mut checkouts: Vec<_> = orders.iter().map(|order| &order.checkout_id).collect();
    checkouts.sort();
    checkouts.dedup();
    assert_eq!(checkouts.len(), orders.len());
    println!("purchases: {} checked, each with one order", orders.len());

    // An order that takes its time is waited for, by Restate.
    let slow = Stimulus::CompleteInProgress { reads: 2 };
    let target = Target::Next(Operation::CompleteCheckout);
    stage.merchant.script(target, [slow]);
    let (requests, said) = stage.buy(10_000, &[]).await?;
    assert_one_order(&stage, &[], &requests, &said);

    // What costs more than was said is not bought.
    let (requests, said) = stage.buy(1, &[]).await?;
    assert_eq!(said["outcome"], "not_ordered", "{said}");
    assert_eq!(said["why"], "it costs more than was agreed to");
    assert_eq!(stage.orders(&said["checkout"]), [] as [&str; 0]);
    assert_eq!(requests.len(), 2);

    stage.restate.kill();
    Ok(())
}
