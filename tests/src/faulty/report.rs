//! What a fault run came to: a table by fault and step, and what must be 0.

use super::buyer::Ending;
use super::faults::{Options, Purchase};
use super::line::Event;
use super::plan::{Fault, Step};
use super::proxy::Seen;
use merchant::Order;
use std::collections::BTreeMap;
use std::fmt;

/// What a fault run came to.
#[derive(Debug)]
pub struct Report {
    rows: BTreeMap<(Fault, Step), Row>,
    /// How many purchases were made.
    pub purchases: usize,
    /// How many ended with an order.
    pub placed: usize,
    /// How many ended without one, as agent and ledger agree.
    pub not_placed: usize,
    /// Orders beyond the first of a purchase.
    pub doubled: usize,
    /// Orders in the ledger that the agent does not know of.
    pub unknown: usize,
    /// Orders that the agent believes in and that are not in the ledger.
    pub believed: usize,
    /// Purchases whose agent could not find out how they ended.
    pub open: usize,
    /// Requests to complete a checkout that were repeated before a read.
    pub repeated: usize,
    /// Checkouts beyond the first of a purchase, where the merchant keeps keys.
    pub remade: usize,
    /// Calls that took longer than they may.
    pub overdue: u32,
    /// The numbers of the purchases that are wrong in one of these ways.
    pub wrong: Vec<u32>,
}

/// What became of a kind of fault at a step.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    injected: u32,
    /// The call was answered all the same.
    unnoticed: u32,
    /// The same request was sent again.
    retried: u32,
    /// The checkout was read in its place.
    read: u32,
    /// The call said that its outcome is not known, and it was recovered.
    recovered: u32,
    /// The same, and it could not be recovered.
    lost: u32,
    /// The call said that it was not done.
    not_done: u32,
}

impl Report {
    pub(super) fn new(options: Options, purchases: Vec<Purchase>, ledger: &[Order]) -> Self {
        let mut report = Self {
            rows: BTreeMap::new(),
            purchases: purchases.len(),
            placed: 0,
            not_placed: 0,
            doubled: 0,
            unknown: 0,
            believed: 0,
            open: 0,
            repeated: 0,
            remade: 0,
            overdue: 0,
            wrong: Vec::new(),
        };
        let mut orders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for order in ledger {
            orders
                .entry(&order.checkout_id)
                .or_default()
                .push(&order.id);
        }
        for purchase in &purchases {
            report.count(&purchase.events);
            let checkouts = purchase.record.checkouts.iter();
            let sold: Vec<&str> = checkouts
                .filter_map(|checkout| orders.remove(checkout.as_str()))
                .flatten()
                .collect();
            if !options.forgetful {
                report.remade += purchase.record.checkouts.len().saturating_sub(1);
            }
            report.compare(purchase, &sold);
        }
        // Of checkouts that no purchase made.
        report.unknown += orders.values().map(Vec::len).sum::<usize>();
        report
    }

    /// Whether all that must be 0 is.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.doubled + self.unknown + self.believed + self.open + self.repeated == 0
            && self.remade == 0
            && self.overdue == 0
    }

    /// How many faults there were.
    #[must_use]
    pub fn injected(&self) -> u32 {
        self.rows.values().map(|row| row.injected).sum()
    }

    /// How many kinds of fault there were at a step.
    #[must_use]
    pub fn kinds(&self, step: Step) -> usize {
        self.rows.keys().filter(|(_, at)| *at == step).count()
    }

    fn compare(&mut self, purchase: &Purchase, sold: &[&str]) {
        let doubled = sold.len().saturating_sub(1);
        let known = match &purchase.ending {
            Ending::Placed(order) => Some(order.as_str()),
            Ending::NotPlaced | Ending::NotKnown => None,
        };
        let unknown = sold.iter().filter(|order| Some(**order) != known).count();
        let believed = usize::from(known.is_some_and(|order| !sold.contains(&order)));
        let open = usize::from(purchase.ending == Ending::NotKnown);
        let repeated = repeated(&purchase.record.seen);
        match (known, sold) {
            (Some(_), _) => self.placed += 1,
            (None, []) if open == 0 => self.not_placed += 1,
            _ => {}
        }
        self.doubled += doubled;
        self.unknown += unknown;
        self.believed += believed;
        self.open += open;
        self.repeated += repeated;
        self.overdue += purchase.overdue;
        if doubled + unknown + believed + open + repeated > 0 || purchase.overdue > 0 {
            self.wrong.push(purchase.number);
        }
    }

    fn count(&mut self, events: &[Event]) {
        for (index, event) in events.iter().enumerate() {
            let Event::Sent(step, Some(fault)) = *event else {
                continue;
            };
            let row = self.rows.entry((fault, step)).or_default();
            row.injected += 1;
            let rest = events.get(index + 1..).unwrap_or_default();
            match rest.first() {
                Some(Event::Answered | Event::Recovered) => row.unnoticed += 1,
                Some(Event::Sent(Step::Get | Step::Read, _))
                    if !matches!(step, Step::Get | Step::Read) =>
                {
                    row.read += 1;
                }
                Some(Event::Sent(..)) => row.retried += 1,
                Some(Event::Unknown | Event::StillUnknown) => {
                    let mut rest = rest
                        .iter()
                        .filter(|event| !matches!(event, Event::Sent(..)))
                        .skip_while(|event| matches!(event, Event::Unknown | Event::StillUnknown));
                    match rest.next() {
                        Some(Event::Recovered) => row.recovered += 1,
                        _ => row.lost += 1,
                    }
                }
                Some(Event::NotDone) | None => row.not_done += 1,
            }
        }
    }
}

/// How often a completion went out after another one without a read in between.
fn repeated(seen: &[Seen]) -> usize {
    seen.windows(2)
        .filter(|pair| matches!(pair, [Seen::Complete, Seen::Complete]))
        .count()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<22}{:<12}{:>9}{:>11}{:>9}{:>7}{:>11}{:>7}{:>10}",
            "fault",
            "step",
            "injected",
            "unnoticed",
            "retried",
            "read",
            "recovered",
            "lost",
            "not done"
        )?;
        for ((fault, step), row) in &self.rows {
            writeln!(
                f,
                "{:<22}{:<12}{:>9}{:>11}{:>9}{:>7}{:>11}{:>7}{:>10}",
                fault.to_string(),
                step.to_string(),
                row.injected,
                row.unnoticed,
                row.retried,
                row.read,
                row.recovered,
                row.lost,
                row.not_done
            )?;
        }
        writeln!(
            f,
            "\nfaults injected                                {:>7}",
            self.injected()
        )?;
        writeln!(
            f,
            "purchases                                      {:>7}",
            self.purchases
        )?;
        writeln!(
            f,
            "  with one order                               {:>7}",
            self.placed
        )?;
        writeln!(
            f,
            "  without an order, and the agent knows        {:>7}",
            self.not_placed
        )?;
        writeln!(f, "must be 0:")?;
        let zeros = [
            ("doubled orders", self.doubled),
            ("orders that the agent does not know of", self.unknown),
            ("orders that only the agent believes in", self.believed),
            ("purchases whose end the agent does not know", self.open),
            ("completions repeated before a read", self.repeated),
            ("checkouts made twice", self.remade),
            ("calls beyond their time", self.overdue as usize),
        ];
        for (what, count) in zeros {
            writeln!(f, "  {what:<45}{count:>7}")?;
        }
        if let Some(first) = self.wrong.first() {
            writeln!(f, "  the first wrong purchase is number {first}")?;
        }
        Ok(())
    }
}
