//! `cargo xtask verify-specs`: is our contract the published one?
//!
//! Every keyword of either side is a fact, save what is not part of the REST contract or not ours
//! to repeat:
//!
//! - prose: `description`, `summary`, `$comment`, and the sample payloads of media types;
//! - identity: `$id`, `$schema`, `version`, and `info.version`, which is absent from the published
//!   REST document;
//! - other transports: OpenRPC documents, the schemas of those transports' messages, and the
//!   `embedded` block of the fulfillment extension.

mod compare;
mod tree;

#[cfg(test)]
mod tests;

use std::path::Path;

use crate::Chore;

/// Compares our release with the published tree below `--official`, and fails when a fact differs.
pub(crate) fn run(args: &[String]) -> Chore {
    let (mut official, mut version) = (None, None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let slot = match arg.as_str() {
            "--official" => &mut official,
            "--release" => &mut version,
            _ => return Err(format!("verify-specs: no option `{arg}`").into()),
        };
        let value = args.next();
        *slot = Some(value.ok_or_else(|| format!("verify-specs: `{arg}` needs a value"))?);
    }
    let official = Path::new(official.ok_or("verify-specs: --official DIR is missing")?);
    let version = match version {
        Some(version) => version.clone(),
        // Through the real path, so that `.` and a trailing `/..` have a name too.
        None => match official.canonicalize()?.file_name() {
            Some(name) => match name.to_string_lossy() {
                // The published folder of the draft is dated, ours is not.
                name if name.starts_with("draft-") => "draft".to_owned(),
                name => name.into_owned(),
            },
            None => return Err("verify-specs: give the release with --release".into()),
        },
    };
    let release = ucp_specs::release(&version)
        .ok_or_else(|| format!("verify-specs: there is no release `{version}` of ours"))?;

    let report = compare::compare(&tree::ours(release)?, &tree::published(official)?);
    for difference in &report.differences {
        println!("{difference}");
    }
    println!(
        "facts: {} compared, {} differing",
        report.compared,
        report.differences.len()
    );
    match report.differences.len() {
        0 => Ok(()),
        count => {
            Err(format!("verify-specs: {count} facts differ from the published contract").into())
        }
    }
}
