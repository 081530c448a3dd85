//! Tools as a host sees them: one uniform [`Tool`], whatever its server is.

mod argument_rules;
mod arguments;
mod definition;
mod render;
mod result;
mod shorten;
mod wrapper;

pub use arguments::Arguments;
pub use result::{FullOutput, Metadata, SavedFile, ToolResult};
pub use wrapper::{CallContext, ProgressObserver, Tool};

pub(crate) use definition::{Diagnostic, SchemaForm, ToolDefinition, read_listing};
pub(crate) use render::render;
pub(crate) use shorten::shortened;
pub(crate) use wrapper::{Backend, PLACEHOLDER_SUFFIX};
