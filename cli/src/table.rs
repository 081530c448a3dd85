//! Text in columns.

use crate::style::{Look, Style};

/// Between two columns.
const GAP: &str = "  ";

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

    /// One line a row. With a width no line is wider: the last column is cut, and where that is not
    /// enough the line, which then has no colours.
    pub(crate) fn lines(&self, style: Style, width: Option<usize>) -> Vec<String> {
        let widths: [usize; COLUMNS] = std::array::from_fn(|column| {
            let cells = self.rows.iter().map(|row| length(&row[column].text));
            cells.max().unwrap_or_default()
        });
        let before_last: usize = widths[..COLUMNS.saturating_sub(1)]
            .iter()
            .map(|width| width + GAP.len())
            .sum();
        let width = width.unwrap_or(usize::MAX);
        let last_width = width.saturating_sub(before_last);
        let line = |row: &[Cell; COLUMNS], style: Style| {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                if column + 1 == COLUMNS {
                    line.push_str(&style.paint(cell.look, &shortened(&cell.text, last_width)));
                } else {
                    line.push_str(&style.paint(cell.look, &cell.text));
                    line.push_str(&" ".repeat(widths[column] - length(&cell.text)));
                    line.push_str(GAP);
                }
            }
            line.trim_end().to_owned()
        };
        let fits = |row: &[Cell; COLUMNS]| length(&line(row, Style::PLAIN)) <= width;
        self.rows
            .iter()
            .map(|row| match fits(row) {
                true => line(row, style),
                false => shortened(&line(row, Style::PLAIN), width),
            })
            .collect()
    }
}

/// The text in at most `width` characters.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    if length(text) <= width {
        return text.to_owned();
    }
    if width == 0 {
        return String::new();
    }
    let kept: String = text.chars().take(width - 1).collect();
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
        assert_eq!(table.lines(Style::PLAIN, Some(8)), ["A", "long na…", "x"]);
        assert_eq!(
            table.lines(Style::PLAIN, None)[1],
            "long name  a text that is longer than that"
        );
    }
}
