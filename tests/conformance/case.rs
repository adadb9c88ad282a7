//! A conformance case as data: read strictly (an unknown key is a fault) and turned into bytes.
//! The shape is README.md beside this file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

pub type Line = (Vec<u8>, Vec<u8>);

/// What the placeholders stand for, known only while a case runs.
#[derive(Clone, Default)]
pub struct Fill {
    pub own_id: Option<String>,
    pub id: Option<String>,
}

pub struct Case {
    pub file: String,
    pub id: String,
    pub title: String,
    pub fixture: Option<String>,
    pub options: Vec<u8>,
    pub before: Vec<(Request, Response)>,
    pub request: Request,
    pub response: Response,
    pub expect: Expect,
    /// Whether `{{own_id}}` occurs anywhere.
    pub has_own_id: bool,
}

/// A case of requests.json: what becomes of a request, or what it is answered.
pub struct RequestCase {
    pub name: String,
    pub id: String,
    pub options: Vec<u8>,
    pub before: Vec<(Request, Response)>,
    pub request: Request,
    pub verdict: String,
    pub want_body: bool,
    pub waits: bool,
    pub target: Option<String>,
    pub answer: Option<Response>,
    edits: Value,
    body: Option<Value>,
}

pub struct Request {
    pub method: String,
    pub target: String,
    headers: Value,
    body: Value,
}

pub struct Response {
    pub status: u16,
    headers: Value,
    body: Value,
}

pub struct Expect {
    edits: Value,
    first_edits: Option<Value>,
    body: Option<Value>,
    pub id: Option<String>,
    pub want_body: Option<bool>,
    pub nothing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Set,
    Add,
    Remove,
}

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance")
}

/// Files of another shape.
const OTHER_SHAPES: [&str; 3] = ["texts.json", "ids.json", "requests.json"];

/// The files that hold cases, in order.
pub fn files() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".json") && !OTHER_SHAPES.contains(&name.as_str()))
        .collect();
    names.sort();
    names
}

pub fn json(name: &str) -> Value {
    let text = std::fs::read(folder().join(name)).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    serde_json::from_slice(&text).unwrap_or_else(|fault| panic!("{name}: {fault}"))
}

pub fn load(file: &str) -> Vec<Case> {
    let Value::Array(cases) = json(file) else { panic!("{file}: not a list") };
    cases.into_iter().map(|case| Case::read(file, case)).collect()
}

impl RequestCase {
    pub fn load() -> Vec<RequestCase> {
        let Value::Array(cases) = json("requests.json") else { panic!("requests.json: not a list") };
        cases.into_iter().map(RequestCase::read).collect()
    }

    fn read(case: Value) -> RequestCase {
        let name = format!("requests.json {}", case["id"]);
        let mut fields = Fields::of(&name, case);
        let id = fields.text("id");
        assert!(!fields.text("title").is_empty() && !fields.text("why").is_empty(), "{name}");
        let mut expect = Fields::of(&name, fields.need("expect"));
        let mut flag = |key| expect.take(key).is_some_and(|value| value.as_bool().unwrap());
        let read = RequestCase {
            id,
            options: options(fields.take("options")),
            before: before(&name, fields.take("before")),
            request: Request::read(&name, fields.need("request")),
            want_body: flag("want_body"),
            waits: flag("waits"),
            verdict: expect.text("verdict"),
            target: expect.take("target").map(|value| value.as_str().unwrap().to_owned()),
            answer: expect.take("answer").map(|value| Response::read(&name, value)),
            edits: expect.take("edits").unwrap_or(Value::Array(Vec::new())),
            body: expect.take("body"),
            name,
        };
        fields.done();
        expect.done();
        read
    }

    pub fn edits(&self, fill: &Fill) -> Vec<(Op, String, Vec<u8>)> {
        edits(&self.edits, fill)
    }

    /// The body handed on, where it is another one.
    pub fn body(&self, fill: &Fill) -> Option<Vec<u8>> {
        self.body.as_ref().map(|value| bytes(value, fill))
    }
}

