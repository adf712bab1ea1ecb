//! What the end-to-end tests share: the golden sources, compiled, and the way to shared data.

/// Sources as `cargo xtask regenerate` writes them.
#[rustfmt::skip]
pub mod golden {
    /// Shopping with the official extensions, and `Accept-Language` exposed.
    pub mod shopping_2026_04_08;
    /// Tokenization.
    pub mod tokenization_2026_04_08;
}

pub mod shared;
pub mod source;
