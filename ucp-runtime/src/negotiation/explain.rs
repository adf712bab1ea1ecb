//! A negotiation in words.

use super::{LeftOut, Negotiated};
use crate::error::Offer;
use std::fmt;

/// A negotiation for a person to read: what was chosen, what was left out and why, what was noted.
#[derive(Clone, Copy, Debug)]
pub struct Explain<'n>(pub(super) &'n Negotiated);

impl fmt::Display for Explain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Negotiated {
            version,
            profile_version,
            service,
            endpoint,
            offers,
            capabilities,
            payment_handlers,
            left_out,
            notes,
        } = self.0;
        write!(f, "UCP {version}")?;
        if version != profile_version {
            write!(f, ", served by a profile of {}", Plain(profile_version))?;
        }
        writeln!(f, "\nendpoint: {}", endpoint.as_deref().unwrap_or("none"))?;
        let none = |is_empty| if is_empty { " none" } else { "" };
        writeln!(f, "capabilities:{}", none(capabilities.is_empty()))?;
        for (name, agreed) in capabilities {
            write!(f, "  {} {}", Plain(name), Plain(&agreed.version))?;
            if !agreed.extends.is_empty() {
                write!(f, ", extends {}", Plain(&agreed.extends.join(" and ")))?;
            }
            writeln!(f)?;
        }
        writeln!(f, "payment handlers:{}", none(payment_handlers.is_empty()))?;
        for (name, handlers) in payment_handlers {
            for handler in handlers {
                write!(f, "  {}", Plain(name))?;
                if let Some(version) = &handler.version {
                    write!(f, " {}", Plain(version))?;
                }
                writeln!(f, " ({})", Plain(&handler.id))?;
            }
        }
        writeln!(
            f,
            "left out:{}",
            none(left_out.is_empty() && offers.is_empty())
        )?;
        for Offer {
            transport,
            version,
            refused,
        } in offers
        {
            let (transport, version) = (Plain(transport), Plain(version));
            writeln!(
                f,
                "  service {service} {transport} {version}: {}",
                Plain(refused)
            )?;
        }
        for LeftOut {
            kind,
            name,
            version,
            why,
        } in left_out
        {
            write!(f, "  {kind} {}", Plain(name))?;
            if let Some(version) = version {
                write!(f, " {}", Plain(version))?;
            }
            writeln!(f, ": {why}")?;
        }
        if !notes.is_empty() {
            writeln!(f, "noted:")?;
        }
        for note in notes {
            writeln!(f, "  {}", Plain(&note.to_string()))?;
        }
        Ok(())
    }
}

/// A text of others without the controls that a terminal would obey.
pub(super) struct Plain<'t>(pub(super) &'t str);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.chars().any(char::is_control) {
            return f.write_str(self.0);
        }
        self.0.chars().try_for_each(|c| match c.is_control() {
            true => write!(f, "{}", c.escape_default()),
            false => write!(f, "{c}"),
        })
    }
}
