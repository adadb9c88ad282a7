//! Runs one target on mutants of the seeds for a bounded time, where no coverage-guided fuzzer can be had.
//!
//! `mutate TARGET SEEDS_FOLDER SECONDS`. Prints the number of runs. A broken promise ends the program; the input that
//! broke it is then in `SEEDS_FOLDER.crash`.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The input that is being run, for the panic hook.
static CURRENT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, folder, seconds] = &arguments[..] else { panic!("mutate TARGET SEEDS_FOLDER SECONDS") };
    let (_, run) = forge_x402_fuzz::TARGETS.iter().find(|(known, _)| known == name).expect("a target of that name");
    let seeds = read(Path::new(folder));
    assert!(!seeds.is_empty(), "{folder} has no seeds");
    keep_what_breaks(PathBuf::from(format!("{folder}.crash")));
    let until = Instant::now() + Duration::from_secs_f64(seconds.parse().expect("seconds"));
    let mut random = Random(SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_nanos() as u64 | 1);
    let mut runs = 0u64;
    let mut try_one = |input: Vec<u8>| {
        CURRENT.lock().expect("one thread").clone_from(&input);
        run(&input);
        runs += 1;
    };
    seeds.iter().cloned().for_each(&mut try_one);
    while Instant::now() < until {
        try_one(mutant(&seeds, &mut random));
    }
    println!("{name}: {runs} runs from {} seeds", seeds.len());
}

/// A panic is a defect also where the engine would contain it.
fn keep_what_breaks(crash: PathBuf) {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        hook(info);
        if let Ok(input) = CURRENT.try_lock() {
            let _ = std::fs::write(&crash, &*input);
            eprintln!("{} bytes in {}", input.len(), crash.display());
        }
        std::process::abort();
    }));
}

fn read(folder: &Path) -> Vec<Vec<u8>> {
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the seeds").flatten().map(|entry| entry.path()).collect();
    names.sort();
    names.iter().map(|name| std::fs::read(name).expect("a seed")).collect()
}

/// A seed with one to eight changes: bytes, words of the grammar, pieces of itself or of another seed, cuts.
fn mutant(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut text = seeds[random.below(seeds.len())].clone();
    for _ in 0..1 + random.below(8) {
        let at = random.below(text.len() + 1);
        let end = (at + random.below(24)).min(text.len());
        match random.below(8) {
            0 if at < text.len() => text[at] = random.below(256) as u8,
            1 if at < text.len() => text[at] ^= 1 << random.below(8),
            2 | 3 => drop(text.splice(at..at, WORDS[random.below(WORDS.len())].bytes())),
            4 => drop(text.splice(at..end, WORDS[random.below(WORDS.len())].bytes())),
            5 => drop(text.drain(at..end)),
            6 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len() + 1);
                let piece = &other[from..(from + random.below(64)).min(other.len())];
                drop(text.splice(at..at, piece.iter().copied()));
            }
            _ => {
                let piece = text[at..end].to_vec();
                let to = random.below(text.len() + 1);
                drop(text.splice(to..to, piece));
            }
        }
    }
    text
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % limit
    }
}

const WORDS: [&str; 40] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "{}",
    "[]",
    "\"\"",
    "null",
    "true",
    "false",
    "0",
    "-1.5e+3",
    "1e999",
    "\\u0041",
    "\\ud83d\\ude00",
    "\\ud800",
    " ",
    "\n",
    "\t",
    "\u{e9}",
    "\u{1f600}",
    "\"x402Version\":2,",
    "\"accepts\":[{}],",
    "\"extensions\":{},",
    "\"resource\":{},",
    "\"description\":\"\",",
    "\"feedback_id\":\"\",",
    "\"success\":true,",
    "\"agent_context\":{},",
    "Content-Length: 2\n",
    "Content-Type: application/json\n",
    "PAYMENT-REQUIRED: ",
    "agent_type=a&",
    "%20",
    "\"$ref\":\"#/\",",
    "\"openapi\":\"3.1.0\",",
];
