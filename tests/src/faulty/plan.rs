//! Which fault strikes which request: decided by the seed, the purchase, the step, and how often the
//! step was tried; by nothing else.

use std::fmt;
use ucp_runtime::http::Method;

/// What can go wrong with a request. `Before` and `After` say whether the merchant acted on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// No connection is made.
    Refused,
    /// The connection is reset when the request has arrived, which goes no further.
    ResetBefore,
    /// The connection is reset in place of an answer.
    ResetAfter,
    /// No answer comes within the client's timeout. The request reaches the merchant later, between
    /// later requests of the purchase or after its end.
    LateBefore,
    /// The merchant's answer does not come within the client's timeout.
    LateAfter,
    /// The connection ends within the answer's head.
    HeadCut,
    /// The connection ends within the answer's body.
    BodyCut,
    /// The merchant gets the request twice, at the same time.
    Duplicated,
    /// A gate answers with this status; what it says of waiting comes with 429 and 503.
    StatusBefore(u16),
    /// The merchant acted, and this status is what arrives.
    StatusAfter(u16),
    /// One bit of the answer's signature is another.
    Signature,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::Refused,
        Self::ResetBefore,
        Self::ResetAfter,
        Self::LateBefore,
        Self::LateAfter,
        Self::HeadCut,
        Self::BodyCut,
        Self::Duplicated,
        Self::StatusBefore(429),
        Self::StatusAfter(429),
        Self::StatusBefore(500),
        Self::StatusAfter(500),
        Self::StatusBefore(502),
        Self::StatusAfter(502),
        Self::StatusBefore(503),
        Self::StatusAfter(503),
        Self::Signature,
    ];
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("connection refused"),
            Self::ResetBefore => f.write_str("reset, before"),
            Self::ResetAfter => f.write_str("reset, after"),
            Self::LateBefore => f.write_str("too late, before"),
            Self::LateAfter => f.write_str("too late, after"),
            Self::HeadCut => f.write_str("head cut"),
            Self::BodyCut => f.write_str("body cut"),
            Self::Duplicated => f.write_str("delivered twice"),
            Self::StatusBefore(status) => write!(f, "{status}, before"),
            Self::StatusAfter(status) => write!(f, "{status}, after"),
            Self::Signature => f.write_str("signature corrupted"),
        }
    }
}

/// A step of a purchase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The checkout is made.
    Create,
    /// It is changed.
    Update,
    /// It is read before it is completed.
    Get,
    /// It is completed.
    Complete,
    /// It is read after a completion was sent.
    Read,
    /// It is called off.
    Cancel,
}

impl Step {
    /// All of them, in the order of a purchase.
    pub const ALL: [Self; 6] = [
        Self::Create,
        Self::Update,
        Self::Get,
        Self::Complete,
        Self::Read,
        Self::Cancel,
    ];

    /// The step that a request belongs to; `completed` says whether a completion was sent before.
    #[must_use]
    pub fn of(method: &Method, path: &str, completed: bool) -> Option<Self> {
        let (_, rest) = path.split_once("/checkout-sessions")?;
        Some(match (method, rest) {
            (&Method::POST, "") => Self::Create,
            (&Method::POST, rest) if rest.ends_with("/complete") => Self::Complete,
            (&Method::POST, rest) if rest.ends_with("/cancel") => Self::Cancel,
            (&Method::PUT, _) => Self::Update,
            (&Method::GET, _) if completed => Self::Read,
            (&Method::GET, _) => Self::Get,
            _ => return None,
        })
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Get => "get",
            Self::Complete => "complete",
            Self::Read => "read after",
            Self::Cancel => "cancel",
        })
    }
}

/// How likely a fault is at the first try of a step, the second and so on, in percent.
const LIKELY: [u64; 8] = [45, 40, 35, 30, 25, 20, 15, 10];

/// The faults of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    seed: u64,
    faults: bool,
}

impl Plan {
    /// The faults of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, faults: true }
    }

    /// A line without faults.
    #[must_use]
    pub fn clear() -> Self {
        Self {
            seed: 0,
            faults: false,
        }
    }

    /// What strikes the try of a step, counted from 0. Tries beyond the twentieth are spared, so that
    /// what is true can be found out in the end.
    #[must_use]
    pub fn fault(&self, purchase: u32, step: Step, tried: u32) -> Option<Fault> {
        if !self.faults {
            return None;
        }
        let draw = |what: u64| self.draw(purchase, what);
        // One purchase in 40 has a step that fails in the same way again and again.
        if draw(1).is_multiple_of(40) && pick(&Step::ALL, draw(2)) == Some(step) {
            let often = 4 + draw(3) % 17;
            return (u64::from(tried) < often).then(|| pick(&Fault::ALL, draw(4)))?;
        }
        let likely = *LIKELY.get(tried as usize)?;
        let at = 16 + u64::from(tried) * 64 + step as u64 * 8;
        (draw(at) % 100 < likely).then(|| pick(&Fault::ALL, draw(at + 1)))?
    }

    /// How many requests of the purchase pass before a request that is late is delivered.
    #[must_use]
    pub fn lateness(&self, purchase: u32, arrivals: u32) -> u32 {
        // 1 to 5; what is due after the last request is delivered at the purchase's end.
        1 + (self.draw(purchase, 9_000 + u64::from(arrivals)) % 5) as u32
    }

    /// Whether the merchant accepts the completion first and places the order later.
    #[must_use]
    pub fn is_slow(&self, purchase: u32) -> bool {
        self.faults && self.draw(purchase, 5).is_multiple_of(4)
    }

    /// A number that depends on the seed, the purchase and what it is drawn for.
    #[must_use]
    pub fn draw(&self, purchase: u32, what: u64) -> u64 {
        mix(mix(self.seed ^ mix(u64::from(purchase))) ^ what)
    }
}

/// SplitMix64.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn pick<T: Copy>(all: &[T], drawn: u64) -> Option<T> {
    let index = usize::try_from(drawn % all.len() as u64).ok()?;
    all.get(index).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_its_seed_and_strikes_every_step_in_every_way() {
        let all = |seed| {
            let plan = Plan::new(seed);
            let mut struck = Vec::new();
            for purchase in 0..1_000 {
                for step in Step::ALL {
                    for tried in 0..3 {
                        struck.push((step, plan.fault(purchase, step, tried)));
                    }
                }
            }
            struck
        };
        let struck = all(1);
        assert_eq!(struck, all(1));
        assert_ne!(struck, all(2));
        for step in Step::ALL {
            for fault in Fault::ALL {
                assert!(struck.contains(&(step, Some(fault))), "{step} {fault}");
            }
        }
        let plan = Plan::new(1);
        let spared = |step| (0..1_000).all(|it| plan.fault(it, step, 21).is_none());
        assert!(Step::ALL.into_iter().all(spared));
    }
}
