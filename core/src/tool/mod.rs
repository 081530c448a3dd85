//! Tools as a host sees them: one uniform [`Tool`], whatever its server is.

mod argument_rules;
mod arguments;
mod definition;
mod render;
mod result;
mod wrapper;

pub use arguments::Arguments;
pub use result::{Metadata, ToolResult};
pub use wrapper::{CallContext, ProgressObserver, Tool};

pub(crate) use definition::{Diagnostic, SchemaForm, ToolDefinition, read_listing};
pub(crate) use render::render;
pub(crate) use wrapper::{Backend, PLACEHOLDER_SUFFIX};
