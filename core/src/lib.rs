//! To be written.
#![forbid(unsafe_code)]
pub mod config;
