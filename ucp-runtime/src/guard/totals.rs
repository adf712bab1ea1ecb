//! Whether a bill adds up, by the rules of its release.

use crate::wire;
use serde_json::Value;

/// The first release whose amounts carry their sign, and that wants exactly one subtotal.
const SIGNED: &str = "2026-04-08";

/// What is wrong with a bill. Amounts are in ISO 4217 minor units; `index` is the entry's place in
/// `totals`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TotalsProblem {
    /// There is no list of totals.
    #[error("there are no totals")]
    Missing,
    /// Not exactly one entry of a type that there must be one of.
    #[error("there are {found} entries of type `{kind}`, where there must be one")]
    Count {
        /// `total` or `subtotal`.
        kind: &'static str,
        /// How many there are.
        found: usize,
    },
    /// An entry without an integer amount.
    #[error("totals[{index}] has no integer amount")]
    NoAmount {
        /// The entry.
        index: usize,
    },
    /// An amount of the wrong sign for its type and release.
    #[error("totals[{index}] is a `{kind}` of {amount}, which has the wrong sign")]
    Sign {
        /// The entry.
        index: usize,
        /// Its type.
        kind: String,
        /// Its amount.
        amount: i128,
    },
    /// The lines of an entry add up to something else.
    #[error("the lines of totals[{index}] add up to {sum}, and it says {amount}")]
    Lines {
        /// The entry.
        index: usize,
        /// What its lines add up to.
        sum: i128,
        /// Its amount.
        amount: i128,
    },
    /// The entries add up to something else than the total.
    #[error("the entries add up to {sum}, and the total says {total}")]
    Sum {
        /// What all but the total add up to.
        sum: i128,
        /// The total's amount.
        total: i128,
    },
    /// The amounts are beyond 128 bits together.
    #[error("the amounts are too large to add")]
    Overflow,
}

/// Whether a bill adds up.
///
/// In the releases of January 2026 no amount is negative, and discounts are subtracted. Since
/// 2026-04-08 the sign is the direction: discounts are below zero, known charges are not, other types
/// say it by their sign; there is exactly one subtotal, and an entry's lines add up to it.
///
/// Sections "Totals" of the protocol's checkout page and "Impact on totals" of its discount page.
pub(super) fn check(totals: Option<&Value>, release: &str) -> Result<(), TotalsProblem> {
    let entries = totals
        .and_then(Value::as_array)
        .ok_or(TotalsProblem::Missing)?;
    let signed = release >= SIGNED;
    let count = |kind| {
        entries
            .iter()
            .filter(|entry| wire::tag(entry, "type") == Some(kind))
            .count()
    };
    for kind in ["subtotal", "total"] {
        let found = count(kind);
        if found != 1 && (signed || kind == "total") {
            return Err(TotalsProblem::Count { kind, found });
        }
    }
    let (mut sum, mut total) = (0, 0);
    for (index, entry) in entries.iter().enumerate() {
        let kind = wire::tag(entry, "type").unwrap_or_default();
        let amount = amount(entry).ok_or(TotalsProblem::NoAmount { index })?;
        let discount = matches!(kind, "discount" | "items_discount");
        let right = match kind {
            "discount" | "items_discount" if signed => amount < 0,
            "subtotal" | "fulfillment" | "tax" | "fee" => amount >= 0,
            _ => signed || amount >= 0,
        };
        if !right {
            return Err(TotalsProblem::Sign {
                index,
                kind: kind.to_owned(),
                amount,
            });
        }
        if signed && let Some(lines) = entry.get("lines").and_then(Value::as_array) {
            let mut sum = 0;
            for line in lines {
                let amount = self::amount(line).ok_or(TotalsProblem::NoAmount { index })?;
                sum = add(sum, amount)?;
            }
            if sum != amount {
                return Err(TotalsProblem::Lines { index, sum, amount });
            }
        }
        if kind == "total" {
            total = amount;
        } else {
            sum = add(sum, if discount && !signed { -amount } else { amount })?;
        }
    }
    if sum == total {
        Ok(())
    } else {
        Err(TotalsProblem::Sum { sum, total })
    }
}

fn add(sum: i128, amount: i128) -> Result<i128, TotalsProblem> {
    sum.checked_add(amount).ok_or(TotalsProblem::Overflow)
}