impl Case {
    fn read(file: &str, case: Value) -> Case {
        let name = format!("{file} {}", case["id"]);
        let has_own_id = case.to_string().contains("{{own_id}}");
        let mut fields = Fields::of(&name, case);
        let (id, title) = (fields.text("id"), fields.text("title"));
        assert!(!fields.text("why").is_empty(), "{name}: why");
        let fixture = fields.take("fixture").map(|value| value.as_str().unwrap().to_owned());
        if let Some(oracle) = fields.take("oracle") {
            assert_eq!(oracle, "no", "{name}: oracle");
        }
        let before = before(&name, fields.take("before"));
        let options = options(fields.take("options"));
        let request = Request::read(&name, fields.need("request"));
        let response = Response::read(&name, fields.need("response"));
        let expect = Expect::read(&name, fields.need("expect"));
        fields.done();
        Case { file: file.to_owned(), id, title, fixture, options, before, request, response, expect, has_own_id }
    }

    pub fn name(&self) -> String {
        format!("{} {}: {}", self.file, self.id, self.title)
    }
}

fn before(name: &str, given: Option<Value>) -> Vec<(Request, Response)> {
    match given {
        None => Vec::new(),
        Some(Value::Array(pairs)) => pairs.into_iter().map(|pair| exchange(name, pair)).collect(),
        Some(other) => panic!("{name}: before {other}"),
    }
}

fn exchange(name: &str, pair: Value) -> (Request, Response) {
    let mut fields = Fields::of(name, pair);
    let request = Request::read(name, fields.need("request"));
    let response = Response::read(name, fields.need("response"));
    fields.done();
    (request, response)
}

/// The case's options over the defaults; null takes a default away.
fn options(given: Option<Value>) -> Vec<u8> {
    let mut all = Map::new();
    all.insert("api_key".into(), "ffk_test_0123456789abcdef".into());
    all.insert("public_url".into(), "https://api.example.com".into());
    all.insert("strict".into(), true.into());
    if let Some(Value::Object(given)) = given {
        all.extend(given);
    }
    all.retain(|_, value| !value.is_null());
    Value::Object(all).to_string().into_bytes()
}

impl Request {
    fn read(name: &str, request: Value) -> Request {
        let mut fields = Fields::of(name, request);
        let read = Request {
            method: fields.text("method"),
            target: fields.text("target"),
            headers: fields.need("headers"),
            body: fields.take("body").unwrap_or("".into()),
        };
        fields.done();
        read
    }

    pub fn target(&self, fill: &Fill) -> String {
        filled(&self.target, fill)
    }

    pub fn body(&self, fill: &Fill) -> Vec<u8> {
        bytes(&self.body, fill)
    }

    pub fn head(&self, fill: &Fill) -> Vec<Line> {
        lines(&self.headers, fill)
    }
}

impl Response {
    fn read(name: &str, response: Value) -> Response {
        let mut fields = Fields::of(name, response);
        let read = Response {
            status: fields.need("status").as_u64().unwrap().try_into().unwrap(),
            headers: fields.need("headers"),
            body: fields.take("body").unwrap_or("".into()),
        };
        fields.done();
        read
    }

    pub fn head(&self, fill: &Fill) -> Vec<Line> {
        lines(&self.headers, fill)
    }

    pub fn body(&self, fill: &Fill) -> Vec<u8> {
        bytes(&self.body, fill)
    }
}

impl Expect {
    fn read(name: &str, expect: Value) -> Expect {
        let mut fields = Fields::of(name, expect);
        let read = Expect {
            edits: fields.need("edits"),
            first_edits: fields.take("first_edits"),
            body: fields.take("body"),
            id: fields.take("id").map(|value| value.as_str().unwrap().to_owned()),
            want_body: fields.take("want_body").map(|value| value.as_bool().unwrap()),
            nothing: fields.take("verdict").map(|value| assert_eq!(value, "nothing", "{name}")).is_some(),
        };
        fields.done();
        read
    }

    pub fn edits(&self, fill: &Fill) -> Vec<(Op, String, Vec<u8>)> {
        edits(&self.edits, fill)
    }

    pub fn first_edits(&self, fill: &Fill) -> Option<Vec<(Op, String, Vec<u8>)>> {
        self.first_edits.as_ref().map(|listed| edits(listed, fill))
    }

    pub fn body(&self, fill: &Fill) -> Option<Vec<u8>> {
        self.body.as_ref().map(|value| bytes(value, fill))
    }

