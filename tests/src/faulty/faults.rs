//! The fault run: many purchases over a line that breaks, then the merchant's ledger.

use super::buyer::{Buyer, Ending};
use super::clock::Hurried;
use super::line::{Event, Line, Lines};
use super::plan::Plan;
use super::proxy::{Passing, Proxy, Record};
use super::report::Report;
use super::{blind, server};
use crate::golden::shopping_2026_04_08::{Client, RELEASE};
use merchant::{Stimulus, Target};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;
use ucp_runtime::jiff::Timestamp;
use ucp_runtime::{Agent, BoxError, Merchant, Retry, Verification};

/// When every purchase begins, by its agent's clock and the merchant's.
const BEGAN: Timestamp = Timestamp::constant(1_775_642_400, 0);
/// How long a call may take with all its attempts, by the agent's clock.
const BUDGET: Duration = Duration::from_secs(20);
/// What a busy machine may take on top.
const SLACK: Duration = Duration::from_secs(2);

/// A run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many purchases are made.
    pub purchases: u32,
    /// What decides the faults.
    pub seed: u64,
    /// Whether the client is one that takes fresh keys for each attempt.
    pub fresh_keys: bool,
    /// Whether the merchant is one that keeps no keys: only its checkouts tell it a repetition.
    pub forgetful: bool,
    /// How many purchases are made at a time.
    pub concurrent: u32,
    /// How long one attempt may take, in real time.
    pub timeout: Duration,
}

/// A purchase as it ended.
pub(super) struct Purchase {
    pub(super) number: u32,
    pub(super) ending: Ending,
    pub(super) events: Vec<Event>,
    pub(super) record: Record,
    pub(super) overdue: u32,
}

struct Stage {
    options: Options,
    lines: Lines,
    proxy: Proxy,
    merchant: merchant::Running,
    profile: String,
    next: AtomicU32,
}

/// Makes the purchases, and compares what the agents know with what the merchant sold.
///
/// # Errors
///
/// When merchant, proxy or agent cannot be set up.
pub async fn run(options: Options) -> Result<Report, BoxError> {
    let merchant = merchant::Merchant::builder()
        .seed(options.seed)
        .clock(|| BEGAN)
        .start()
        .await?;
    merchant.set_stock("var_mug", u32::MAX);
    let plan = Plan::new(options.seed);
    let shop: merchant::Merchant = (*merchant).clone();
    let slow = move |passing: Passing<'_>| {
        if let Some(Some(checkout)) = passing.acted
            && plan.is_slow(passing.purchase)
        {
            let reads = Stimulus::CompleteInProgress { reads: 2 };
            shop.script(Target::Session(checkout.to_owned()), [reads]);
        }
    };
    let origin = merchant.origin().to_owned();
    let proxy = Proxy::start(&origin, plan, BEGAN, Box::new(slow), options.forgetful).await?;
    let stage = Arc::new(Stage {
        options,
        lines: Lines::new(plan)?,
        proxy,
        merchant,
        profile: server::profile().await?,
        next: AtomicU32::new(0),
    });
    let mut workers = JoinSet::new();
    for _ in 0..options.concurrent {
        let stage = stage.clone();
        workers.spawn(async move {
            let mut made = Vec::new();
            loop {
                let number = stage.next.fetch_add(1, Ordering::Relaxed);
                if number >= stage.options.purchases {
                    return Ok::<_, BoxError>(made);
                }
                made.push(stage.purchase(number).await?);
            }
        });
    }
    let mut purchases = Vec::new();
    while let Some(made) = workers.join_next().await {
        purchases.extend(made??);
    }
    purchases.sort_by_key(|purchase| purchase.number);
    Ok(Report::new(options, purchases, &stage.merchant.orders()))
}

impl Stage {
    async fn purchase(&self, number: u32) -> Result<Purchase, BoxError> {
        let clock = Hurried::at(BEGAN);
        let line = self.lines.line(number);
        let shop = self.shop(line.clone(), clock.clone())?;
        let (ending, overdue) = if self.options.fresh_keys {
            (blind::buy(&shop).await, 0)
        } else {
            let mut buyer = Buyer {
                shop,
                line: line.clone(),
                number,
                budget: Some((clock, BUDGET + SLACK)),
                overdue: 0,
            };
            (buyer.buy().await, buyer.overdue)
        };
        Ok(Purchase {
            number,
            ending,
            events: line.events(),
            record: self.proxy.finish(number).await,
            overdue,
        })
    }

    /// An agent of its own, as in a process of its own.
    fn shop(&self, line: Line, clock: Hurried) -> Result<Client, BoxError> {
        let retry = match self.options.fresh_keys {
            true => Retry::never(),
            false => Retry::default().total(BUDGET),
        };
        let agent = Agent::builder(&self.profile)?
            .development()
            .id_secret([7; 32])
            .verification(Verification::Required)
            .transport(line)
            .clock(clock)
            .timeout(self.options.timeout)
            .retry(retry)
            .build()?;
        let endpoint = format!("{}{}", self.proxy.origin(), merchant::profile::ENDPOINT);
        let origin = self.merchant.origin();
        let merchant = Merchant::at(&agent, origin, &endpoint, RELEASE.version())?;
        Ok(Client::new(&merchant))
    }
}
