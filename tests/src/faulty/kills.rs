//! The kill run: purchases by a process that is killed at random moments and started again with the
//! same journal.

use super::buyer::{Buyer, Ending};
use super::line::Lines;
use super::plan::Plan;
use super::proxy::{Passing, Proxy};
use super::server;
use crate::golden::shopping_2026_04_08::{Client, RELEASE};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use ucp_runtime::jiff::Timestamp;
use ucp_runtime::journal::{Journal as _, SqliteJournal};
use ucp_runtime::{Agent, BoxError, Merchant, Verification};

/// How many requests a purchase has on a line without faults: create, update, get, complete.
const REQUESTS: u64 = 4;

/// A run.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many purchases are made.
    pub runs: u32,
    /// What decides when the process is killed.
    pub seed: u64,
    /// The program that buys, called with the arguments of [`child`] after the word `child`.
    pub program: PathBuf,
}

/// When a process is killed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    /// When this request of the purchase has reached the proxy, and before or after the merchant acted
    /// on it.
    Request { number: u32, acted: bool },
    /// After this share of the time that a purchase takes.
    Share(f64),
}

/// What a kill run came to.
#[derive(Debug, Default)]
pub struct Report {
    /// How many purchases were made.
    pub runs: u32,
    /// How often a process was killed, and when.
    pub kills: BTreeMap<String, u32>,
    /// How often a process ended before its moment came.
    pub missed: u32,
    /// Purchases with one order, which the agent knows.
    pub one_order: u32,
    /// Purchases with more.
    pub doubled: u32,
    /// Purchases with none, or with another than the agent says.
    pub none: u32,
    /// Journals that are damaged.
    pub damaged: u32,
    /// Calls that the journal shows open at the end.
    pub open: usize,
    /// What processes said that failed.
    pub failures: Vec<String>,
}

impl Report {
    /// Whether each purchase came to one order, with an intact journal.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.one_order == self.runs
            && self.damaged == 0
            && self.open == 0
            && self.failures.is_empty()
    }

    /// How often a process was killed.
    #[must_use]
    pub fn killed(&self) -> u32 {
        self.kills.values().sum()
    }
}

/// The process that buys now, and the moment at which it dies.
#[derive(Default)]
struct Victim {
    process: Option<Child>,
    moment: Option<Moment>,
    /// How many requests it made; those of processes before it are not counted.
    requests: u32,
    killed: Option<String>,
}

impl Victim {
    fn kill(&mut self, when: String) {
        if let Some(process) = &mut self.process
            && process.kill().is_ok()
        {
            self.moment = None;
            self.killed = Some(when);
        }
    }

    fn watch(&mut self, passing: &Passing<'_>) {
        if passing.acted.is_none() {
            self.requests += 1;
        }
        let now = Moment::Request {
            number: self.requests,
            acted: passing.acted.is_some(),
        };
        if self.moment == Some(now) {
            let when = if passing.acted.is_some() {
                "after"
            } else {
                "before"
            };
            self.kill(format!(
                "request {}, {when} the merchant acted",
                self.requests
            ));
        }
    }
}

fn lock(victim: &Mutex<Victim>) -> std::sync::MutexGuard<'_, Victim> {
    victim.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Stage {
    options: Options,
    merchant: merchant::Running,
    proxy: Proxy,
    profile: String,
    folder: tempfile::TempDir,
    victim: Arc<Mutex<Victim>>,
}

/// Makes the purchases.
///
/// # Errors
///
/// When merchant, proxy or processes cannot be set up.
pub async fn run(options: Options) -> Result<Report, BoxError> {
    let merchant = merchant::Merchant::builder()
        .seed(options.seed)
        .start()
        .await?;
    merchant.set_stock("var_mug", u32::MAX);
    let victim = Arc::new(Mutex::new(Victim::default()));
    let watched = victim.clone();
    let watch = move |passing: Passing<'_>| lock(&watched).watch(&passing);
    let origin = merchant.origin().to_owned();
    let (clear, watch) = (Plan::clear(), Box::new(watch));
    let proxy = Proxy::start(&origin, clear, Timestamp::UNIX_EPOCH, watch, false).await?;
    let mut stage = Stage {
        options,
        merchant,
        proxy,
        profile: server::profile().await?,
        folder: tempfile::tempdir()?,
        victim,
    };
    let mut report = Report::default();
    // One purchase that nobody disturbs, to know how long it takes: two processes.
    let began = Instant::now();
    stage.purchase(0, &[], Duration::ZERO, &mut report).await?;
    let usual = began.elapsed() / 2;
    let plan = Plan::new(stage.options.seed);
    for number in 1..=stage.options.runs {
        let moments = moments(&plan, number);
        stage.purchase(number, &moments, usual, &mut report).await?;
    }
    report.runs = stage.options.runs + 1;
    Ok(report)
}

/// When the processes of a purchase are killed: one to three of them.
fn moments(plan: &Plan, number: u32) -> Vec<Moment> {
    let kills = 1 + plan.draw(number, 1) % 3;
    (0..kills)
        .map(|kill| {
            let draw = |what| plan.draw(number, 10 + kill * 8 + what);
            match draw(0) % 2 {
                0 => Moment::Request {
                    number: 1 + (draw(1) % REQUESTS) as u32,
                    acted: draw(2).is_multiple_of(2),
                },
                _ => Moment::Share((draw(1) % 1000) as f64 / 1000.0),
            }
        })
        .collect()
}

