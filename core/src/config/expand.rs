//! To be completed.
/// Which fields are expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExpandMode {
    /// headers
    #[default]
    HeadersOnly,
    /// all
    All,
}
