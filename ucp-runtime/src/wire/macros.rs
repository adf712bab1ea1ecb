//! The implementations that every generated type shares.

/// Implements [`wire::Object`](crate::wire::Object), and what follows from it, for a generated struct:
/// its members in the contract's order, grouped by how they are read. A member is called as its field
/// unless it says otherwise.
///
/// `object!(Item, constant("kind" = "product"), required(id, r#type = "type"), optional(title); RULES)`
///
/// The names stand in `MEMBERS` alone; reading and writing go through them in the same order.
#[macro_export]
#[doc(hidden)]
macro_rules! object {
    (
        $type:ident, constant($($constant:literal = $value:literal),+ $(,)?)
        $(, $how:ident($($field:ident $(= $wire:literal)?),+ $(,)?))*
        $(; $($fact:ident),+)?
    ) => {
        $crate::object!(@$type [$($constant $value)+] [$($how($($field [$($wire)?])+))*] [$($($fact)+)?]);
    };
    (
        $type:ident
        $(, $how:ident($($field:ident $(= $wire:literal)?),+ $(,)?))*
        $(; $($fact:ident),+)?
    ) => {
        $crate::object!(@$type [] [$($how($($field [$($wire)?])+))*] [$($($fact)+)?]);
    };
    (
        @$type:ident [$($constant:literal $value:literal)*]
        [$($how:ident($($field:ident $wire:tt)+))*] [$($fact:ident)*]
    ) => {
        #[allow(deprecated)]
        impl $crate::wire::Object for $type {
            const NAME: &'static str = ::std::stringify!($type);
            const MEMBERS: &'static [&'static str] =
                &[$($constant,)* $($($crate::object!(=$field $wire),)+)*];
            $($crate::object!(*$fact);)*

            fn read_members(
                members: &mut $crate::wire::Members<'_>,
            ) -> ::std::result::Result<Self, $crate::wire::DecodeError> {
                let names = &mut <Self as $crate::wire::Object>::MEMBERS.iter();
                $(members.constant($crate::wire::next_name(names), $value)?;)*
                ::std::result::Result::Ok(Self {
                    $($($field: members.$how($crate::wire::next_name(names))?,)+)*
                    extra: members.rest(),
                })
            }

            fn write_members<S: $crate::wire::Sink>(
                &self,
                sink: &mut S,
            ) -> ::std::result::Result<(), S::Error> {
                let names = &mut <Self as $crate::wire::Object>::MEMBERS.iter();
                $(sink.required($crate::wire::next_name(names), $value)?;)*
                $($(sink.$how($crate::wire::next_name(names), &self.$field)?;)+)*
                sink.put_rest(&self.extra, <Self as $crate::wire::Object>::MEMBERS)
            }
        }
        $crate::impl_object!($type);
    };
    (=$field:ident []) => { ::std::stringify!($field) };
    (=$field:ident [$wire:literal]) => { $wire };
    (*RULES) => { const RULES: &'static [$crate::wire::Check] = Self::RULES; };
    (*SECRETS) => { const SECRETS: &'static [&'static str] = Self::SECRETS; };
}

/// Gives a generated struct a setter for each member that may be left out, grouped by type. A setter
/// takes what converts into the type, scalars as they are, and for a list anything that yields items.
///
/// `setters!(Item, String(title, note), Price(price), list(Tag(tags)), i64(count))`
#[macro_export]
#[doc(hidden)]
macro_rules! setters {
    ($type:ident $(, $of:ident($($fields:tt)+))*) => {
        #[allow(clippy::should_implement_trait)]
        impl $type {
            $($crate::setters!(@$of $($fields)+);)*

            /// Adds a member that the contract leaves open.
            #[must_use]
            pub fn extra(
                mut self,
                name: impl ::std::convert::Into<::std::string::String>,
                value: impl ::std::convert::Into<$crate::wire::Value>,
            ) -> Self {
                self.extra.insert(name.into(), value.into());
                self
            }
        }
    };
    (@list String($($field:ident $(= $wire:literal)?),+)) => {$(
        #[doc = ::std::concat!("Sets `", $crate::object!(=$field [$($wire)?]), "`.")]
        #[must_use]
        pub fn $field(
            mut self,
            $field: impl ::std::iter::IntoIterator<Item = impl ::std::convert::Into<::std::string::String>>,
        ) -> Self {
            let items = $field.into_iter().map(::std::convert::Into::into);
            self.$field = ::std::option::Option::Some(items.collect());
            self
        }
    )+};
    (@list $of:ident($($field:ident $(= $wire:literal)?),+)) => {$(
        #[doc = ::std::concat!("Sets `", $crate::object!(=$field [$($wire)?]), "`.")]
        #[must_use]
        pub fn $field(mut self, $field: impl ::std::iter::IntoIterator<Item = $of>) -> Self {
            self.$field = ::std::option::Option::Some($field.into_iter().collect());
            self
        }
    )+};
    (@bool $($fields:tt)+) => { $crate::setters!(=bool $($fields)+); };
    (@i64 $($fields:tt)+) => { $crate::setters!(=i64 $($fields)+); };
    (@f64 $($fields:tt)+) => { $crate::setters!(=f64 $($fields)+); };
    (=$of:ident $($field:ident $(= $wire:literal)?),+) => {$(
        #[doc = ::std::concat!("Sets `", $crate::object!(=$field [$($wire)?]), "`.")]
        #[must_use]
        pub fn $field(mut self, $field: $of) -> Self {
            self.$field = ::std::option::Option::Some($field);
            self
        }
    )+};
    (@$of:ident $($field:ident $(= $wire:literal)?),+) => {$(
        #[doc = ::std::concat!("Sets `", $crate::object!(=$field [$($wire)?]), "`.")]
        #[must_use]
        pub fn $field(mut self, $field: impl ::std::convert::Into<$of>) -> Self {
            self.$field = ::std::option::Option::Some($field.into());
            self
        }
    )+};
}

/// Implements [`wire::Vocabulary`](crate::wire::Vocabulary), and what follows from it, for a generated
/// enum of known strings: `vocabulary!(Status, Open = "open", Closed = "closed")`.
#[macro_export]
#[doc(hidden)]
macro_rules! vocabulary {
    ($type:ident $(, $arm:ident = $text:literal)* $(,)?) => {
        impl $crate::wire::Vocabulary for $type {
            const NAME: &'static str = ::std::stringify!($type);

            fn known(text: &str) -> ::std::option::Option<Self> {
                ::std::option::Option::Some(match text {
                    $($text => Self::$arm,)*
                    _ => return ::std::option::Option::None,
                })
            }

            fn unknown(value: $crate::wire::UnknownValue) -> Self {
                Self::Unknown(value)
            }

            fn as_str(&self) -> &str {
                match self {
                    $(Self::$arm => $text,)*
                    Self::Unknown(value) => value.as_str(),
                }
            }
        }
        $crate::impl_vocabulary!($type);
    };
}

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
