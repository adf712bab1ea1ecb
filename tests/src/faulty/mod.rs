//! The fault run and the kill run: purchases over a line that breaks, by processes that die, held
//! against the merchant's ledger.

pub mod blind;
pub mod buyer;
pub mod clock;
pub mod faults;
pub mod kills;
pub mod line;
pub mod plan;
pub mod proxy;
pub mod report;
mod server;
