//! Messages of real shape, no two alike: from a seed, so that every run measures the same ones.

/// xorshift64*: enough for test data.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % limit
    }

    pub fn hex(&mut self, digits: usize) -> String {
        (0..digits).map(|_| char::from(b"0123456789abcdef"[self.below(16)])).collect()
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len())]
    }

    fn words(&mut self, count: usize) -> String {
        (0..count).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }
}

/// A v2 challenge that is about 1.2 KB as a header value, with one of several paths, prices and extensions.
pub fn challenge(random: &mut Random) -> Vec<u8> {
    let (path, words) = (random.words(2).replace(' ', "/"), 6 + random.below(12));
    let (description, amount) = (random.words(words), 1 + random.below(1_000_000));
    let (pay_to, asset) = (random.hex(40), random.hex(40));
    let seconds = 60 * (1 + random.below(10));
    let bazaar = format!(
        r#""bazaar":{{"info":{{"input":{{"type":"http","method":"GET","queryParams":{{"{}":"{}"}}}},"output":{{"type":"json","example":{{"{}":"{}","{}":{}}}}}}},"schema":{{"type":"object","required":["input"]}}}}"#,
        random.word(),
        random.word(),
        random.word(),
        random.word(),
        random.word(),
        random.below(100)
    );
    let head = format!(
        r#"{{"x402Version":2,"error":"Payment required","resource":{{"url":"https://api.example.com/{path}?q={}","description":"{description}","mimeType":"application/json"}},"accepts":[{{"scheme":"exact","network":"eip155:84532","amount":"{amount}","asset":"0x{asset}","payTo":"0x{pay_to}","maxTimeoutSeconds":{seconds},"extra":{{"name":"USDC","version":"2"}}}}],"extensions":{{{bazaar}}}}}"#,
        random.hex(4)
    );
    head.into_bytes()
}

/// A v2 receipt as facilitators send it.
pub fn receipt(random: &mut Random) -> Vec<u8> {
    format!(
        r#"{{"success":true,"payer":"0x{}","transaction":"0x{}","network":"eip155:84532","amount":"{}","extensions":{{}}}}"#,
        random.hex(40),
        random.hex(64),
        random.below(1_000_000)
    )
    .into_bytes()
}

/// A v2 payment as clients send it: the requirement they chose, a signature, the resource.
fn payment(random: &mut Random) -> String {
    format!(
        r#"{{"x402Version":2,"payload":{{"authorization":{{"from":"0x{}","to":"0x{}","value":"{}","validAfter":"0","validBefore":"4102444800","nonce":"0x{}"}},"signature":"0x{}"}},"resource":{{"url":"https://api.example.com/{}","description":"{}","mimeType":"application/json"}},"accepted":{{"scheme":"exact","network":"eip155:84532","amount":"1000","asset":"0x{}","payTo":"0x{}","maxTimeoutSeconds":300,"extra":{{"name":"USDC","version":"2"}}}}}}"#,
        random.hex(40),
        random.hex(40),
        random.below(100_000),
        random.hex(64),
        random.hex(130),
        random.word(),
        random.words(6),
        random.hex(40),
        random.hex(40)
    )
}

/// A target with one or two query parameters, as clients call it.
pub fn target(random: &mut Random) -> Vec<u8> {
    format!("/{}/{}?{}={}&page={}", random.word(), random.word(), random.word(), random.word(), random.below(100))
        .into_bytes()
}

/// Ten header lines, with or without a payment among them.
pub fn request_headers(random: &mut Random, paid: bool) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut lines: Vec<(&str, String)> = vec![
        ("host", "api.example.com".into()),
        ("user-agent", format!("x402-fetch/2.{}.0", random.below(30))),
        ("accept", "*/*".into()),
        ("accept-encoding", "gzip, deflate, br".into()),
        ("accept-language", "en-GB,en;q=0.9".into()),
        ("connection", "keep-alive".into()),
        ("x-request-id", random.hex(32)),
        ("x-forwarded-for", format!("192.0.2.{}", random.below(255))),
        ("cookie", format!("session={}", random.hex(40))),
        ("sec-fetch-mode", "cors".into()),
    ];
    if paid {
        use base64::Engine as _;
        let value = base64::engine::general_purpose::STANDARD.encode(payment(random));
        lines[9] = ("payment-signature", value);
    }
    lines.into_iter().map(|(name, value)| (name.as_bytes().to_vec(), value.into_bytes())).collect()
}

/// Makes a JSON object of about a size.
pub type Shape = fn(&mut Random, usize) -> Vec<u8>;

pub const SHAPES: [(&str, Shape); 4] =
    [("records", small), ("numbers", numbers), ("text", text), ("indented", indented)];

/// An answer of an API: records of short texts, numbers and flags under one key.
pub fn small(random: &mut Random, size: usize) -> Vec<u8> {
    let mut out = format!(r#"{{"{}":"{}","items":["#, random.word(), random.word());
    while out.len() + 90 < size {
        let (words, many) = (1 + random.below(5), random.below(3));
        let tags: Vec<String> = (0..many).map(|_| format!("\"{}\"", random.word())).collect();
        out += &format!(
            r#"{{"id":{},"name":"{}","price":{}.{},"tags":[{}],"ok":{}}},"#,
            random.below(1 << 20),
            random.words(words),
            random.below(100),
            random.below(100),
            tags.join(","),
            ["true", "false", "null"][random.below(3)]
        );
    }
    (out + "0]}").into_bytes()
}

fn numbers(random: &mut Random, size: usize) -> Vec<u8> {
    let mut out = format!(r#"{{"{}":["#, random.word());
    while out.len() + 20 < size {
        out += &match random.below(3) {
            0 => format!("{},", random.below(1 << 30)),
            1 => format!("-{}.{},", random.below(180), random.below(1_000_000)),
            _ => format!("[{}.5,{}],", random.below(90), random.below(90)),
        };
    }
    (out + "0]}").into_bytes()
}

/// Long texts with line breaks, quotes and other alphabets, as generated text has them.
fn text(random: &mut Random, size: usize) -> Vec<u8> {
    let mut out = String::from(r#"{"model":"m","messages":[{"content":""#);
    while out.len() + 60 < size {
        let count = 1 + random.below(24);
        out += &random.words(count);
        out +=
            ["\\n", " \\\"so\\\" ", " caf\u{e9} ", " \u{5929}\u{6c17} ", ". ", "\"},{\"content\":\""][random.below(6)];
    }
    (out + "\"}]}").into_bytes()
}

/// The records, indented by two, as JSON.stringify(…, null, 2) and many frameworks in debug mode write them.
fn indented(random: &mut Random, size: usize) -> Vec<u8> {
    let value: serde_json::Value = serde_json::from_slice(&small(random, size * 2 / 3)).expect("the shape is JSON");
    serde_json::to_vec_pretty(&value).expect("a value can be written")
}

const WORDS: [&str; 24] = [
    "weather",
    "forecast",
    "city",
    "oslo",
    "temperature",
    "wind",
    "news",
    "search",
    "price",
    "token",
    "a",
    "of",
    "the",
    "market",
    "summary",
    "humidity",
    "id",
    "translation",
    "route",
    "km",
    "image",
    "transcript",
    "agent",
    "hourly",
];
