//! The C interface: numbers and texts in place of objects.
//!
//! Each function converts, calls the facade, and converts back; behaviour is the core's. A panic never crosses into C, which `boundary` sees to.
//! The conventions that hold everywhere are at the top of the header, which is generated from this crate.

#![allow(
    non_camel_case_types,
    reason = "the names of types are those that C programs write"
)]

mod boundary;
pub mod delivery;
pub mod error;
pub mod queue;
pub mod result;
pub mod session;
pub mod source;
pub mod text;
pub mod tool;
