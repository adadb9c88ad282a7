//! Texts of multi-row INSERTs, in a few fixed sizes so that each is prepared once per connection.

use std::sync::OnceLock;

const SIZES: [usize; 4] = [128, 32, 8, 1];

pub struct Bulk {
    head: &'static str,
    columns: usize,
    tail: &'static str,
    texts: [OnceLock<String>; SIZES.len()],
}

impl Bulk {
    pub const fn new(head: &'static str, columns: usize, tail: &'static str) -> Self {
        Self { head, columns, tail, texts: [const { OnceLock::new() }; SIZES.len()] }
    }

    /// `rows` in pieces, each with the statement that takes exactly that many.
    pub fn pieces<'a, T>(&'static self, mut rows: &'a [T]) -> impl Iterator<Item = (&'static str, &'a [T])> {
        std::iter::from_fn(move || {
            let at = SIZES.iter().position(|size| *size <= rows.len())?;
            let (piece, rest) = rows.split_at(SIZES[at]);
            rows = rest;
            Some((self.texts[at].get_or_init(|| self.text(SIZES[at])).as_str(), piece))
        })
    }

    fn text(&self, rows: usize) -> String {
        let mut text = format!("{} VALUES ", self.head);
        for row in 0..rows {
            text.push_str(if row == 0 { "(" } else { ",(" });
            for column in 0..self.columns {
                let number = row * self.columns + column + 1;
                text.push_str(&format!("{}${number}", if column == 0 { "" } else { "," }));
            }
            text.push(')');
        }
        text.push(' ');
        text.push_str(self.tail);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::Bulk;

    #[test]
    fn every_row_is_in_exactly_one_piece() {
        static BULK: Bulk = Bulk::new("INSERT INTO t (a, b)", 2, "ON CONFLICT DO NOTHING");
        let rows: Vec<usize> = (0..171).collect();
        let pieces: Vec<_> = BULK.pieces(&rows).collect();
        assert_eq!(pieces.iter().map(|(_, rows)| rows.len()).collect::<Vec<_>>(), [128, 32, 8, 1, 1, 1]);
        assert_eq!(pieces.iter().flat_map(|(_, rows)| rows.iter().copied()).collect::<Vec<_>>(), rows);
        assert_eq!(pieces[5].0, "INSERT INTO t (a, b) VALUES ($1,$2) ON CONFLICT DO NOTHING");
        assert!(pieces[2].0.contains("($15,$16) ON"));
    }
}
