//! Medians and spans.

/// Several measurements of one thing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Summary {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Summary {
    /// Nothing of nothing.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let median = if values.len().is_multiple_of(2) {
            f64::midpoint(*values.get(middle.checked_sub(1)?)?, *values.get(middle)?)
        } else {
            *values.get(middle)?
        };
        Some(Self {
            median,
            least: *values.first()?,
            most: *values.last()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_of_all_values() {
        let summary = Summary::of([3.0, 1.0, 2.0]).unwrap();
        assert_eq!(
            (summary.median, summary.least, summary.most),
            (2.0, 1.0, 3.0)
        );
        assert_eq!(Summary::of([1.0, 2.0]).unwrap().median, 1.5);
        assert_eq!(Summary::of([]), None);
    }
}