impl Stage {
    async fn purchase(
        &mut self,
        number: u32,
        moments: &[Moment],
        usual: Duration,
        report: &mut Report,
    ) -> Result<(), BoxError> {
        let journal = self.folder.path().join(format!("{number}.db"));
        let mut moments = moments.iter().copied();
        let said = loop {
            let moment = moments.next();
            let ended = self.process(number, &journal, moment, usual).await?;
            if journal.exists() && !is_intact(&journal)? {
                report.damaged += 1;
            }
            match ended {
                Ended::Killed(when) => *report.kills.entry(when).or_default() += 1,
                Ended::Said(said) => {
                    report.missed += u32::from(moment.is_some()) + moments.len() as u32;
                    break said;
                }
            }
        };
        // Once more, when all is done: nothing changes.
        if let Ended::Said(again) = self.process(number, &journal, None, usual).await?
            && again != said
        {
            report
                .failures
                .push(format!("purchase {number}: {said}, then {again}"));
        }
        let made = self.proxy.finish(number).await.checkouts;
        let orders = self.merchant.orders();
        let sold: Vec<&str> = orders
            .iter()
            .filter(|order| made.contains(&order.checkout_id))
            .map(|order| order.id.as_str())
            .collect();
        match sold.as_slice() {
            [order] if said == format!("order {order}") => report.one_order += 1,
            [] | [_] => {
                report.none += 1;
                report
                    .failures
                    .push(format!("purchase {number}: {said}, sold {sold:?}"));
            }
            _ => report.doubled += 1,
        }
        let journal = SqliteJournal::open(&journal)?;
        report.open += journal.open_calls().await?.len();
        Ok(())
    }

    /// One process, from its start to its end.
    async fn process(
        &self,
        number: u32,
        journal: &Path,
        moment: Option<Moment>,
        usual: Duration,
    ) -> Result<Ended, BoxError> {
        let mut command = Command::new(&self.options.program);
        let endpoint = format!("{}{}", self.proxy.origin(), merchant::profile::ENDPOINT);
        command
            .arg("child")
            .arg(journal)
            .args([self.merchant.origin(), &endpoint, &self.profile])
            .arg(number.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let began = Instant::now();
        *lock(&self.victim) = Victim {
            process: Some(command.spawn()?),
            moment,
            ..Victim::default()
        };
        loop {
            {
                let mut victim = lock(&self.victim);
                if let Some(Moment::Share(share)) = victim.moment
                    && began.elapsed() >= usual.mul_f64(share)
                {
                    let tenth = (share * 10.0) as u32;
                    victim.kill(format!("{tenth}0 % of the usual time, or later"));
                }
                let process = victim.process.as_mut().ok_or("no process")?;
                if let Some(status) = process.try_wait()? {
                    let process = victim.process.take().ok_or("no process")?;
                    // A signal leaves no code; a process may have ended just before it.
                    if let (None, Some(when)) = (status.code(), victim.killed.take()) {
                        return Ok(Ended::Killed(when));
                    }
                    let output = process.wait_with_output()?;
                    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
                    return Ok(Ended::Said(said));
                }
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

enum Ended {
    Killed(String),
    Said(String),
}

fn is_intact(journal: &Path) -> Result<bool, BoxError> {
    let database = rusqlite::Connection::open(journal)?;
    let said: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    Ok(said == "ok")
}

/// What the process that buys is told: where its journal is, the merchant's origin and endpoint, the
/// agent's profile, and the purchase's number. It says what came of it.
///
/// # Errors
///
/// When an argument is missing, or the agent cannot be set up.
pub async fn child(mut arguments: impl Iterator<Item = String>) -> Result<String, BoxError> {
    let mut argument = || arguments.next().ok_or("an argument is missing");
    let journal = SqliteJournal::open(argument()?)?;
    let (origin, endpoint, profile) = (argument()?, argument()?, argument()?);
    let number: u32 = argument()?.parse()?;
    let line = Lines::new(Plan::clear())?.line(number);
    let agent = Agent::builder(&profile)?
        .development()
        .id_secret([7; 32])
        .verification(Verification::Required)
        .transport(line.clone())
        .journal(journal)
        .build()?;
    let merchant = Merchant::at(&agent, &origin, &endpoint, RELEASE.version())?;
    let mut buyer = Buyer {
        shop: Client::new(&merchant),
        line,
        number,
        budget: None,
        overdue: 0,
    };
    Ok(match buyer.buy().await {
        Ending::Placed(order) => format!("order {order}"),
        Ending::NotPlaced => "no order".to_owned(),
        Ending::NotKnown => "not known".to_owned(),
    })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (when, often) in &self.kills {
            writeln!(f, "killed at {when:<45}{often:>7}")?;
        }
        let counts = [
            ("processes killed", self.killed()),
            ("processes that were done before their moment", self.missed),
            ("purchases, one of them undisturbed", self.runs),
            ("  with one order, which the agent knows", self.one_order),
        ];
        for (what, count) in counts {
            writeln!(f, "{what:<55}{count:>7}")?;
        }
        writeln!(f, "must be 0:")?;
        let zeros = [
            ("purchases with more than one order", self.doubled as usize),
            ("purchases with none, or another", self.none as usize),
            (
                "journals that PRAGMA integrity_check faults",
                self.damaged as usize,
            ),
            ("calls that the journal shows open", self.open),
        ];
        for (what, count) in zeros {
            writeln!(f, "  {what:<53}{count:>7}")?;
        }
        for failure in &self.failures {
            writeln!(f, "  {failure}")?;
        }
        Ok(())
    }
}
