//! Text in columns.

use crate::style::{Look, Style};

/// Between two columns.
const GAP: &str = "  ";

/// The width that the last column keeps however narrow the terminal is, in characters.
const LEAST_LAST_WIDTH: usize = 16;

/// One cell. The text is one line.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) look: Look,
}

impl Cell {
    pub(crate) fn new(look: Look, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            look,
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(Look::Plain, text)
    }
}

/// Rows of `COLUMNS` cells under a header.
#[derive(Debug)]
pub(crate) struct Table<const COLUMNS: usize> {
    rows: Vec<[Cell; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    pub(crate) fn new(header: [&str; COLUMNS]) -> Self {
        Self {
            rows: vec![header.map(|title| Cell::new(Look::Dim, title))],
        }
    }

    pub(crate) fn add(&mut self, row: [Cell; COLUMNS]) {
        self.rows.push(row);
    }

    /// One line a row. With a width, the last column is cut so that no line is wider.
    pub(crate) fn lines(&self, style: Style, width: Option<usize>) -> Vec<String> {
        let widths: [usize; COLUMNS] = std::array::from_fn(|column| {
            let cells = self.rows.iter().map(|row| length(&row[column].text));
            cells.max().unwrap_or_default()
        });
        let before_last: usize = widths[..COLUMNS.saturating_sub(1)]
            .iter()
            .map(|width| width + GAP.len())
            .sum();
        let last_width = width.map(|width| width.saturating_sub(before_last).max(LEAST_LAST_WIDTH));
        self.rows
            .iter()
            .map(|row| {
                let mut line = String::new();
                for (column, cell) in row.iter().enumerate() {
                    if column + 1 == COLUMNS {
                        let text = last_width.map_or_else(
                            || cell.text.clone(),
                            |width| shortened(&cell.text, width),
                        );
                        line.push_str(&style.paint(cell.look, &text));
                    } else {
                        line.push_str(&style.paint(cell.look, &cell.text));
                        line.push_str(&" ".repeat(widths[column] - length(&cell.text)));
                        line.push_str(GAP);
                    }
                }
                line.trim_end().to_owned()
            })
            .collect()
    }
}

/// The text in at most `width` characters.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    if length(text) <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_the_last_one_is_cut() {
        let mut table = Table::new(["A", "B"]);
        table.add(["long name".into(), "a text that is longer than that".into()]);
        table.add(["x".into(), "".into()]);
        assert_eq!(
            table.lines(Style::PLAIN, Some(28)),
            ["A          B", "long name  a text that is l…", "x"]
        );
        assert_eq!(
            table.lines(Style::PLAIN, None)[1],
            "long name  a text that is longer than that"
        );
    }
}
