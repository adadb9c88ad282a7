//! Two parsers that are not ours, Python's json and JavaScript's JSON.parse, asked about a sample of what was made.
//!
//! One child process each, started at the first question. A question is a letter, two lengths (u32, little endian) and
//! two texts; the answer is `y`, `n`, or `s` where the judge's own limits (depth) keep it from saying.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

/// What must hold between the original and what was made of it.
#[derive(Clone, Copy)]
pub enum Question {
    /// The original's members first, all the same, then ours.
    Body,
    /// Every member the same, except those a challenge may gain in.
    Challenge,
    /// Every member the same, except `extensions`.
    Receipt,
    /// Both parse, and keep their top-level names.
    OpenApi,
}

#[derive(Default)]
pub struct Judges {
    asked: u64,
    children: Option<[Child; 2]>,
}

impl Judges {
    /// Asks both about one in sixteen.
    pub fn ask(&mut self, question: Question, original: &[u8], made: &[u8]) {
        self.asked += 1;
        if self.asked % 16 != 1 {
            return;
        }
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/judges/");
        let children = self.children.get_or_insert_with(|| {
            [("python3", "judge.py"), ("node", "judge.mjs")].map(|(program, script)| {
                Command::new(program)
                    .arg(format!("{here}{script}"))
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .spawn()
                    .unwrap_or_else(|fault| panic!("{program}: {fault}"))
            })
        });
        let letter = match question {
            Question::Body => b'b',
            Question::Challenge => b'c',
            Question::Receipt => b'r',
            Question::OpenApi => b'o',
        };
        let lengths = [original.len() as u32, made.len() as u32].map(u32::to_le_bytes);
        let message = [&[letter], &lengths[0][..], &lengths[1], original, made].concat();
        for (child, name) in children.iter_mut().zip(["Python", "JavaScript"]) {
            let mut answer = [0];
            child.stdin.as_mut().expect("a pipe").write_all(&message).expect("the judge reads");
            child.stdout.as_mut().expect("a pipe").read_exact(&mut answer).expect("the judge answers");
            assert_ne!(answer[0], b'n', "{name} reads the result differently");
        }
    }
}

impl Drop for Judges {
    fn drop(&mut self) {
        for child in self.children.iter_mut().flatten() {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}