    pub fn changes_body(&self) -> bool {
        self.body.is_some()
    }
}

fn edits(listed: &Value, fill: &Fill) -> Vec<(Op, String, Vec<u8>)> {
    let read = |edit: &Value| {
        let parts = edit.as_array().unwrap();
        let name = parts[1].as_str().unwrap().to_owned();
        match (parts[0].as_str().unwrap(), parts.get(2)) {
            ("set", Some(value)) => (Op::Set, name, bytes(value, fill)),
            ("add", Some(value)) => (Op::Add, name, bytes(value, fill)),
            ("remove", None) => (Op::Remove, name, Vec::new()),
            other => panic!("not an edit: {other:?}"),
        }
    };
    listed.as_array().unwrap().iter().map(read).collect()
}

fn lines(headers: &Value, fill: &Fill) -> Vec<Line> {
    let read = |line: &Value| match line.as_array().map(Vec::as_slice) {
        Some([name, value]) => (name.as_str().unwrap().as_bytes().to_vec(), bytes(value, fill)),
        _ => panic!("not a header line: {line}"),
    };
    headers.as_array().unwrap().iter().map(read).collect()
}

/// The bytes of a value, with placeholders replaced before any base64 is made.
fn bytes(value: &Value, fill: &Fill) -> Vec<u8> {
    match value {
        Value::String(text) => filled(text, fill).into_bytes(),
        Value::Array(parts) => parts.iter().map(|part| bytes(part, fill)).collect::<Vec<_>>().concat(),
        Value::Object(form) => {
            let keys: Vec<&str> = form.keys().map(String::as_str).collect();
            match keys.as_slice() {
                ["repeat"] => {
                    let [unit, times] = form["repeat"].as_array().unwrap().as_slice() else { panic!("{value}") };
                    bytes(unit, fill).repeat(times.as_u64().unwrap().try_into().unwrap())
                }
                ["base64_of"] => base64(&bytes(&form["base64_of"], fill)).into_bytes(),
                ["hex"] => hex(form["hex"].as_str().unwrap()),
                ["text"] => bytes(&text(&form["text"]), fill),
                ["rate", "text"] => {
                    let with_rate = text(&form["text"]).to_string().replace("{{rate}}", form["rate"].as_str().unwrap());
                    bytes(&serde_json::from_str(&with_rate).unwrap(), fill)
                }
                _ => panic!("not a value: {value}"),
            }
        }
        _ => panic!("not a value: {value}"),
    }
}

fn filled(text: &str, fill: &Fill) -> String {
    let mut text = text.to_owned();
    for (name, id) in [("{{own_id}}", &fill.own_id), ("{{id}}", &fill.id)] {
        if text.contains(name) {
            text = text.replace(name, id.as_deref().unwrap_or("(no id)"));
        }
    }
    text
}

fn text(name: &Value) -> Value {
    static TEXTS: std::sync::OnceLock<Value> = std::sync::OnceLock::new();
    let name = name.as_str().unwrap();
    TEXTS.get_or_init(|| json("texts.json")).get(name).unwrap_or_else(|| panic!("no text {name}")).clone()
}

pub fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn hex(digits: &str) -> Vec<u8> {
    assert!(digits.len().is_multiple_of(2), "{digits}");
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// The members of an object, each to be taken once; what is left over is a fault.
struct Fields {
    name: String,
    left: BTreeMap<String, Value>,
}

impl Fields {
    fn of(name: &str, object: Value) -> Fields {
        let Value::Object(members) = object else { panic!("{name}: not an object: {object}") };
        Fields { name: name.to_owned(), left: members.into_iter().collect() }
    }

    fn take(&mut self, key: &str) -> Option<Value> {
        self.left.remove(key)
    }

    fn need(&mut self, key: &str) -> Value {
        self.take(key).unwrap_or_else(|| panic!("{}: no {key}", self.name))
    }

    fn text(&mut self, key: &str) -> String {
        self.need(key).as_str().unwrap_or_else(|| panic!("{}: {key} is not a text", self.name)).to_owned()
    }

    fn done(self) {
        assert!(self.left.is_empty(), "{}: unknown keys {:?}", self.name, self.left.keys());
    }
}
