//! The implementations that every generated type shares.

/// Implements [`wire::Read`](crate::wire::Read), [`serde::Serialize`], [`serde::Deserialize`] and
/// [`Debug`](std::fmt::Debug) for types that implement [`wire::Object`](crate::wire::Object).
#[macro_export]
#[doc(hidden)]
macro_rules! impl_object {
    ($($type:ident),* $(,)?) => {$(
        impl $type {
            /// Holds the value against what the contract demands beyond its types: patterns, ranges,
            /// formats, conditions.
            ///
            /// # Errors
            ///
            /// Every rule that it breaks, with its JSON path.
            pub fn validate(&self) -> ::std::result::Result<(), $crate::wire::Violations> {
                $crate::wire::validate_value(self, <Self as $crate::wire::Object>::RULES)
            }
        }
        impl $crate::wire::Read for $type {
            fn read(value: $crate::wire::Value, reader: &mut $crate::wire::Reader) -> ::std::result::Result<Self, $crate::wire::DecodeError> {
                $crate::wire::read_object(value, reader)
            }
        }
        impl ::std::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                $crate::wire::debug(self, f)
            }
        }
        impl $crate::serde::Serialize for $type {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> ::std::result::Result<S::Ok, S::Error> {
                $crate::wire::serialize(self, serializer)
            }
        }
        $crate::impl_deserialize!($type);
    )*};
}

/// Implements the same for types that implement [`wire::Vocabulary`](crate::wire::Vocabulary).
#[macro_export]
#[doc(hidden)]
macro_rules! impl_vocabulary {
    ($($type:ident),* $(,)?) => {$(
        impl $type {
            /// The string on the wire.
            #[must_use]
            pub fn as_str(&self) -> &str {
                $crate::wire::Vocabulary::as_str(self)
            }
        }
        impl $crate::wire::Read for $type {
            fn read(value: $crate::wire::Value, reader: &mut $crate::wire::Reader) -> ::std::result::Result<Self, $crate::wire::DecodeError> {
                $crate::wire::read_vocabulary(value, reader)
            }
        }
        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str($crate::wire::Vocabulary::as_str(self))
            }
        }
        impl $crate::serde::Serialize for $type {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> ::std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str($crate::wire::Vocabulary::as_str(self))
            }
        }
        $crate::impl_deserialize!($type);
    )*};
}

/// Implements the same for types that implement [`wire::Union`](crate::wire::Union).
#[macro_export]
#[doc(hidden)]
macro_rules! impl_union {
    ($($type:ident),* $(,)?) => {$(
        impl $type {
            /// Holds the value against what the contract demands beyond its types: patterns, ranges,
            /// formats, conditions.
            ///
            /// # Errors
            ///
            /// Every rule that it breaks, with its JSON path.
            pub fn validate(&self) -> ::std::result::Result<(), $crate::wire::Violations> {
                $crate::wire::validate_value(self, <Self as $crate::wire::Union>::RULES)
            }
        }
        impl $crate::wire::Read for $type {
            fn read(value: $crate::wire::Value, reader: &mut $crate::wire::Reader) -> ::std::result::Result<Self, $crate::wire::DecodeError> {
                $crate::wire::read_union(value, reader)
            }
        }
        impl $crate::serde::Serialize for $type {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> ::std::result::Result<S::Ok, S::Error> {
                $crate::wire::Union::write(self, serializer)
            }
        }
        $crate::impl_deserialize!($type);
    )*};
}

/// [`serde::Deserialize`] through [`wire::Read`](crate::wire::Read).
#[macro_export]
#[doc(hidden)]
macro_rules! impl_deserialize {
    ($type:ident) => {
        impl<'de> $crate::serde::Deserialize<'de> for $type {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                $crate::wire::deserialize(deserializer)
            }
        }
    };
}
