//! `keygen`: a key to sign requests with.

use crate::Failure;
use clap::{Args, ValueEnum};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use ucp_runtime::serde_json::Value;
use ucp_runtime::signatures::{Algorithm, SigningKey};
use ucp_runtime::{BoxError, Randomness};

#[derive(Args)]
pub(crate) struct Options {
    /// Where to write the private key, a JWK that only its owner can read. Nothing is overwritten.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The kind of key. Everybody verifies es256.
    #[arg(long, value_enum, default_value_t = Kind::Es256)]
    alg: Kind,
    /// The id that signatures name. Without one, the key's thumbprint (RFC 7638).
    #[arg(long, value_name = "ID")]
    kid: Option<String>,
}

/// A kind of key.
#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// ECDSA on P-256.
    Es256,
    /// ECDSA on P-384.
    Es384,
    /// Ed25519.
    Ed25519,
}

impl From<Kind> for Algorithm {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Es256 => Self::Es256,
            Kind::Es384 => Self::Es384,
            Kind::Ed25519 => Self::Ed25519,
        }
    }
}

/// The operating system's randomness.
struct System;

impl Randomness for System {
    #[expect(
        clippy::disallowed_methods,
        reason = "a program is where randomness comes from"
    )]
    fn fill(&self, bytes: &mut [u8]) -> Result<(), BoxError> {
        getrandom::fill(bytes).map_err(Into::into)
    }
}

/// Makes a key, writes the private half, and prints the public one.
pub(crate) fn run(options: Options) -> Result<(), Failure> {
    let refuse = |error: &dyn std::error::Error| Failure::usage(crate::chain(error));
    let mut key = SigningKey::generate(options.alg.into(), &System).map_err(|it| refuse(&it))?;
    if let Some(id) = &options.kid {
        key = key.with_id(id).map_err(|it| refuse(&it))?;
    }
    let mut file = OpenOptions::new();
    file.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    let path = options.out.display();
    let unwritten = |error| Failure::usage(format!("{path}: {error}"));
    let mut file = file.open(&options.out).map_err(unwritten)?;
    let jwk = key.to_private_jwk();
    file.write_all(jwk.as_bytes())
        .and_then(|()| file.write_all(b"\n"))
        .and_then(|()| file.sync_all())
        .map_err(unwritten)?;
    println!("{:#}", Value::from(key.public_key().to_jwk()));
    Ok(())
}
