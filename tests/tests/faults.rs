//! The fault run and the kill run, as far as a test has time for them; `--bin faults` and `--bin kills`
//! do them in full.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::time::Duration;
use ucp_tests::faulty::plan::Step;
use ucp_tests::faulty::{faults, kills};

fn options(purchases: u32) -> faults::Options {
    faults::Options {
        purchases,
        seed: 1,
        fresh_keys: false,
        forgetful: false,
        concurrent: 32,
        // Long enough for a build without optimisation, on a machine that has other work.
        timeout: Duration::from_millis(1500),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_purchases_over_a_broken_line_come_to_one_order_or_none() {
    let report = faults::run(options(1_000)).await.unwrap();
    println!("{report}");
    assert!(report.holds(), "{report}");
    assert_eq!(report.purchases, 1_000);
    assert_eq!(report.placed + report.not_placed, 1_000);
    assert!(report.placed > 900, "{report}");
    for step in Step::ALL {
        let at_least = if step == Step::Cancel { 1 } else { 8 };
        assert!(report.kinds(step) >= at_least, "{step}: {report}");
    }
}

/// Without the merchant's keys it is the reads that keep an order from being lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_merchant_that_keeps_no_keys_loses_no_order_either() {
    let options = faults::Options {
        forgetful: true,
        ..options(300)
    };
    let report = faults::run(options).await.unwrap();
    assert!(report.holds(), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_fresh_keys_is_found_out() {
    let options = faults::Options {
        fresh_keys: true,
        ..options(300)
    };
    let report = faults::run(options).await.unwrap();
    assert!(!report.holds());
    assert!(report.doubled > 0, "{report}");
    assert!(report.unknown > 0, "{report}");
    assert!(report.repeated > 0, "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_goes_on_where_it_was() {
    let options = kills::Options {
        runs: 20,
        seed: 1,
        program: PathBuf::from(env!("CARGO_BIN_EXE_kills")),
    };
    let report = kills::run(options).await.unwrap();
    println!("{report}");
    assert!(report.holds(), "{report}");
    assert!(report.killed() >= 20, "{report}");
}