/// An amount, which reading also takes as an integral float: `1000.0`.
fn amount(entry: &Value) -> Option<i128> {
    const EXACT: f64 = 9_007_199_254_740_991.0;
    let number = entry.get("amount")?.as_number()?;
    if let Some(integer) = number.as_i128() {
        return Some(integer);
    }
    let float = number.as_f64()?;
    #[expect(clippy::cast_possible_truncation, reason = "integral and within 2^53")]
    (float.fract() == 0.0 && float.abs() <= EXACT).then_some(float as i128)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const APRIL: &str = "2026-04-08";
    const DRAFT: &str = "2026-08-22";
    const JANUARY: [&str; 2] = ["2026-01-11", "2026-01-23"];

    fn bill(entries: &[(&str, i64)]) -> Value {
        entries
            .iter()
            .map(|(kind, amount)| json!({"type": kind, "amount": amount}))
            .collect()
    }

    fn judge(release: &str, totals: &Value) -> Result<(), TotalsProblem> {
        check(Some(totals), release)
    }

    #[test]
    fn bills_that_add_up() {
        let signed = [
            bill(&[("subtotal", 0), ("total", 0)]),
            bill(&[("total", 4000), ("subtotal", 5000), ("discount", -1000)]),
            bill(&[
                ("subtotal", 5750),
                ("items_discount", -800),
                ("fulfillment", 899),
                ("tax", 332),
                ("tax", 465),
                ("fee", 1),
                ("tip", 200),
                ("credit", -100),
                ("total", 6747),
            ]),
            json!([
                {"type": "subtotal", "amount": 4999.0},
                {"type": "fee", "amount": 549, "lines": [{"amount": 399}, {"amount": 150}]},
                {"type": "total", "amount": 5548, "lines": null},
            ]),
            // More than is payable: the merchant owes.
            bill(&[("subtotal", 100), ("credit", -300), ("total", -200)]),
        ];
        for totals in &signed {
            for release in [APRIL, DRAFT] {
                assert_eq!(judge(release, totals), Ok(()), "{totals}");
            }
        }
        let unsigned = [
            bill(&[
                ("subtotal", 7000),
                ("discount", 700),
                ("fulfillment", 1500),
                ("total", 7800),
            ]),
            bill(&[("subtotal", 4000), ("items_discount", 800), ("total", 3200)]),
            bill(&[("total", 0)]),
        ];
        for totals in &unsigned {
            for release in JANUARY {
                assert_eq!(judge(release, totals), Ok(()), "{totals}");
            }
        }
    }

    #[test]
    fn bills_that_do_not() {
        let sign = |index, kind: &str, amount| TotalsProblem::Sign {
            index,
            kind: kind.to_owned(),
            amount,
        };
        let count = |kind, found| TotalsProblem::Count { kind, found };
        let two = [("subtotal", 1), ("total", 1), ("total", 1)];
        for (release, totals, problem) in [
            (APRIL, json!([]), count("subtotal", 0)),
            (JANUARY[0], json!([]), count("total", 0)),
            (APRIL, bill(&[("subtotal", 1)]), count("total", 0)),
            (APRIL, bill(&[("total", 1)]), count("subtotal", 0)),
            (APRIL, bill(&two), count("total", 2)),
            (JANUARY[1], bill(&two), count("total", 2)),
            (
                APRIL,
                bill(&[("subtotal", 5), ("subtotal", 5), ("total", 10)]),
                count("subtotal", 2),
            ),
            (
                APRIL,
                bill(&[("subtotal", 5), ("total", 6)]),
                TotalsProblem::Sum { sum: 5, total: 6 },
            ),
            // January's way in April, and the other way round.
            (
                APRIL,
                bill(&[("subtotal", 7000), ("discount", 700), ("total", 6300)]),
                sign(1, "discount", 700),
            ),
            (
                JANUARY[0],
                bill(&[("subtotal", 5000), ("discount", -1000), ("total", 4000)]),
                sign(1, "discount", -1000),
            ),
            (
                APRIL,
                bill(&[("subtotal", 5), ("items_discount", 0), ("total", 5)]),
                sign(1, "items_discount", 0),
            ),
            (
                APRIL,
                bill(&[("subtotal", 5), ("tax", -1), ("total", 4)]),
                sign(1, "tax", -1),
            ),
            (
                APRIL,
                json!([{"type": "subtotal", "amount": 5, "lines": [{"amount": 2}, {"amount": 2}]},
                    {"type": "total", "amount": 5}]),
                TotalsProblem::Lines {
                    index: 0,
                    sum: 4,
                    amount: 5,
                },
            ),
            (
                APRIL,
                json!([{"type": "subtotal", "amount": 5}, {"type": "total", "amount": "5"}]),
                TotalsProblem::NoAmount { index: 1 },
            ),
            (
                APRIL,
                json!([{"type": "subtotal", "amount": 5.5}, {"type": "total", "amount": 5.5}]),
                TotalsProblem::NoAmount { index: 0 },
            ),
            (JANUARY[0], json!({}), TotalsProblem::Missing),
        ] {
            assert_eq!(judge(release, &totals), Err(problem), "{release} {totals}");
        }
        assert_eq!(check(None, APRIL), Err(TotalsProblem::Missing));
    }

    #[test]
    fn sums_beyond_64_bits_are_exact() {
        let totals = bill(&[
            ("subtotal", i64::MAX),
            ("fee", i64::MAX),
            ("discount", i64::MIN),
            ("discount", -i64::MAX + 1),
            ("total", 0),
        ]);
        assert_eq!(judge(APRIL, &totals), Ok(()));
    }

    proptest! {
        #[test]
        fn one_unit_off_is_found(charges in prop::collection::vec(0i64..1 << 40, 0..6),
            discounts in prop::collection::vec(1i64..1 << 40, 0..6), off in -2i64..3)
        {
            let mut entries = vec![("subtotal", 5)];
            entries.extend(charges.iter().map(|amount| ("fee", *amount)));
            let unsigned = entries.iter().map(|(_, amount)| amount).sum::<i64>();
            entries.extend(discounts.iter().map(|amount| ("discount", -amount)));
            let total = unsigned - discounts.iter().sum::<i64>() + off;
            entries.push(("total", total));
            prop_assert_eq!(judge(APRIL, &bill(&entries)).is_ok(), off == 0);
            let january: Vec<_> = entries.iter().map(|(kind, amount)| match *kind {
                "discount" => (*kind, -amount),
                _ => (*kind, *amount),
            }).collect();
            prop_assert_eq!(judge(JANUARY[0], &bill(&january)).is_ok(), off == 0 && total >= 0);
        }
    }
}
