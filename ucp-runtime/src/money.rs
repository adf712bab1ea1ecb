//! Amounts for people. On the wire an amount is an integer in minor units (ISO 4217); no float ever
//! holds one.

use std::fmt;

/// An amount in a currency, printed with as many decimals as the currency has.
///
/// ```
/// use ucp_runtime::Money;
///
/// assert_eq!(Money::new(1499, "USD").to_string(), "14.99 USD");
/// assert_eq!(Money::new(-5, "EUR").to_string(), "-0.05 EUR");
/// assert_eq!(Money::new(1499, "JPY").to_string(), "1499 JPY");
/// assert_eq!(Money::new(1499, "KWD").to_string(), "1.499 KWD");
/// ```
///
/// A currency that ISO 4217 does not list has no known decimals, and none are guessed:
/// `1499 minor units of XYZ`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Money<'c> {
    minor: i64,
    currency: &'c str,
}

impl<'c> Money<'c> {
    /// An amount in minor units of a currency, by its ISO 4217 code.
    #[must_use]
    pub const fn new(minor: i64, currency: &'c str) -> Self {
        Self { minor, currency }
    }

    /// How many decimals the currency has; `None` for one that ISO 4217 does not list.
    #[must_use]
    pub fn exponent(&self) -> Option<u16> {
        iso_currency::Currency::from_code(self.currency)?.exponent()
    }
}

impl fmt::Display for Money<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { minor, currency } = self;
        match self.exponent() {
            None => write!(f, "{minor} minor units of {currency}"),
            Some(0) => write!(f, "{minor} {currency}"),
            Some(exponent) => {
                let exponent = usize::from(exponent);
                let sign = if *minor < 0 { "-" } else { "" };
                // Digits, with zeros in front so that one stands before the point.
                let digits = format!("{:0width$}", minor.unsigned_abs(), width = exponent + 1);
                let (whole, part) = digits.split_at(digits.len() - exponent);
                write!(f, "{sign}{whole}.{part} {currency}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_what_the_currency_has() {
        for (minor, currency, text) in [
            (0, "USD", "0.00 USD"),
            (7, "USD", "0.07 USD"),
            (-1234, "USD", "-12.34 USD"),
            (1234, "JPY", "1234 JPY"),
            (1, "KWD", "0.001 KWD"),
            (12345, "CLF", "1.2345 CLF"),
            (i64::MIN, "USD", "-92233720368547758.08 USD"),
            (5, "usd", "5 minor units of usd"),
            (5, "XYZ", "5 minor units of XYZ"),
        ] {
            assert_eq!(Money::new(minor, currency).to_string(), text);
        }
    }
}
