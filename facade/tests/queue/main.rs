//! What a binding relies on: every operation ends once, in order, on one thread that goes with the last close.

mod support;

mod closing;
mod operations;
mod order;
mod questions;
