//! An answer that we give ourselves, as data: status, header lines, body.
//!
//! Every one may be read by a page of any origin (it holds nothing private) and is kept out of search indexes. Content-Length
//! is always there, so no host needs to frame it.

/// What a host sends back instead of asking the merchant's handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

/// Who may keep an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caching {
    NoStore,
    Public { max_age_s: u32 },
}

impl Answer {
    pub fn json(status: u16, body: Vec<u8>, caching: Caching) -> Self {
        let mut answer = Self::empty(status, caching);
        answer.set("Content-Length", body.len().to_string());
        answer.body = body;
        answer.with("Content-Type", "application/json; charset=utf-8")
    }

    pub fn empty(status: u16, caching: Caching) -> Self {
        let cache_control = match caching {
            Caching::NoStore => "no-store".to_owned(),
            Caching::Public { max_age_s } => format!("public, max-age={max_age_s}"),
        };
        let answer = Answer { status, headers: Vec::with_capacity(8), body: Vec::new() }
            .with("Cache-Control", &cache_control)
            .with("X-Robots-Tag", "noindex")
            .with("Access-Control-Allow-Origin", "*");
        // RFC 9110 section 8.6: no Content-Length with 204.
        if status == 204 { answer } else { answer.with("Content-Length", "0") }
    }

    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.set(name, value.to_owned());
        self
    }

    pub fn retry_after(self, seconds: u32) -> Self {
        self.with("Retry-After", &seconds.to_string()).with("Access-Control-Expose-Headers", "Retry-After")
    }

    /// The same answer to HEAD: all header lines, Content-Length of the body that GET would get, no body.
    pub fn for_head(mut self, head: bool) -> Self {
        if head {
            self.body.clear();
        }
        self
    }

    #[cfg(test)]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(line, _)| line.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    fn set(&mut self, name: &'static str, value: String) {
        match self.headers.iter_mut().find(|(line, _)| *line == name) {
            Some((_, old)) => *old = value,
            None => self.headers.push((name, value)),
        }
    }
}
