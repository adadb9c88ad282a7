//! A text of ours with gaps where the feedback id goes: put together once, copied from then on.

use super::id::{self, FeedbackId};

#[derive(Clone, Debug)]
pub(crate) struct Template {
    text: Vec<u8>,
    gaps: [usize; MOST],
    count: usize,
}

/// The part that stands for the id.
pub(crate) const GAP: &str = "----------------------";
const _: () = assert!(GAP.len() == id::LEN);
/// Gaps of the text that has most of them.
const MOST: usize = 4;

impl Template {
    /// The parts end to end; a [`GAP`] too many stays one.
    pub fn new<'p>(parts: impl IntoIterator<Item = &'p str>) -> Self {
        let mut made = Template { text: Vec::new(), gaps: [0; MOST], count: 0 };
        for part in parts {
            if part == GAP && made.count < MOST {
                made.gaps[made.count] = made.text.len();
                made.count += 1;
            }
            made.text.extend_from_slice(part.as_bytes());
        }
        made
    }

    /// Bytes of the text with an id, whichever.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    pub fn write(&self, out: &mut Vec<u8>, id: FeedbackId) {
        let start = out.len();
        out.extend_from_slice(&self.text);
        for gap in &self.gaps[..self.count] {
            out[start + gap..][..id::LEN].copy_from_slice(id.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_stands_in_every_gap() {
        let id = id::parse(b"aqQMtjN9lCJnCAn54ZS7wQ").unwrap();
        let template = Template::new(["a=", GAP, "&b=", GAP, ";"]);
        let mut out = b"> ".to_vec();
        template.write(&mut out, id);
        assert_eq!(out, b"> a=aqQMtjN9lCJnCAn54ZS7wQ&b=aqQMtjN9lCJnCAn54ZS7wQ;");
        assert_eq!(template.len(), out.len() - 2);
    }
}
