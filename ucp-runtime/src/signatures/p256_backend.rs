//! ES256 by the arithmetic that the features choose: `p256`, or behind it `ring` or `aws-lc-rs`.

use p256::ecdsa::{SigningKey, VerifyingKey};
use zeroize::Zeroizing;

#[cfg(feature = "aws-lc-rs")]
use aws_lc_rs as fast;
#[cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]
use ring as fast;

/// A public key. Whatever verifies with it, `p256` has checked that it is a point of the curve.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Verifying(VerifyingKey);

impl Verifying {
    pub(super) fn new(x: &[u8; 32], y: &[u8; 32]) -> Option<Self> {
        let point = p256::Sec1Point::from_affine_coordinates(&(*x).into(), &(*y).into(), false);
        VerifyingKey::from_sec1_point(&point).ok().map(Self)
    }

    pub(super) fn coordinates(&self) -> ([u8; 32], [u8; 32]) {
        let point = self.0.to_sec1_point(false);
        let octets = |part: Option<&p256::FieldBytes>| part.map_or([0; 32], |part| (*part).into());
        (octets(point.x()), octets(point.y()))
    }

    #[cfg(not(any(feature = "ring", feature = "aws-lc-rs")))]
    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        use p256::ecdsa::signature::Verifier as _;
        p256::ecdsa::Signature::from_slice(signature)
            .is_ok_and(|signature| self.0.verify(message, &signature).is_ok())
    }

    #[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        use fast::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
        let point = self.0.to_sec1_point(false);
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point.as_bytes())
            .verify(message, signature)
            .is_ok()
    }
}

/// A private key.
pub(super) struct Signing {
    key: SigningKey,
    // Its own copy of the scalar, which `ring` does not wipe when it is dropped.
    #[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
    fast: fast::signature::EcdsaKeyPair,
}

impl Signing {
    /// `None` when the scalar is zero or not below the order of the curve.
    pub(super) fn new(scalar: &[u8; 32]) -> Option<Self> {
        let scalar = Zeroizing::new((*scalar).into());
        Self::from_key(SigningKey::from_bytes(&scalar).ok()?)
    }

    #[cfg(not(any(feature = "ring", feature = "aws-lc-rs")))]
    #[expect(
        clippy::unnecessary_wraps,
        reason = "other arithmetic can refuse a key"
    )]
    pub(super) fn from_key(key: SigningKey) -> Option<Self> {
        Some(Self { key })
    }

    #[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
    pub(super) fn from_key(key: SigningKey) -> Option<Self> {
        use fast::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
        let scalar = Zeroizing::new(key.to_bytes());
        let point = key.verifying_key().to_sec1_point(false);
        let fast = EcdsaKeyPair::from_private_key_and_public_key(
            &ECDSA_P256_SHA256_FIXED_SIGNING,
            &scalar,
            point.as_bytes(),
            #[cfg(not(feature = "aws-lc-rs"))]
            &fast::rand::SystemRandom::new(),
        );
        Some(Self {
            key,
            fast: fast.ok()?,
        })
    }

    pub(super) fn public(&self) -> Verifying {
        Verifying(*self.key.verifying_key())
    }

    pub(super) fn scalar(&self) -> Zeroizing<[u8; 32]> {
        let scalar = Zeroizing::new(self.key.to_bytes());
        Zeroizing::new((*scalar).into())
    }

    /// Deterministic (RFC 6979): the same message has the same signature.
    #[cfg(not(any(feature = "ring", feature = "aws-lc-rs")))]
    pub(super) fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        use p256::ecdsa::signature::Signer as _;
        let signature: p256::ecdsa::Signature = self.key.try_sign(message).ok()?;
        Some(signature.to_bytes().to_vec())
    }

    /// Randomised, by the system's source: these libraries take no other.
    #[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
    pub(super) fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        let signature = self.fast.sign(&fast::rand::SystemRandom::new(), message);
        Some(signature.ok()?.as_ref().to_vec())
    }
}
